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

}  // namespace kusari::random
