#pragma once

#include <functional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/kernels/convolution.h"

// Convolutions of max(0, x scale + shift), load (2, C) being scale and shift in x's dtype, without that in memory.
// Dense, channels-last images of one dtype. Each is false, having done nothing, where cuDNN has no such kernel.
namespace kusari::cuda {

/// y, and where `sums` is defined what ConvolutionForwardWithSums gives.
bool convolve_loaded(const kernels::Convolution& geometry, const Array& x, const Array& load, const Array& w,
                     const Array& y, const Array& sums);
/// gw, which is dense.
bool filter_grad_loaded(const kernels::Convolution& geometry, const Array& x, const Array& load, const Array& gy,
                        const Array& gw);
/// Whether both have plans, with sums, for float16 arrays of these shapes on the device.
bool has_loaded_plans(const kernels::Convolution& geometry, int device, const Shape& x, const Shape& w, const Shape& y);
/// Whether these, which `fused` runs forward and backward, take less time than `parts`: measured once for the shapes.
bool loads_pay_off(const kernels::Convolution& geometry, int device, const Shape& x, const Shape& w, const Shape& y,
                   const std::function<void()>& fused, const std::function<void()>& parts);

}  // namespace kusari::cuda
