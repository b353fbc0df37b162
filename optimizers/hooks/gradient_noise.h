#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::optimizer_hooks {

/// Adds annealed noise to the gradients: g += N(0, eta / (1 + t)^0.55), t being the parameter's number of updates.
/// `noise_func` may make other noise, of the shape of the array that it is given; steps with it are not replayed.
/// Neelakantan et al. 2015; chainer.optimizer_hooks.GradientNoise.
struct KUSARI_API GradientNoise {
  static constexpr const char* kName = "GradientNoise";
  static constexpr bool kReplays = true;
  using NoiseFunction = std::function<Array(const Array& parameter, double eta, int64_t t)>;

  double eta;
  NoiseFunction noise_func;
  /// Throws ValueError for a negative variance, NaN and infinity.
  explicit GradientNoise(double variance, NoiseFunction noise = nullptr);
  void operator()(UpdateRule& rule, Parameter& parameter) const;

 private:
  void add_other_noise(UpdateRule& rule, Parameter& parameter) const;
};

}  // namespace kusari::optimizer_hooks
