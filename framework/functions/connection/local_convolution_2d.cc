#include "kusari/framework/functions/connection/local_convolution_2d.h"

#include <algorithm>
#include <string>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/im2col.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/input_check.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"

namespace kusari::functions {
namespace {

constexpr const char* kLocalConvolution2D = "F::local_convolution_2d";

void check(const Variable& x, const Variable& W, const Variable& b, const Dims& stride) {
  const InputCheck c("local_convolution_2d", {&x, &W, &b});
  const auto [image, weights, bias] = c.args("x", "W", "b");
  c.expect(image.is_floating(), weights.is_floating(), image.ndim() == 4, weights.ndim() == 6,
           image.shape(1) == weights.shape(3), image.shape(2) >= weights.shape(4), image.shape(3) >= weights.shape(5),
           weights.shape(4) > 0, weights.shape(5) > 0);
  const int64_t h = (x.shape()[2] - W.shape()[4]) / stride[0] + 1, w = (x.shape()[3] - W.shape()[5]) / stride[1] + 1;
  c.expect(weights.shape(1) == h, weights.shape(2) == w);
  if (!b.is_defined()) return;
  c.expect(bias.dtype() == image.dtype(), bias.ndim() == 3, bias.shape(0) == weights.shape(0),
           bias.shape(1) == weights.shape(1), bias.shape(2) == weights.shape(2));
}

}  // namespace

Variable local_convolution_2d(const Variable& x, const Variable& W, const Variable& b,
                              const LocalConvolution2DOptions& options) {
  if (const CompositeInputs in("local_convolution_2d", {x, W, b}); in.is_cast())
    return local_convolution_2d(in[0], in[1], in[2], options);
  const Dims stride = options.stride.resolve(2, kLocalConvolution2D, "stride");
  if (std::min(stride[0], stride[1]) < 1) {
    throw ValueError(std::string(kLocalConvolution2D) + ": stride is " + to_string(stride) + ": it must be at least 1");
  }
  check(x, W, b, stride);
  const Shape& shape = W.shape();
  const int64_t n = x.shape()[0], o = shape[0], h = shape[1], w = shape[2], patch = shape[3] * shape[4] * shape[5];

  // One matrix product per place: (N, patch) (patch, O).
  const Variable columns = im2col(x, PerAxis({shape[4], shape[5]}), {.stride = PerAxis(stride)});
  const Variable patches = reshape(transpose(columns, {2, 3, 0, 1}), {h * w, n, patch});
  const Variable weights = reshape(transpose(W, {1, 2, 3, 4, 5, 0}), {h * w, patch, o});
  const Variable products = matmul(patches, weights, {.dtype = x.dtype()});
  const Variable y = transpose(reshape(products, {h, w, n, o}), {2, 3, 0, 1});
  return b.is_defined() ? y + b : y;
}

}  // namespace kusari::functions
