#include "kusari/framework/xp/linear_algebra.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/cholesky.h"
#include "kusari/framework/functions/math/det.h"
#include "kusari/framework/functions/math/eigh.h"
#include "kusari/framework/functions/math/einsum.h"
#include "kusari/framework/functions/math/inv.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/slogdet.h"
#include "kusari/framework/functions/math/solve.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/decompositions.h"
#include "kusari/framework/xp/counting.h"
#include "kusari/framework/xp/creation.h"
#include "kusari/framework/xp/without_graph.h"

namespace kusari::xp {
namespace {

/// `shape` with its last `dropped` axes replaced.
Shape with_last(const Shape& shape, int dropped, std::initializer_list<int64_t> last) {
  Shape result;
  for (int i = 0; i < shape.ndim() - dropped; ++i) result.push_back(shape[i]);
  for (const int64_t n : last) result.push_back(n);
  return result;
}

/// a, which must have matrices, in a floating dtype.
Array matrices(const char* call, const char* name, const Array& a) {
  expect_array(call, name, a);
  if (a.ndim() < 2) {
    throw TypeError(std::string(call) + ": " + name + " has shape " + to_string(a.shape()) +
                    ": it must have two axes at least");
  }
  return a.astype(promote(a.dtype(), 0.5));
}
Array square_matrices(const char* call, const Array& a) {
  const Array x = matrices(call, "a", a);
  if (x.shape(-1) != x.shape(-2)) {
    throw TypeError(std::string(call) + ": a has shape " + to_string(a.shape()) + ": its last two sizes must be equal");
  }
  return x;
}

Array transposed(const Array& a) { return a.swapaxes(-1, -2); }

double epsilon(Dtype dtype) {
  return dtype == Dtype::float64 ? std::numeric_limits<double>::epsilon()
                                 : static_cast<double>(std::numeric_limits<float>::epsilon());
}

/// 1 / s, or 0 for singular values that count as 0; (..., k).
Array inverse_or_zero(const char* call, const Array& a, const Array& s, const RankOptions& options) {
  const double rcond = options.rcond
                           ? argument::not_negative(call, "rcond", argument::not_nan(call, "rcond", *options.rcond))
                           : epsilon(a.dtype()) * static_cast<double>(std::max(a.shape(-1), a.shape(-2)));
  if (s.size() == 0) return s;
  const Array limit = max(s, -1, true) * rcond, counts = s > limit;
  return where(counts, 1 / where(counts, s, 1), 0);
}

}  // namespace

Array matmul(const Array& a, const Array& b) {
  expect_array("xp::matmul", "a", a);
  expect_array("xp::matmul", "b", b);
  return without_graph("xp::matmul", [&] { return functions::matmul(a, b).array(); });
}

Array einsum(std::string_view subscripts, std::span<const Array> operands) {
  for (const Array& x : operands) expect_array("xp::einsum", "operands", x);
  Dtype dtype = operands.empty() ? Dtype::float32 : operands[0].dtype();
  for (const Array& x : operands) dtype = promote(dtype, x.dtype());
  const Dtype work = is_integral(dtype) ? Dtype::float64 : dtype;  // exact up to 2^53
  std::vector<Variable> xs;
  for (const Array& x : operands) xs.emplace_back(x.astype(work), false);
  return without_graph(
      "xp::einsum", [&] { return functions::einsum(subscripts, std::span<const Variable>(xs)).array().astype(dtype); });
}

Array outer(const Array& a, const Array& b) {
  expect_array("xp::outer", "a", a);
  expect_array("xp::outer", "b", b);
  return a.reshape({a.size(), 1}) * b.reshape({1, b.size()});
}

Array inv(const Array& a) {
  const Array x = square_matrices("xp::inv", a);
  return without_graph("xp::inv", [&] { return functions::inv(x).array(); });
}
Array det(const Array& a) {
  const Array x = square_matrices("xp::det", a);
  return without_graph("xp::det", [&] { return functions::det(x).array(); });
}
SignedLog slogdet(const Array& a) {
  const Array x = square_matrices("xp::slogdet", a);
  return without_graph("xp::slogdet", [&] {
    const functions::SignedLog y = functions::slogdet(x);
    return SignedLog{y.sign.array(), y.log.array()};
  });
}
Array cholesky(const Array& a) {
  const Array x = square_matrices("xp::cholesky", a);
  return without_graph("xp::cholesky", [&] { return functions::cholesky(x).array(); });
}

Array solve(const Array& a, const Array& b) {
  const Array left = square_matrices("xp::solve", a);
  expect_array("xp::solve", "b", b);
  const Dtype dtype = promote(left.dtype(), promote(b.dtype(), 0.5));
  return without_graph("xp::solve", [&] { return functions::solve(left.astype(dtype), b.astype(dtype)).array(); });
}

QrFactors qr(const Array& a, const QrOptions& options) {
  const Array x = matrices("xp::qr", "a", a);
  const int64_t m = x.shape(-2), n = x.shape(-1), k = options.complete ? m : std::min(m, n);
  const Array q = empty(with_last(x.shape(), 2, {m, k}), x.dtype(), x.device());
  const Array r = empty(with_last(x.shape(), 2, {k, n}), x.dtype(), x.device());
  launch_for<kernels::QrDecomposition>("xp::qr", x.device(), x, q, r);
  return {q, r};
}

SingularFactors svd(const Array& a, const SvdOptions& options) {
  const Array x = matrices("xp::svd", "a", a);
  const int64_t m = x.shape(-2), n = x.shape(-1), k = std::min(m, n);
  const Array u = empty(with_last(x.shape(), 2, {m, options.full_matrices ? m : k}), x.dtype(), x.device());
  const Array vt = empty(with_last(x.shape(), 2, {options.full_matrices ? n : k, n}), x.dtype(), x.device());
  const Array s = empty(with_last(x.shape(), 2, {k}), x.dtype(), x.device());
  launch_for<kernels::SingularValueDecomposition>("xp::svd", x.device(), x, u, s, vt);
  return {u, s, vt};
}
Array svdvals(const Array& a) {
  const Array x = matrices("xp::svdvals", "a", a);
  const Array s = empty(with_last(x.shape(), 2, {std::min(x.shape(-1), x.shape(-2))}), x.dtype(), x.device());
  launch_for<kernels::SingularValueDecomposition>("xp::svdvals", x.device(), x, Array(), s, Array());
  return s;
}

EigenFactors eigh(const Array& a) {
  const Array x = square_matrices("xp::eigh", a);
  return without_graph("xp::eigh", [&] {
    const functions::EigenFactors y = functions::eigh(x);
    return EigenFactors{y.values.array(), y.vectors.array()};
  });
}
Array eigvalsh(const Array& a) { return eigh(square_matrices("xp::eigvalsh", a)).values; }

Array pinv(const Array& a, const RankOptions& options) {
  const Array x = matrices("xp::pinv", "a", a);
  const SingularFactors parts = svd(x, {.full_matrices = false});
  const Array inverse = inverse_or_zero("xp::pinv", x, parts.s, options);
  return matmul(transposed(parts.vt) * inverse.expand_dims(-2), transposed(parts.u));
}
Array matrix_rank(const Array& a, const RankOptions& options) {
  const Array x = matrices("xp::matrix_rank", "a", a);
  return count_nonzero(inverse_or_zero("xp::matrix_rank", x, svdvals(x), options), -1);
}

LeastSquares lstsq(const Array& a, const Array& b, const RankOptions& options) {
  constexpr const char* kCall = "xp::lstsq";
  const Array left = matrices(kCall, "a", a);
  expect_array(kCall, "b", b);
  const bool is_vector = b.ndim() == 1;
  const Array right = matrices(kCall, "b", is_vector ? b.reshape({b.size(), 1}) : b);
  if (left.ndim() != 2 || right.ndim() != 2 || left.shape(0) != right.shape(0)) {
    throw TypeError(std::string(kCall) + ": a has shape " + to_string(a.shape()) + " and b has shape " +
                    to_string(b.shape()) + ": they must be (m, n) and (m) or (m, k)");
  }
  const Dtype dtype = promote(left.dtype(), right.dtype());
  const Array x = left.astype(dtype), y = right.astype(dtype);
  const SingularFactors parts = svd(x, {.full_matrices = false});
  const Array inverse = inverse_or_zero(kCall, x, parts.s, options);
  const Array solution = matmul(transposed(parts.vt) * inverse.expand_dims(-2), matmul(transposed(parts.u), y));
  const auto rank = count_nonzero(inverse).item<int64_t>();
  const bool has_residuals = rank == x.shape(1) && x.shape(0) > x.shape(1);
  const Array residuals = has_residuals ? sum(square(y - matmul(x, solution)), 0) : empty({0}, dtype, x.device());
  return {is_vector ? solution.squeeze(-1) : solution, residuals, rank, parts.s};
}

Array matrix_power(const Array& a, int64_t n) {
  constexpr const char* kCall = "xp::matrix_power";
  expect_array(kCall, "a", a);
  if (a.ndim() < 2 || a.shape(-1) != a.shape(-2)) square_matrices(kCall, a);
  Array base = n < 0 ? inv(a) : a;
  auto left = n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
  Array result = identity(base.shape(-1), {.dtype = base.dtype(), .device = base.device()}).broadcast_to(base.shape());
  if (left == 0) return result.copy();
  bool is_first = true;
  for (; left > 0; left /= 2) {
    if (left % 2 == 1) {
      result = is_first ? base : matmul(result, base);
      is_first = false;
    }
    if (left > 1) base = matmul(base, base);
  }
  return result.is_same(a) ? result.copy() : result;
}

Array vector_norm(const Array& x, const VectorNormOptions& options) {
  constexpr const char* kCall = "xp::vector_norm";
  expect_array(kCall, "x", x);
  const double ord = argument::not_nan(kCall, "ord", options.ord);
  const Array sizes = abs(x.astype(promote(x.dtype(), 0.5)));
  const Axes& axis = options.axis;
  const bool keepdims = options.keepdims;
  axis.mask(x.ndim(), kCall);
  if (std::isinf(ord)) return ord > 0 ? max(sizes, axis, keepdims) : min(sizes, axis, keepdims);
  if (ord == 0) return sum((sizes != 0).astype(sizes.dtype()), axis, keepdims);
  if (ord == 1) return sum(sizes, axis, keepdims);
  if (ord == 2) return sqrt(sum(square(sizes), axis, keepdims));
  return pow(sum(pow(sizes, ord), axis, keepdims), 1 / ord);
}

Array matrix_norm(const Array& x, MatrixNorm norm) {
  const Array a = matrices("xp::matrix_norm", "x", x);
  switch (norm) {
    case MatrixNorm::frobenius:
      return vector_norm(a, {.axis = {-2, -1}});
    case MatrixNorm::nuclear:
      return sum(svdvals(a), -1);
    case MatrixNorm::spectral:
      return max(svdvals(a), -1);
    case MatrixNorm::smallest_singular:
      return min(svdvals(a), -1);
    case MatrixNorm::one:
      return max(sum(abs(a), -2), -1);
    case MatrixNorm::infinity:
      return max(sum(abs(a), -1), -1);
  }
  throw ValueError("xp::matrix_norm: norm is " + std::to_string(static_cast<int>(norm)) + ": there is no such norm");
}

}  // namespace kusari::xp
