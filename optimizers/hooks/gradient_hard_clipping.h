#pragma once

#include <limits>
#include <span>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::optimizer_hooks {

struct GradientHardClippingOptions {
  double lower_bound = std::numeric_limits<double>::quiet_NaN();  ///< required
  double upper_bound = std::numeric_limits<double>::quiet_NaN();  ///< required
};

/// Clips every element of the gradients to [lower_bound, upper_bound]. chainer.optimizer_hooks.GradientHardClipping.
struct KUSARI_API GradientHardClipping : GradientHardClippingOptions {
  static constexpr const char* kName = "GradientHardClipping";
  static constexpr bool kReplays = true;
  /// Throws ValueError unless lower_bound <= upper_bound.
  explicit GradientHardClipping(const GradientHardClippingOptions& options);
  GradientHardClipping(double lower, double upper) : GradientHardClipping(GradientHardClippingOptions{lower, upper}) {}
  void operator()(std::span<Parameter* const> parameters) const;
};

}  // namespace kusari::optimizer_hooks
