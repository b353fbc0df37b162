#pragma once

#include "kusari/framework/core/array.h"
#include "kusari/framework/kernels/convolution.h"

// Convolutions without cuDNN: copied patches of the image times the matrix of weights, and direct loops where each
// group has one channel. Any strides, the dtypes and sizes that the kernels of framework/kernels/convolution.h take.
namespace kusari::cuda {

void im2col_forward(const kernels::Convolution& geometry, const Array& x, const Array& W, const Array& bias,
                    const Array& y);
void im2col_data_grad(const kernels::Convolution& geometry, const Array& gy, const Array& W, const Array& bias,
                      const Array& gx);
void im2col_filter_grad(const kernels::Convolution& geometry, const Array& x, const Array& gy, const Array& gW);

}  // namespace kusari::cuda
