#pragma once

#include <cstdint>
#include <limits>
#include <utility>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::optimizer_hooks {

struct GradientNoiseOptions {
  using NoiseFunction = Callable<Array(const Array& parameter, double eta, int64_t t)>;
  double eta = std::numeric_limits<double>::quiet_NaN();  ///< variance; required
  NoiseFunction noise_func = nullptr;                     ///< makes other noise
};

/// Adds annealed noise to the gradients: g += N(0, eta / (1 + t)^0.55), t being the parameter's number of updates.
/// `noise_func` may make other noise, of the shape of the array that it is given; steps with it are not replayed.
/// Neelakantan et al. 2015; chainer.optimizer_hooks.GradientNoise.
struct KUSARI_API GradientNoise : GradientNoiseOptions {
  static constexpr const char* kName = "GradientNoise";
  static constexpr bool kReplays = true;
  /// Throws ValueError for a negative variance, NaN and infinity.
  explicit GradientNoise(GradientNoiseOptions options);
  explicit GradientNoise(double variance, NoiseFunction noise = nullptr)
      : GradientNoise(GradientNoiseOptions{variance, std::move(noise)}) {}
  void operator()(UpdateRule& rule, Parameter& parameter) const;

 private:
  void add_other_noise(UpdateRule& rule, Parameter& parameter) const;
};

}  // namespace kusari::optimizer_hooks
