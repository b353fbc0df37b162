#include "kusari/framework/functions/connection/deformable_convolution_2d_sampler.h"

#include <algorithm>
#include <string>

#include "kusari/framework/autograd/cast.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/sample_bilinear.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/input_check.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari::functions {
namespace {

constexpr const char* kDeformableSampler = "F::deformable_convolution_2d_sampler";

void check(const Variable& x, const Variable& offset, const Variable& W, const Variable& b) {
  const InputCheck c("deformable_convolution_2d_sampler", {&x, &offset, &W, &b});
  const auto [image, moves, weights, bias] = c.args("x", "offset", "W", "b");
  c.expect(image.is_floating(), image.ndim() == 4, weights.is_floating(), weights.ndim() == 4,
           image.shape(1) == weights.shape(1), moves.dtype() == image.dtype(), moves.ndim() == 4,
           image.shape(0) == moves.shape(0));
  c.expect(moves.shape(1) == 2 * W.shape()[2] * W.shape()[3]);
  if (b.is_defined()) c.expect(bias.ndim() == 1, bias.shape(0) == weights.shape(0), bias.dtype() == image.dtype());
}

Dims checked(const PerAxis& option, const char* argument, int64_t least) {
  const Dims values = option.resolve(2, kDeformableSampler, argument);
  if (std::min(values[0], values[1]) < least) {
    throw ValueError(std::string(kDeformableSampler) + ": " + argument + " is " + to_string(values) +
                     ": it must be at least " + std::to_string(least));
  }
  return values;
}

// Where the kernel's elements lie without offsets: (1, 2, h w, kh kw), columns first.
Array regular_points(const Shape& kernel, const Dims& size, const Dims& stride, const Dims& pad, const Device& device) {
  const int64_t kh = kernel[2], kw = kernel[3], count = size[0] * size[1];
  const Array points = empty({1, 2, count, kh * kw}, Dtype::float64);
  auto* at = points.data<double>();
  for (int64_t p = 0; p < count; ++p) {
    for (int64_t k = 0; k < kh * kw; ++k) *at++ = static_cast<double>(p % size[1] * stride[1] + k % kw - pad[1]);
  }
  for (int64_t p = 0; p < count; ++p) {
    for (int64_t k = 0; k < kh * kw; ++k) *at++ = static_cast<double>(p / size[1] * stride[0] + k / kw - pad[0]);
  }
  return points.to_device(device);
}

}  // namespace

Variable deformable_convolution_2d_sampler(const Variable& x, const Variable& offset, const Variable& W,
                                           const Variable& b, const DeformableConvolution2DSamplerOptions& options) {
  if (const CompositeInputs in("deformable_convolution_2d_sampler", {x, offset, W, b}); in.is_cast())
    return deformable_convolution_2d_sampler(in[0], in[1], in[2], in[3], options);
  check(x, offset, W, b);
  const Dims stride = checked(options.stride, "stride", 1), pad = checked(options.pad, "pad", 0);
  const int64_t n = x.shape()[0], channels = x.shape()[1], out_channels = W.shape()[0];
  const int64_t h = offset.shape()[2], w = offset.shape()[3], k = W.shape()[2] * W.shape()[3];

  // The elements of a kernel innermost: they and the channels become the rows of a matrix product.
  const Variable wide = autograd::cast(offset, x.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32);
  const Variable moves = transpose(reshape(wide, {n, 2, k, h * w}), {0, 1, 3, 2});
  const Array regular = host_constant([&] {
    return regular_points(W.shape(), {h, w}, stride, pad, x.device()).astype(wide.dtype());
  });
  const Variable patches = sample_bilinear(x, moves + regular);  // (N, C, h w, k)
  const Variable rows = reshape(transpose(patches, {0, 2, 3, 1}), {n * h * w, k * channels});
  const Variable weights = reshape(transpose(W, {0, 2, 3, 1}), {out_channels, k * channels});
  return transpose(reshape(linear(rows, weights, b), {n, h, w, out_channels}), {0, 3, 1, 2});
}

}  // namespace kusari::functions
