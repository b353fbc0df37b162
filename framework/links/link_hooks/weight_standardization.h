#pragma once

#include <string>
#include <utility>

#include "kusari/framework/links/link_hooks/weight_hook.h"

namespace kusari::link_hooks {

/// Options of WeightStandardization.
struct WeightStandardizationOptions {
  double eps = 1e-5;
  std::string weight_name = "W";
};

/// Lets a link compute with (W - mean) / sqrt(variance + eps), mean and biased variance being those of each W[i].
/// W: (n, m, ...). Throws ValueError when the link has no such weight. Differentiable to any order.
/// Qiao et al. 2019; chainer.link_hooks.WeightStandardization.
class KUSARI_API WeightStandardization final : public WeightHook {
 public:
  explicit WeightStandardization(WeightStandardizationOptions options = {})
      : WeightHook(std::move(options.weight_name)), eps_{options.eps} {}
  const char* name() const override { return "WeightStandardization"; }

 private:
  Variable transformed(Link& link, const Variable& weight) override;
  double eps_;
};

}  // namespace kusari::link_hooks
