#pragma once

#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/cpu/convolution.h"
#include "kusari/framework/cpu/isa/quantization.h"
#include "kusari/framework/kernels/quantized_convolution.h"

// What the sources of convolutions of 8-bit numbers share.
namespace kusari::cpu {

const QuantizationLoops& quantization();

/// Where y's numbers go.
struct QuantizedTarget {
  Array y;
  float scale = 0, zero = 0, low = 0, high = 0;
};

/// To all channels of the target.
PackedRounding rounding_to(const QuantizedTarget& target);

/// Leaves a cut of results to the bounds of their integers: rounding keeps the order of numbers.
void cut_integers(ResultRange& range, QuantizedTarget& target);

/// The arrays of a call in the dtypes that are computed with; channels innermost but in W.
struct QuantizedCall {
  const kernels::QuantizedConvolution& options;
  Array x, W, W_zeros, scale, bias, z;
  int x_zero;
  QuantizedTarget target;

  bool is_narrow() const { return kernels::has_8_bits(target.y); }
  /// Whether weights without their zero points have 8 bits with a sign.
  bool fits_int8() const;
  /// What follows the sums of the channels from `first` on.
  void give_channels(PackedConvolution& to, int64_t first) const;
};

/// For PackedWeights: the groups and the zero points, which are taken off the weights.
std::string variant_of(const ConvolutionProblem& p, const Array& W_zeros);
Array with_channels_innermost(const Array& x);
/// The one number of an array.
float single_number(const Array& x);

/// One result for each channel, over one or two axes.
bool is_quantized_depthwise(const ConvolutionProblem& p);
void convolve_quantized_depthwise(const ConvolutionProblem& p, const QuantizedCall& call);

/// By Winograd's algorithm, or false: 3x3 of stride 1, where fewer multiplications are worth the transformations.
bool convolve_quantized_winograd(const ConvolutionProblem& p, const QuantizedCall& call);

}  // namespace kusari::cpu
