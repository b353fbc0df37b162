#pragma once

#include "kusari/framework/core/kernel.h"

// Random numbers by place: element i of the result (in C order, whatever the strides) comes from place state.offset + i
// of the stream alone, so a draw of n elements takes n places: random::reserve(n).
namespace kusari::kernels {

struct UniformRange {
  double low = 0.0;
  double high = 1.0;
};

/// y = low + (high - low) u, u uniform in [0, 1): 24 random bits in float32 (and half types), 53 in float64.
struct Uniform {
  static constexpr const char* kName = "uniform";
  using Signature = void(Params<UniformRange> range, RandomState state, Out y);
};

struct NormalMoments {
  double mean = 0.0;
  double deviation = 1.0;
};

/// y = mean + deviation n, n standard normal (Box and Muller 1958). Four places share a block: the numbers at places
/// 4 b .. 4 b + 3 are two pairs.
struct Normal {
  static constexpr const char* kName = "normal";
  using Signature = void(Params<NormalMoments> moments, RandomState state, Out y);
};

struct DropoutRatio {
  double ratio = 0.5;
};

/// mask = 1 / (1 - ratio) where u >= ratio, else 0, with the u of Uniform; y = x mask. 0 <= ratio < 1.
/// y and mask: x's shape and dtype.
struct Dropout {
  static constexpr const char* kName = "dropout";
  using Signature = void(Params<DropoutRatio> ratio, RandomState state, In x, Out y, Out mask);
};

/// place = (seed, offset) of the stream, (2), int64: for kernels that look numbers up again instead of keeping them.
struct RandomPlace {
  static constexpr const char* kName = "random_place";
  using Signature = void(RandomState state, Out place);
};

}  // namespace kusari::kernels
