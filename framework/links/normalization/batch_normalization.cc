#include "kusari/framework/links/normalization/batch_normalization.h"

#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/normalization/batch_normalization.h"
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

bool BatchNormalization::takes_batch_statistics() const { return config().train && !is_frozen_; }

// Without a gradient while frozen.
Variable BatchNormalization::fixed(const Variable& parameter) const {
  return is_frozen_ ? Variable(parameter.array(), false) : parameter;
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
  return F::fixed_batch_normalization(x, fixed(scale()), fixed(shift()), mean(), var(), {.eps = eps, .axis = axis()});
}

Variable BatchNormalization::relu(const Variable& x, const BatchNormalizationCall& call) const {
  prepare(x);
  const LinkCall hooked(*this);
  if (takes_batch_statistics()) return F::batch_normalization_relu(x, scale(), shift(), training_options(call));
  return F::fixed_batch_normalization_relu(x, fixed(scale()), fixed(shift()), mean(), var(),
                                           {.eps = eps, .axis = axis()});
}

Variable BatchNormalization::add_relu(const Variable& x, const Variable& residual,
                                      const BatchNormalizationCall& call) const {
  prepare(x);
  const LinkCall hooked(*this);
  if (takes_batch_statistics()) {
    return F::batch_normalization_add_relu(x, residual, scale(), shift(), training_options(call));
  }
  return F::fixed_batch_normalization_add_relu(x, residual, fixed(scale()), fixed(shift()), mean(), var(),
                                               {.eps = eps, .axis = axis()});
}

F::BatchNormalizationOptions BatchNormalization::training_options(const BatchNormalizationCall& call) const {
  return {.eps = eps, .running_mean = avg_mean, .running_var = avg_var, .decay = count(call), .axis = axis()};
}

}  // namespace kusari::links
