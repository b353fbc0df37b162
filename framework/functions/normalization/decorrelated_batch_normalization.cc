#include "kusari/framework/functions/normalization/decorrelated_batch_normalization.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/input_check.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/kernels/symmetric_eigen.h"

namespace kusari::functions {
namespace {

/// Eigenvalues (..., n) and eigenvectors (..., n, n) of symmetric matrices; no graph.
struct Eigen {
  explicit Eigen(const Array& a)
      : values{empty(Shape(a.shape().begin(), a.shape().end() - 1), a.dtype(), a.device())}, vectors{empty_like(a)} {
    launch<kernels::SymmetricEigen>(a.device(), a, values, vectors);
  }
  /// vectors (m * vectors^T q vectors) vectors^T, elementwise in m.
  Variable conjugate(const Variable& q, const Variable& m) const {
    const Variable inner = matmul(matmul(vectors, q, {.transa = true}), vectors);
    return matmul(matmul(vectors, m * inner), vectors, {.transb = true});
  }

  Array values, vectors;
};

/// s[i] + s[j] for vectors s: (..., n).
Variable sums_of_pairs(const Variable& s) { return expand_dims(s, -1) + expand_dims(s, -2); }

// The X with S X + X S = Q. S: (..., n, n), symmetric and positive; Q: the same shape.
class Lyapunov final : public FunctionNode {
 public:
  const char* name() const override { return "lyapunov"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    retain_outputs({0});
    const auto guard = no_backprop_mode();
    const Eigen eigen(in[0]);
    return {eigen.conjugate(in[1], 1 / sums_of_pairs(eigen.values)).array()};
  }

  // S dX + dX S = dQ - dS X - X dS, and the solution is self-adjoint in its right side.
  Variables backward(const Variables& gx) override {
    const Variable S = retained_input(0), X = retained_output(0);
    const Variable gq = apply<Lyapunov>({S, gx[0]});
    return {-(matmul(gq, X, {.transb = true}) + matmul(X, gq, {.transa = true})), gq};
  }
};

// W = A^(-1/2). A: (..., n, n), symmetric and positive.
class InverseSquareRoot final : public FunctionNode {
 public:
  const char* name() const override { return "inverse_square_root"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    retain_outputs({0});
    const auto guard = no_backprop_mode();
    const Eigen eigen(in[0]);
    const Variable scaled = eigen.vectors * expand_dims(rsqrt(eigen.values), -2);
    return {matmul(scaled, eigen.vectors, {.transb = true}).array()};
  }

  // With S = A^(1/2): dA = dS S + S dS and dW = -W dS W.
  Variables backward(const Variables& gw) override {
    const Variable A = retained_input(0), W = retained_output(0);
    return {-apply<Lyapunov>({matmul(A, W), matmul(matmul(W, gw[0]), W)})};
  }
};

/// How x is seen: (groups, channels of a group, everything else).
class Grouped {
 public:
  Grouped(const char* call, const Variable& x, int64_t groups) {
    const InputCheck c(call, {&x});
    const auto [x_] = c.args("x");
    c.expect(x_.is_floating(), x_.ndim() >= 2);
    shape_ = x.shape();
    const int64_t channels = shape_[1];
    if (groups < 1 || channels % groups != 0) {
      throw ValueError(std::string("F::") + call + ": groups is " + std::to_string(groups) + " but x has shape " +
                       to_string(shape_) + ": groups must divide x.shape[1]");
    }
    for (int i = 0; i < shape_.ndim(); ++i) order_.push_back(i);
    std::swap(order_[0], order_[1]);
    size_ = channels / groups;
    grouped_ = {groups, size_, channels == 0 ? 0 : x.size() / channels};
  }
  Variable group(const Variable& x) const { return reshape(transpose(x, axes()), grouped_); }
  Variable ungroup(const Variable& y) const {
    Shape transposed = shape_;
    std::swap(transposed[0], transposed[1]);
    return transpose(reshape(y, transposed), axes());
  }
  int64_t groups() const noexcept { return grouped_[0]; }
  int64_t group_size() const noexcept { return size_; }
  int64_t count() const noexcept { return grouped_[2]; }

