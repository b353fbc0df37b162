#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// WarmupShift by names: `WarmupShift("lr", {.warmup_iter = 100, .init = 0.1})`.
struct WarmupShiftOptions {
  std::optional<double> warmup_start = std::nullopt;  ///< the optimizer's value when not given
  int64_t warmup_iter = 0;
  double init = std::numeric_limits<double>::quiet_NaN();
  std::optional<Ref<Optimizer>> optimizer = std::nullopt;  ///< the updater's "main" when not given
};

/// A straight line from warmup_start to init over the first warmup_iter calls; later ones leave the hyperparameter as
/// it is. Without warmup_start, from the optimizer's value. chainer.training.extensions.WarmupShift.
class KUSARI_API WarmupShift final : public HyperparameterShift {
 public:
  WarmupShift(std::string attr, std::optional<double> warmup_start, int64_t warmup_iter, double init,
              std::optional<Ref<Optimizer>> optimizer = std::nullopt);
  WarmupShift(std::string attr, WarmupShiftOptions o)
      : WarmupShift(std::move(attr), o.warmup_start, o.warmup_iter, o.init, std::move(o.optimizer)) {}
  std::string default_name() const override { return "WarmupShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;

  int64_t warmup_iter_;
  double init_;
};

}  // namespace kusari::training::extensions
