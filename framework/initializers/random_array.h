#pragma once

#include <optional>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

// New arrays of random numbers, drawn from the process's stream (framework/core/random.h).
namespace kusari::random {

/// Options of random::uniform.
struct UniformOptions {
  double low = 0;
  double high = 1;
  std::optional<Dtype> dtype = std::nullopt;  ///< config.dtype when not given
  Device device = Device();
};

/// Numbers uniform in [low, high), 16-bit ones rounded from float32. Throws TypeError when dtype is not floating.
/// numpy.random.uniform.
KUSARI_API Array uniform(const Shape& shape, const UniformOptions& options = {});

/// Options of random::normal.
struct NormalOptions {
  double mean = 0;
  double deviation = 1;
  std::optional<Dtype> dtype = std::nullopt;  ///< config.dtype when not given
  Device device = Device();
};

/// Normally distributed numbers. Throws TypeError when dtype is not floating. numpy.random.normal.
KUSARI_API Array normal(const Shape& shape, const NormalOptions& options = {});

/// Options of random::randint.
struct RandintOptions {
  Dtype dtype = Dtype::int32;
  Device device = Device();
};

/// Integers uniform in [low, high). Throws ValueError when there are none or more than 2^32, TypeError when dtype is
/// not that of integers. numpy.random.randint.
KUSARI_API Array randint(int64_t low, int64_t high, const Shape& shape, const RandintOptions& options = {});

/// Options of random::bernoulli.
struct BernoulliOptions {
  std::optional<Dtype> dtype = std::nullopt;  ///< any; config.dtype when not given
  Device device = Device();
};

/// 1 with probability p, else 0. Throws ValueError when p is not in [0, 1]. D::Bernoulli has a probability for each
/// element. torch.bernoulli.
KUSARI_API Array bernoulli(double p, const Shape& shape, const BernoulliOptions& options = {});

/// Options of random::choice.
struct ChoiceOptions {
  bool replace = true;                          ///< whether the same can be drawn again
  std::vector<double> p = {};                   ///< the probability of each, with a sum of 1; by default all alike
  std::optional<Device> device = std::nullopt;  ///< of the result; default: the array's, or the CPU
};

/// Numbers out of 0 .. n-1, int64. Without replacement, what is left keeps the proportions of its probabilities. With
/// p and replacement the host draws. Throws ValueError when n is not in [1, 2^32], unless nothing is drawn, when more
/// are drawn without replacement than there are (with p: than have a probability above 0), and for a p that has not n
/// numbers in [0, 1] whose sum is 1, within 1e-4. numpy.random.choice.
KUSARI_API Array choice(int64_t n, const Shape& shape, const ChoiceOptions& options = {});
/// Elements of an array's first axis: (shape.., a.shape[1:]..), a's dtype. Throws TypeError for an array without axes.
KUSARI_API Array choice(const Array& a, const Shape& shape, const ChoiceOptions& options = {});

}  // namespace kusari::random
