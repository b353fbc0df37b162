#pragma once

#include <span>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::optimizer_hooks {

/// Clips every element of the gradients to [lower_bound, upper_bound]. chainer.optimizer_hooks.GradientHardClipping.
struct KUSARI_API GradientHardClipping {
  static constexpr const char* kName = "GradientHardClipping";
  static constexpr bool kReplays = true;
  double lower_bound;
  double upper_bound;
  GradientHardClipping(double lower, double upper);
  void operator()(std::span<Parameter* const> parameters) const;
};

}  // namespace kusari::optimizer_hooks
