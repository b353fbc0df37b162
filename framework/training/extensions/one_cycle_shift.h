#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// Options of OneCycleShift.
struct OneCycleShiftOptions {
  std::optional<double> init = std::nullopt;  ///< the highest value; the optimizer's value at the start when not given
  double start_ratio = 0.1;                   ///< the value at the start, as a part of the highest
  double final_ratio = 0;                     ///< the value at the end, as a part of the highest
  double rising = 0.2;                        ///< the part of the calls in which the value rises
  std::optional<Ref<Optimizer>> optimizer = std::nullopt;  ///< the updater's "main" when not given
};

/// One cycle over `length` calls: from start_ratio of the highest value up to it in a straight line, and from there
/// along half a cosine to final_ratio of it. High rates are found early and used longest. With a ratio above 1, for a
/// momentum that falls while the learning rate rises, init is the lowest value. Throws ValueError unless length is
/// positive and rising is in [0, 1]. Smith and Topin 2018.
class KUSARI_API OneCycleShift final : public HyperparameterShift {
 public:
  OneCycleShift(std::string attr, int64_t length, const OneCycleShiftOptions& options = {});
  std::string default_name() const override { return "OneCycleShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;
  double first_value(double init) const override { return *value(0, init); }

  double length_, start_ratio_, final_ratio_, rising_;
};

}  // namespace kusari::training::extensions
