#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"

namespace kusari::functions {

/// Options of the convolutions.
struct ConvolutionOptions {
  PerAxis stride = 1;
  PerAxis pad = 0;         ///< zeros before the first and behind the last element
  bool cover_all = false;  ///< also the positions that reach over the end, so that every element is seen
  PerAxis dilate = 1;      ///< distance between the elements that a kernel sees
  int64_t groups = 1;      ///< channels are divided into so many convolutions of their own
  bool relu = false;       ///< F::relu of the result, in the same pass where a device can
};

/// Convolution (cross-correlation): y[n, o, p] = sum over c, k of x[n, c, stride p + dilate k - pad] W[o, c, k] + b[o].
/// x: (N, C, in...), floating, with one or more spatial axes. W: (O, C / groups, kernel...), floating. b: (O) of x's
/// dtype, or undefined. Returns y: (N, O, out...) in x's dtype, whatever W's, channels-last in memory; out is
/// floor((in + 2 pad - dilate (kernel - 1) - 1) / stride) + 1, with cover_all the ceiling. Sums are in float32 at
/// least. Throws TypeError when shapes or dtypes do not fit, ValueError for an option out of range or an empty output.
/// Differentiable to any order. chainer.functions.convolution_nd.
KUSARI_API Variable convolution_nd(const Variable& x, const Variable& W, const Variable& b = Variable(),
                                   const ConvolutionOptions& options = {});

/// A convolution and what it knows of its result.
struct ConvolutionWithSums {
  Variable y;
  Array sums;  ///< see convolution_nd_with_sums
};

/// convolution_nd without a bias in front of a batch normalization: sums is (2, O), float32, of the elements of each
/// channel of y and of their squares, for BatchNormalizationOptions::sums. Undefined where the convolution does not
/// give them on its way: on the CPU, in other dtypes than float16, with options.relu, with Fusions::convolution_sums
/// off. Throws what convolution_nd throws.
KUSARI_API ConvolutionWithSums convolution_nd_with_sums(const Variable& x, const Variable& W,
                                                        const ConvolutionOptions& options = {});

/// convolution_nd for x: (N, C, length). chainer.functions.convolution_1d.
KUSARI_API Variable convolution_1d(const Variable& x, const Variable& W, const Variable& b = Variable(),
                                   const ConvolutionOptions& options = {});

/// convolution_nd for x: (N, C, depth, H, W). chainer.functions.convolution_3d.
KUSARI_API Variable convolution_3d(const Variable& x, const Variable& W, const Variable& b = Variable(),
                                   const ConvolutionOptions& options = {});

}  // namespace kusari::functions
