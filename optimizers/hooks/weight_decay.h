#pragma once

#include <limits>
#include <span>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::optimizer_hooks {

struct WeightDecayOptions {
  double rate = std::numeric_limits<double>::quiet_NaN();  ///< required
};

/// L2 regularization: g += rate p. Under Chainer's loss scaling the rate is scaled like the gradient.
/// chainer.optimizer_hooks.WeightDecay.
struct KUSARI_API WeightDecay : WeightDecayOptions {
  static constexpr const char* kName = "WeightDecay";
  static constexpr bool kReplays = true;
  /// Throws ValueError for a negative rate, NaN and infinity.
  explicit WeightDecay(const WeightDecayOptions& options);
  explicit WeightDecay(double decay_rate) : WeightDecay(WeightDecayOptions{decay_rate}) {}
  void operator()(std::span<Parameter* const> parameters) const;
};

}  // namespace kusari::optimizer_hooks
