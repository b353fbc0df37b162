#include "kusari/framework/links/link_hooks/weight_normalization.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/connection/deconvolution_nd.h"

namespace kusari::link_hooks {

namespace F = functions;

WeightNormalization::WeightNormalization(WeightNormalizationOptions options)
    : WeightHook(options.weight_name), options_{std::move(options)} {}

void WeightNormalization::added(Link* link) {
  WeightHook::added(link);
  axis_ = options_.axis.value_or(dynamic_cast<links::DeconvolutionND*>(link) != nullptr ? 1 : 0);
  const Parameter& v = weight(*link);
  if (v.is_initialized()) static_cast<void>(normalize_axis(axis_, v.ndim(), name()));
  link->add_param(length_name(), Parameter(Shape{kInferShape}, 0.0));
  if (v.is_initialized()) prepare(*link, v);
}

void WeightNormalization::deleted(Link* link) {
  Parameter& v = weight(*link);
  if (v.is_initialized()) {
    const auto guard = no_backprop_mode();
    v.array().copy_from(transformed(*link, v).array());
  }
  link->remove_member(length_name());
}

// In float32 for the half types.
Variable WeightNormalization::norms(const Variable& weight) const {
  const Variable v = is_half(weight.dtype()) ? F::cast(weight, Dtype::float32) : weight;
  const int axis = normalize_axis(axis_, v.ndim(), name());
  std::vector<int64_t> others;
  for (int i = 0; i < v.ndim(); ++i) {
    if (i != axis) others.push_back(i);
  }
  const Variable squares = v * v;
  return F::sqrt(
      (others.empty() ? squares : F::sum(squares, {.axis = Axes(std::span<const int64_t>(others)), .keepdims = true})) +
      options_.eps * options_.eps);
}

void WeightNormalization::prepare(Link& link, const Variable& weight) const {
  Parameter& g = parameter(link, length_name());
  if (g.is_initialized()) return;
  const ScopedGraphCapture nothing(nullptr);
  const auto guard = no_backprop_mode();
  const ScopedInputCaster full_precision(nullptr);
  const Array lengths = norms(weight).array();
  g.to(weight.device());
  g.to(weight.dtype());
  g.initialize(lengths.shape());
  g.array().copy_from(lengths.astype(weight.dtype()));
}

Variable WeightNormalization::transformed(Link& link, const Variable& weight) {
  prepare(link, weight);
  const ScopedInputCaster full_precision(nullptr);
  const Variable lengths = norms(weight);
  const Variable factors = F::cast(parameter(link, length_name()), lengths.dtype()) / lengths;
  return F::cast(F::cast(weight, lengths.dtype()) * factors, weight.dtype());
}

}  // namespace kusari::link_hooks
