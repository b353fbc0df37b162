#pragma once

#include <optional>

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

}  // namespace kusari::random
