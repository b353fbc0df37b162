#include "kusari/framework/links/link_hooks/spectral_normalization.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/random_replay.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/kernels/symmetric_eigen.h"
#include "kusari/framework/links/connection/deconvolution_nd.h"
#include "kusari/framework/links/link_walk.h"

namespace kusari::link_hooks {

namespace F = functions;
using detail::LinkMember;
using detail::LinkWalk;
using detail::MemberKind;

namespace {

constexpr const char* kGamma = "gamma";

template <class T>
T& find(Link& link, const std::string& name, MemberKind kind) {
  T* found = nullptr;
  LinkWalk::members(link, [&](const LinkMember& member) {
    if (member.kind == kind && member.name == name) found = static_cast<T*>(LinkWalk::at(link, member));
  });
  if (found == nullptr) throw StateError("SpectralNormalization: the link has lost its '" + name + "'");
  return *found;
}

Array normalized(const Variable& x, double eps) { return (x / (F::sqrt(F::sum(x * x)) + eps)).array(); }

double largest_singular_value(const Array& matrix) {
  const Array m = matrix.to_device(Device()).astype(Dtype::float64);
  const bool is_wide = m.shape(0) < m.shape(1);
  const Array gram = F::matmul(m, m, {.transa = !is_wide, .transb = is_wide}).array();
  const int64_t n = gram.shape(0);
  const Array squares = empty({n}, Dtype::float64), vectors = empty({n, n}, Dtype::float64);
  launch<kernels::SymmetricEigen>(gram.device(), gram, squares, vectors);
  return std::sqrt(std::max(squares.to_vector<double>().back(), 0.0));
}

}  // namespace

SpectralNormalization::SpectralNormalization(SpectralNormalizationOptions options)
    : WeightHook(options.weight_name), options_{std::move(options)} {
  if (options_.n_power_iteration < 1) {
    throw ValueError("SpectralNormalization: n_power_iteration is " + std::to_string(options_.n_power_iteration) +
                     " but must be at least 1");
  }
}

void SpectralNormalization::added(Link* link) {
  WeightHook::added(link);
  axis_ = dynamic_cast<links::DeconvolutionND*>(link) != nullptr ? 1 : 0;
  const Parameter& parameter = weight(*link);
  if (parameter.is_initialized()) check(parameter.shape());
  link->add_persistent(vector_name(), Array());
  try {
    if (options_.use_gamma) link->add_param(kGamma, Parameter(Shape{kInferShape}, 1.0));
  } catch (...) {
    link->remove_member(vector_name());
    throw;
  }
  if (parameter.is_initialized()) prepare(*link, parameter.array());
}

void SpectralNormalization::deleted(Link* link) {
  link->remove_member(vector_name());
  if (options_.use_gamma) link->remove_member(kGamma);
}

void SpectralNormalization::check(const Shape& shape) const {
  if (axis_ < shape.ndim() && numel(shape) > 0) return;
  throw ValueError("SpectralNormalization: '" + weight_name() + "' has shape " + to_string(shape) +
                   " but must have elements and an axis " + std::to_string(axis_));
}

void SpectralNormalization::prepare(Link& link, const Array& weight) const {
  Array& u = find<Array>(link, vector_name(), MemberKind::persistent);
  const bool needs_gamma = options_.use_gamma && !find<Parameter>(link, kGamma, MemberKind::parameter).is_initialized();
  if (u.is_defined() && !needs_gamma) return;
  check(weight.shape());
  const ScopedGraphCapture nothing(nullptr);
  if (!u.is_defined()) {
    const random::UnrecordedDraws once;
    u = initializers::generate_array(initializers::Normal(1, weight.dtype()), {weight.shape(axis_)}, weight.dtype(),
                                     weight.device());
  }
  if (!needs_gamma) return;
  const auto guard = no_backprop_mode();
  const ScopedInputCaster full_precision(nullptr);
  auto& gamma = find<Parameter>(link, kGamma, MemberKind::parameter);
  gamma.to(weight.dtype());
  gamma.initialize({});
  gamma.array().fill(largest_singular_value(as_matrix(weight).array()));
}

Variable SpectralNormalization::as_matrix(const Variable& weight) const {
  const Variable rows = axis_ == 0 ? weight : F::moveaxis(weight, axis_, 0);
  return rows.ndim() == 2 ? rows : F::reshape(rows, {rows.shape(0), rows.size() / rows.shape(0)});
}

Variable SpectralNormalization::transformed(Link& link, const Variable& weight) {
  prepare(link, weight.array());
  const ScopedInputCaster full_precision(nullptr);
  const Dtype dtype = is_half(weight.dtype()) ? Dtype::float32 : weight.dtype();
  const Variable matrix = F::cast(as_matrix(weight), dtype);
  if (!config().in_recomputing || !u_.is_defined()) {
    const auto guard = no_backprop_mode();
    Array& stored = find<Array>(link, vector_name(), MemberKind::persistent);
    const Variable constant(matrix.array(), false);
    u_ = stored.astype(dtype);
    for (int64_t i = 0; i < options_.n_power_iteration; ++i) {
      v_ = normalized(F::matmul(u_, constant), options_.eps);
      u_ = normalized(F::matmul(constant, v_), options_.eps);
    }
    if (config().train && !config().in_recomputing) stored.copy_from(u_);
  }
  Variable sigma = F::matmul(F::matmul(u_, matrix), v_);
  if (options_.factor) sigma = sigma / *options_.factor;
  sigma = F::cast(sigma, weight.dtype());
  if (!options_.use_gamma) return weight / sigma;
  return find<Parameter>(link, kGamma, MemberKind::parameter) * weight / sigma;
}

}  // namespace kusari::link_hooks
