#pragma once

#include <span>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::optimizer_hooks {

/// L2 regularization: g += rate p. Under Chainer's loss scaling the rate is scaled like the gradient.
/// chainer.optimizer_hooks.WeightDecay.
struct KUSARI_API WeightDecay {
  static constexpr const char* kName = "WeightDecay";
  static constexpr bool kReplays = true;
  double rate;
  /// Throws ValueError for a negative rate, NaN and infinity.
  explicit WeightDecay(double decay_rate);
  void operator()(std::span<Parameter* const> parameters) const;
};

}  // namespace kusari::optimizer_hooks
