#pragma once

#include "kusari/framework/core/array.h"
#include "kusari/framework/kernels/convolution.h"

// Convolutions of two spatial axes whose groups have one channel of x and one of y, by direct loops.
namespace kusari::cuda {

/// Whether the three functions take these arrays: one channel a group on both sides, images channels-last and dense,
/// all of one floating dtype.
bool depthwise_supported(const kernels::Convolution& geometry, const Array& x, const Array& W, const Array& y);

/// Whether they do it by kernels made for it, which memory alone bounds: 3x3 with stride 1 or 2 and whole packs of
/// channels. Of supported arrays.
bool depthwise_is_direct(const kernels::Convolution& geometry, const Array& x, const Array& W, const Array& y);

void depthwise_forward(const kernels::Convolution& geometry, const Array& x, const Array& W, const Array& bias,
                       const Array& y);
void depthwise_data_grad(const kernels::Convolution& geometry, const Array& gy, const Array& W, const Array& bias,
                         const Array& gx);
void depthwise_filter_grad(const kernels::Convolution& geometry, const Array& x, const Array& gy, const Array& gW);

}  // namespace kusari::cuda
