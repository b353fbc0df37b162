#pragma once

#include <limits>
#include <span>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::optimizer_hooks {

struct GradientClippingOptions {
  double threshold = std::numeric_limits<double>::quiet_NaN();  ///< required
};

/// Scales all gradients together so that the L2 norm of all of them is at most `threshold`.
/// Throws ValueError for a threshold that is not given or not positive. chainer.optimizer_hooks.GradientClipping.
struct KUSARI_API GradientClipping : GradientClippingOptions {
  static constexpr const char* kName = "GradientClipping";
  static constexpr bool kReplays = true;
  explicit GradientClipping(const GradientClippingOptions& options);
  explicit GradientClipping(double largest_norm) : GradientClipping(GradientClippingOptions{largest_norm}) {}
  void operator()(std::span<Parameter* const> parameters) const;
};

}  // namespace kusari::optimizer_hooks
