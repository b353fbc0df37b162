#pragma once

#include "kusari/framework/kernels/macros.h"

namespace kusari::kernels {

/// What becomes of a pixel's value in one channel. The reciprocal of the deviation: a division would be one rounding
/// better and several times the work. The difference comes first, so that every processor gives the same bits.
template <class T>
KUSARI_HOST_DEVICE T scaled_pixel(T x, T mean, T scale) {
  return (x - mean) * scale;
}

}  // namespace kusari::kernels
