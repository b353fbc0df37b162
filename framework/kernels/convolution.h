#pragma once

#include <cstddef>
#include <cstdint>

#include "kusari/framework/core/kernel.h"

namespace kusari::kernels {

/// Most spatial axes of a convolution.
inline constexpr int kMaxSpatial = kMaxNdim - 2;

/// The geometry of a convolution over `ndim` spatial axes; entry i belongs to spatial axis i. Padding is what lies
/// before the first element; what lies behind the last follows from the shapes.
struct Convolution {
  int ndim = 0;
  int64_t stride[kMaxSpatial] = {};
  int64_t pad[kMaxSpatial] = {};
  int64_t dilate[kMaxSpatial] = {};
  int64_t groups = 1;
  bool autotune = false;           ///< time the candidates at the first call of a geometry, see Config::autotune
  bool weights_are_fixed = false;  ///< W will come again unchanged: worth keeping in the order that a library wants
  /// ConvolutionFusedForward in float32 or float64: the bias is added to the rounded sums, as an addition of its own
  /// would. Otherwise an algorithm may begin its sums with it.
  bool bias_comes_after = false;
};

// x: (N, C, in...), W: (O, C / groups, kernel...), y: (N, O, out...), bias: (O) or undefined. Floating, all of one
// dtype except W and bias, which may be of another; sums are in float32 at least. Any strides; channels-last
// (Array::channels_last) is what every implementation is made for, of W too. Each result is the same bits whatever the
// number of threads.

/// y[n, o, p] = sum over c, k of x[n, c, stride p + dilate k - pad] W[o, c, k] + bias[o].
struct ConvolutionForward {
  static constexpr const char* kName = "convolution_forward";
  using Signature = void(Params<Convolution> geometry, In x, In W, In bias, Out y);
};

/// ConvolutionForward without a bias, and what a batch normalization of y wants: sums (2, O), float32, of the elements
/// of each channel of y and of their squares, in the same pass where a library has it. A backend may lack it.
struct ConvolutionForwardWithSums {
  static constexpr const char* kName = "convolution_forward_with_sums";
  using Signature = void(Params<Convolution> geometry, In x, In W, Out y, Out sums);
};

enum class ConvolutionActivation : int64_t { none, relu };

/// y = activation(the convolution of x with W, + z + bias), for inference; z has y's shape, or is undefined. In one
/// pass over y where a library has it.
struct ConvolutionFusedForward {
  static constexpr const char* kName = "convolution_fused_forward";
  using Signature = void(Params<Convolution> geometry, Params<ConvolutionActivation> activation, In x, In W, In z,
                         In bias, Out y);
};

/// A pointwise functor of one argument by the kernel that it belongs to, Pointwise<Op>, and its members.
struct UnaryFunctor {
  static constexpr size_t kBytes = 16;
  KernelId kernel{-1};
  int32_t unused = 0;  // so that equal ones are equal bytes
  alignas(8) std::byte functor[kBytes] = {};
};

/// ConvolutionFusedForward with another function in the end: the bits of a kernel of its own after it.
/// For inference.
struct ConvolutionFunctionForward {
  static constexpr const char* kName = "convolution_function_forward";
  using Signature = void(Params<Convolution> geometry, Params<UnaryFunctor> function, In x, In W, In z, In bias, Out y);
};

/// gx = the gradient of x, which is a transposed convolution of gy; plus bias (C), undefined for a gradient.
struct ConvolutionDataGrad {
  static constexpr const char* kName = "convolution_data_grad";
  using Signature = void(Params<Convolution> geometry, In gy, In W, In bias, Out gx);
};

/// gx += the gradient of x. A backend may lack it, where one pass over gx is not to be had.
struct ConvolutionDataGradAdded {
  static constexpr const char* kName = "convolution_data_grad_added";
  using Signature = void(Params<Convolution> geometry, In gy, In W, InOut gx);
};

/// gW = the gradient of W.
struct ConvolutionFilterGrad {
  static constexpr const char* kName = "convolution_filter_grad";
  using Signature = void(Params<Convolution> geometry, In x, In gy, Out gW);
};

}  // namespace kusari::kernels
