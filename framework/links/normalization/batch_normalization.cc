#include "kusari/framework/links/normalization/batch_normalization.h"

#include <algorithm>
#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/normalization/batch_normalization.h"
#include "kusari/framework/functions/normalization/normalized_convolution.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {

namespace F = functions;

BatchNormalization::BatchNormalization(const Shape& size, Options options)
    : BatchStatistics("L::BatchNormalization", size,
                      {options.decay, options.eps, options.dtype, options.use_gamma, options.use_beta,
                       std::move(options.initial_gamma), std::move(options.initial_beta), options.axis,
                       std::move(options.initial_avg_mean), std::move(options.initial_avg_var)}) {
  if (options.frozen) freeze();
}

void BatchNormalization::freeze() {
  is_frozen_ = true;
  gamma.disable_update();
  beta.disable_update();
}

void BatchNormalization::unfreeze() {
  is_frozen_ = false;
  gamma.enable_update();
  beta.enable_update();
}

bool BatchNormalization::takes_batch_statistics() const {
  return config().train && !is_frozen_ && exchange_ == nullptr;
}

void freeze_batch_normalization(Link& model) {
  for (Link* const link : model.links()) {
    if (auto* const bn = dynamic_cast<BatchNormalization*>(link)) bn->freeze();
  }
}

Variable BatchNormalization::operator()(const Variable& x, const BatchNormalizationCall& call) const {
  prepare(x);
  const LinkCall hooked(*this);
  if (takes_batch_statistics()) return F::batch_normalization(x, scale(), shift(), training_options(call));
  const Fixed by = fixed(x, call);
  return F::fixed_batch_normalization(x, by.scale, by.shift, by.mean, by.var, {.eps = eps, .axis = axis()});
}

Variable BatchNormalization::relu(const Variable& x, const BatchNormalizationCall& call) const {
  prepare(x);
  const LinkCall hooked(*this);
  if (takes_batch_statistics()) return F::batch_normalization_relu(x, scale(), shift(), training_options(call));
  const Fixed by = fixed(x, call);
  return F::fixed_batch_normalization_relu(x, by.scale, by.shift, by.mean, by.var, {.eps = eps, .axis = axis()});
}

F::ConvolutionWithSums BatchNormalization::relu_convolution(const F::ConvolutionWithSums& x,
                                                            const ConvolutionND& conv) const {
  const bool fits = x.sums.is_defined() && conv.W.is_initialized() && !conv.b.is_defined();
  if (!fits || !takes_batch_statistics()) return conv.with_sums(relu(x.y, {.sums = x.sums}));
  prepare(x.y);
  const LinkCall hooked(*this);
  const LinkCall of_convolution(conv);
  return F::batch_normalization_relu_convolution(x.y, scale(), shift(), conv.W, training_options({.sums = x.sums}),
                                                 conv.geometry());
}

Variable BatchNormalization::add_relu(const Variable& x, const Variable& residual,
                                      const BatchNormalizationCall& call) const {
  prepare(x);
  const LinkCall hooked(*this);
  if (takes_batch_statistics()) {
    return F::batch_normalization_add_relu(x, residual, scale(), shift(), training_options(call));
  }
  const Fixed by = fixed(x, call);
  return F::fixed_batch_normalization_add_relu(x, residual, by.scale, by.shift, by.mean, by.var,
                                               {.eps = eps, .axis = axis()});
}

BatchNormalization::Fixed BatchNormalization::fixed(const Variable& x, const BatchNormalizationCall& call) const {
  if (is_frozen_) {  // no gradients
    return {Variable(scale().array(), false), Variable(shift().array(), false), mean(), var()};
  }
  if (!config().train) return {scale(), shift(), mean(), var()};
  F::expect_given(x, "L::BatchNormalization", "x");
  const Variable gamma_or_1 = scale();
  const Dtype dtype = promote(promote(x.dtype(), gamma_or_1.dtype()), Dtype::float32);
  const BatchMoments moments = exchange_->moments(x, aggregated_axes(x.ndim()), dtype);
  if (!config().in_recomputing && moments.count > 0) {
    const auto average = [weight = 1 - count(call)](const Array& running, const Array& value, double factor) {
      pointwise_to(running, kernels::Add{}, running * (1 - weight), value * (weight * factor));
    };
    average(avg_mean, moments.mean.array(), 1);
    average(avg_var, moments.var.array(), moments.count / std::max(moments.count - 1, 1.0));
  }
  return {F::cast(gamma_or_1, dtype), F::cast(shift(), dtype), moments.mean, moments.var};
}

Dims BatchNormalization::aggregated_axes(int ndim) const {
  Dims axes;
  if (axis().empty()) {
    for (int i = 0; i < ndim; ++i) {
      if (i == 0 || i > avg_mean.ndim()) axes.push_back(i);
    }
  } else {
    for (const int64_t i : axis()) axes.push_back(normalize_axis(i, ndim, "L::BatchNormalization"));
  }
  return axes;
}

StatisticsExchange::~StatisticsExchange() = default;

F::BatchNormalizationOptions BatchNormalization::training_options(const BatchNormalizationCall& call) const {
  return {.eps = eps,
          .running_mean = avg_mean,
          .running_var = avg_var,
          .decay = count(call),
          .axis = axis(),
          .sums = call.sums};
}

}  // namespace kusari::links