 private:
  std::span<const int64_t> axes() const { return {order_.begin(), order_.size()}; }  // its own inverse

  Shape shape_, grouped_;
  Dims order_;
  int64_t size_ = 0;
};

void check_running(const char* name, const Array& running, const Shape& shape) {
  if (!running.is_defined() || running.shape() == shape) return;
  throw ValueError(std::string("F::decorrelated_batch_normalization: ") + name + " has shape " +
                   to_string(running.shape()) + ": it must be " + to_string(shape));
}

void update_running(const Array& running, const Array& value, double decay) {
  if (!running.is_defined()) return;
  const Dtype dtype = value.dtype();
  running.copy_from((cast(running, dtype) * decay + Variable(value, false) * (1 - decay)).array());
}

Variable identity_matrix(int64_t n, Dtype dtype, const Device& device) {
  const Array eye = zeros({n, n}, dtype, device);
  eye.as_strided({n}, {n + 1}).fill(1);
  return Variable(eye, false);
}

}  // namespace

Variable decorrelated_batch_normalization(const Variable& x, const DecorrelatedBatchNormalizationOptions& options) {
  if (const CompositeInputs in("decorrelated_batch_normalization", {x}); in.is_cast())
    return decorrelated_batch_normalization(in[0], options);
  if (!(options.eps >= 0)) {
    throw ValueError("F::decorrelated_batch_normalization: eps is " + general_text(options.eps) +
                     ": it must be at least 0");
  }
  const Grouped grouped("decorrelated_batch_normalization", x, options.groups);
  const int64_t n = grouped.group_size(), m = grouped.count();
  check_running("running_mean", options.running_mean, {grouped.groups(), n});
  check_running("running_projection", options.running_projection, {grouped.groups(), n, n});

  const Dtype dtype = promote(x.dtype(), Dtype::float32);
  const Variable groups = grouped.group(cast(x, dtype)), mean = average(groups, 2, Variable(), true);
  const Variable centred = groups - mean;
  const Variable cov = matmul(centred, centred, {.transb = true}) / static_cast<double>(m) +
                       identity_matrix(n, dtype, x.device()) * options.eps;
  const Variable projection = apply<InverseSquareRoot>({cov});
  if (m > 0 && !config().in_recomputing) {  // of nothing there are no statistics
    const auto guard = no_backprop_mode();
    const double unbiased = static_cast<double>(m) / static_cast<double>(std::max<int64_t>(m - 1, 1));
    update_running(options.running_mean, mean.array().squeeze(2), options.decay);
    update_running(options.running_projection, (projection * unbiased).array(), options.decay);
  }
  return cast(grouped.ungroup(matmul(projection, centred)), x.dtype());
}

Variable fixed_decorrelated_batch_normalization(const Variable& x, const Variable& mean, const Variable& projection,
                                                int64_t groups) {
  constexpr const char* kCall = "fixed_decorrelated_batch_normalization";
  if (const CompositeInputs in(kCall, {x, mean, projection}); in.is_cast())
    return fixed_decorrelated_batch_normalization(in[0], in[1], in[2], groups);
  const Grouped grouped(kCall, x, groups);
  const InputCheck c(kCall, {&x, &mean, &projection});
  const auto [x_, mean_, projection_] = c.args("x", "mean", "projection");
  const int64_t n = grouped.group_size();
  c.expect(mean_.dtype() == x_.dtype(), projection_.dtype() == x_.dtype(), mean_.ndim() == 2, mean_.shape(0) == groups,
           mean_.shape(1) == n, projection_.ndim() == 3, projection_.shape(0) == groups, projection_.shape(1) == n,
           projection_.shape(2) == n);
  return grouped.ungroup(matmul(projection, grouped.group(x) - expand_dims(mean, 2)));
}

}  // namespace kusari::functions
