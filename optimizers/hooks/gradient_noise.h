#pragma once

#include <span>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::optimizer_hooks {

/// Adds annealed noise to the gradients: g += N(0, eta / (1 + t)^0.55), t being the parameter's number of updates.
/// Neelakantan et al. 2015; chainer.optimizer_hooks.GradientNoise.
struct KUSARI_API GradientNoise {
  static constexpr const char* kName = "GradientNoise";
  static constexpr bool kReplays = true;
  double eta;
  explicit GradientNoise(double variance) : eta{variance} {}
  void operator()(UpdateRule& rule, Parameter& parameter) const;
};

}  // namespace kusari::optimizer_hooks
