#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/shape.h"
#include "kusari/framework/functions/per_axis.h"
#include "kusari/framework/kernels/convolution.h"

// The three functions that convolutions and their derivatives are made of; each is differentiated by the other two.
namespace kusari::functions::detail {

struct ConvolutionSettings {
  const char* name;  ///< of the function that was called
  kernels::Convolution geometry;
  bool cover_all = false;
  Dims outsize = {};  ///< the result's spatial shape; empty: what follows from the others
  bool relu = false;  ///< the result is cut at 0; not for the transposed convolution
};

/// Throws ValueError when an option is out of range.
ConvolutionSettings convolution_settings(const char* name, int ndim, const PerAxis& stride, const PerAxis& pad,
                                         const PerAxis& dilate, int64_t groups);

/// out... of convolve. Throws ValueError where the kernel does not fit into x.
Dims convolved_size(const ConvolutionSettings& settings, const Shape& x, const Shape& W);
/// x: (N, C, in...), W: (O, C / groups, kernel...), b: (O) or undefined. Returns (N, O, out...).
/// sums: gets those of convolution_nd_with_sums, where the device has them.
Variable convolve(const Variable& x, const Variable& W, const Variable& b, const ConvolutionSettings& settings,
                  Array* sums = nullptr);
/// x: (N, C, in...), W: (C, O / groups, kernel...), b: (O) or undefined. Returns (N, O, out...).
Variable convolve_transposed(const Variable& x, const Variable& W, const Variable& b,
                             const ConvolutionSettings& settings);

}  // namespace kusari::functions::detail
