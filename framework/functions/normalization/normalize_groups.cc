#include "kusari/framework/functions/normalization/normalize_groups.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"

namespace kusari::functions {
namespace {

/// The type of the arithmetic.
Dtype wide_dtype(Dtype x, Dtype gamma) {
  return x == Dtype::float64 || gamma == Dtype::float64 ? Dtype::float64 : Dtype::float32;
}

Array result_like(const Array& x) { return empty_channels_last(x.shape(), x.dtype(), x.device()); }

/// The mean of each row of (N, groups, n).
Variable row_mean(const Variable& rows) { return average(rows, 2, Variable(), true); }

/// Every axis but the channels.
Axes all_but_channels(int ndim) {
  Dims axes{0};
  for (int axis = 2; axis < ndim; ++axis) axes.push_back(axis);
  return Axes(std::span<const int64_t>(axes.begin(), axes.size()));
}

}  // namespace

Arrays NormalizeGroups::forward(const ArrayRefs& in) {
  retain_inputs({0, 1});
  const Array &x = in[0], &gamma = in[1];
  wide_ = wide_dtype(x.dtype(), gamma.dtype());
  const Array y = result_like(x);
  mean_ = empty({x.shape()[0], options_.groups}, Dtype::float64, x.device());
  inv_std_ = empty_like(mean_);
  launch<kernels::GroupNormalization>(x.device(), options_, x, gamma, in[2], y, mean_, inv_std_);
  return {y};
}

void NormalizeGroups::describe(Attributes& options) const {
  options.set("groups", options_.groups);
  options.set("eps", options_.eps);
}

Variables NormalizeGroups::backward(const Variables& gy) {
  return config().enable_backprop ? differentiable_gradients(gy[0]) : fused_gradients(gy[0].array());
}

Variables NormalizeGroups::differentiable_gradients(const Variable& gy) {
  const Variable x = cast(retained_input(0), wide_), gamma = cast(retained_input(1), wide_), g = cast(gy, wide_);
  const Shape& shape = x.shape();
  const int64_t examples = shape[0], channels = shape[1];
  int64_t pixels = 1;
  for (int axis = 2; axis < shape.ndim(); ++axis) pixels *= shape[axis];
  // An instance normalization of no channels has no groups either.
  const int64_t own_channels = options_.groups > 0 ? channels / options_.groups : 0;
  const Shape grouped{examples, options_.groups, own_channels * pixels};
  Shape per_channel = Shape::filled(shape.ndim(), 1);
  per_channel[1] = channels;

  const Variable rows = reshape(x, grouped);
  const Variable centered = rows - row_mean(rows);
  const Variable inv_std = rsqrt(row_mean(square(centered)) + options_.eps);
  const Variable x_hat = centered * inv_std;
  Variables gradients(3);
  if (needs_grad(0)) {
    const Variable g_hat = reshape(g * reshape(gamma, per_channel), grouped);
    const Variable gx = inv_std * (g_hat - row_mean(g_hat) - x_hat * row_mean(g_hat * x_hat));
    gradients[0] = cast(reshape(gx, shape), input_dtype(0));
  }
  const Axes others = all_but_channels(shape.ndim());
  if (needs_grad(1)) gradients[1] = cast(sum(g * reshape(x_hat, shape), others), input_dtype(1));
  if (needs_grad(2)) gradients[2] = cast(sum(g, others), input_dtype(2));
  return gradients;
}

Variables NormalizeGroups::fused_gradients(const Array& gy) {
  const Array x = retained_input(0).array(), gamma = retained_input(1).array();
  const auto vector = [&](size_t input) {
    return needs_grad(input) ? empty(gamma.shape(), wide_, x.device()) : Array();
  };
  const Array gx = needs_grad(0) ? result_like(x) : Array(), ggamma = vector(1), gbeta = vector(2);
  launch<kernels::GroupNormalizationGrad>(x.device(), options_, x, gamma, mean_, inv_std_, gy, gx, ggamma, gbeta);
  Variables gradients(3);
  if (gx.is_defined()) gradients[0] = Variable(gx, false);
  if (ggamma.is_defined()) gradients[1] = Variable(ggamma.astype(input_dtype(1)), false);
  if (gbeta.is_defined()) gradients[2] = Variable(gbeta.astype(input_dtype(2)), false);
  return gradients;
}

}  // namespace kusari::functions
