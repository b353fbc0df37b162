#pragma once

#include "kusari/framework/core/array.h"

namespace kusari::cuda {

/// sums (2, C), float32, of y (N, C, ...), which is not empty: of the elements of each channel and of their squares.
void take_channel_sums(const Array& y, const Array& sums);

}  // namespace kusari::cuda
