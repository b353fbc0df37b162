#pragma once

#include <span>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::optimizer_hooks {

/// Scales all gradients together so that the L2 norm of all of them is at most `threshold`.
/// chainer.optimizer_hooks.GradientClipping.
struct KUSARI_API GradientClipping {
  static constexpr const char* kName = "GradientClipping";
  static constexpr bool kReplays = true;
  double threshold;
  explicit GradientClipping(double largest_norm);
  void operator()(std::span<Parameter* const> parameters) const;
};

}  // namespace kusari::optimizer_hooks
