#include "kusari/framework/functions/connection/depthwise_convolution_2d.h"

#include <string>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/connection/convolution_node.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {

Variable depthwise_convolution_2d(const Variable& x, const Variable& W, const Variable& b,
                                  const DepthwiseConvolutionOptions& options) {
  expect_given(x, "F::depthwise_convolution_2d", "x");
  expect_given(W, "F::depthwise_convolution_2d", "W");

  if (const CompositeInputs in("depthwise_convolution_2d", {x, W, b}); in.is_cast())
    return depthwise_convolution_2d(in[0], in[1], in[2], options);
  const Shape& shape = W.shape();
  if (x.ndim() != 4 || shape.ndim() != 4 || x.shape()[1] != shape[1]) {
    throw TypeError("F::depthwise_convolution_2d: x has shape " + to_string(x.shape()) + " but W has shape " +
                    to_string(shape) + ": both must have 4 axes, and x.shape[1] must equal W.shape[1]");
  }
  const Variable filters =
      reshape(transpose(W, {1, 0, 2, 3}), {shape[0] * shape[1], 1, shape[2], shape[3]});  // (C M, 1, kh, kw)
  return detail::convolve(
      x, filters, b,
      detail::convolution_settings("depthwise_convolution_2d", 2, options.stride, options.pad, 1, shape[1]));
}

}  // namespace kusari::functions
