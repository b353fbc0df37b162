#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"

namespace kusari::quantization {

/// How the range of an input follows from the numbers that were observed. Made by min_max(), percentile() and
/// entropy().
struct Method {
  enum class Kind : uint8_t { min_max, percentile, entropy };
  Kind kind = Kind::min_max;
  double percent = 100;  ///< of the numbers that lie in the range: Kind::percentile alone
};

/// From the smallest number to the largest: nothing is cut off.
inline Method min_max() { return {}; }
/// That many of 100 numbers lie in the range; of the others half are below and half above, where there are any.
/// Throws ValueError when percent is not in (50, 100].
KUSARI_API Method percentile(double percent = 99.99);
/// The range whose 8 bits tell least from what was observed, by the Kullback-Leibler divergence. Migacz 2017, "8-bit
/// inference with TensorRT".
inline Method entropy() { return {.kind = Method::Kind::entropy}; }

}  // namespace kusari::quantization
