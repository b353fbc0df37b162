#pragma once

#include <span>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::optimizer_hooks {

struct GradientLARSOptions {
  double threshold = 1e-2;  ///< parameters of a smaller norm keep their gradients' scale
  double weight_decay = 0;
  double eps = 1e-9;
};

/// Layer-wise adaptive rate scaling: g = (g + weight_decay p) |p| / (eps + |g| + weight_decay |p|) for each parameter.
/// You et al. 2017; chainer.optimizer_hooks.GradientLARS.
struct KUSARI_API GradientLARS : GradientLARSOptions {
  static constexpr const char* kName = "GradientLARS";
  static constexpr bool kReplays = true;
  /// Throws ValueError for a negative option, NaN and infinity.
  explicit GradientLARS(const GradientLARSOptions& options = {});
  void operator()(std::span<Parameter* const> parameters) const;
};

}  // namespace kusari::optimizer_hooks
