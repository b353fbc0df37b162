#include "kusari/framework/kernels/linear_algebra.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/SVD>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
template <class T>
using ConstMap = Eigen::Map<const Matrix<T>>;
template <class T>
using Map = Eigen::Map<Matrix<T>>;

/// Runs body(i) for each of `count` n x n matrices and throws what the first one to fail throws.
template <class Body>
void for_matrices(int64_t count, int64_t n, const Body& body) {
  const int64_t work = std::max<int64_t>(1, n * n * n);
  parallel_for(count, std::max<int64_t>(1, kThreadChunk / work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

/// Runs body<T>(count, n, a, y) on C-ordered matrices of T.
template <class T, class Body>
void with_matrices_of(const Array& a, const Array& y, const Body& body) {
  if (y.size() == 0) return;  // of however many matrices
  const Array from = a.astype(dtype_of<T>).contiguous();
  const bool direct = y.dtype() == dtype_of<T> && y.is_contiguous();
  const Array to = direct ? y : empty(y.shape(), dtype_of<T>);
  const int64_t n = a.shape()[a.ndim() - 1];
  int64_t count = 1;
  for (int i = 0; i < a.ndim() - 2; ++i) count *= a.shape()[i];
  body.template operator()<T>(count, n, from, to);
  if (!direct) y.copy_from(to);
}

/// The same with T double for float64 and float for the rest.
template <class Body>
void with_matrices(const Array& a, const Array& y, const Body& body) {
  if (a.dtype() == Dtype::float64) {
    with_matrices_of<double>(a, y, body);
  } else {
    with_matrices_of<float>(a, y, body);
  }
}

[[noreturn]] void fail(const char* call, const char* what, int64_t i, int64_t count) {
  throw ValueError(std::string(call) + ": " + (count == 1 ? "a" : "matrix " + std::to_string(i) + " of a") + " is " +
                   what);
}

void cholesky(Params<kernels::MatrixCall> call, In a, Out y) {
  with_matrices(*a, *y, [&]<class T>(int64_t count, int64_t n, const Array& from, const Array& to) {
    for_matrices(count, n, [&](int64_t i) {
      const Eigen::LLT<Matrix<T>, Eigen::Lower> solver(ConstMap<T>(from.data<T>() + i * n * n, n, n));
      const Matrix<T> lower = solver.matrixL();
      // The decomposition stops at a pivot that is not positive, but does not see a NaN.
      if (solver.info() != Eigen::Success || !lower.diagonal().allFinite()) {
        fail(call->call, "not positive definite", i, count);
      }
      Map<T>(to.data<T>() + i * n * n, n, n) = lower;
    });
  });
}

void inverse(Params<kernels::MatrixCall> call, In a, Out y) {
  with_matrices(*a, *y, [&]<class T>(int64_t count, int64_t n, const Array& from, const Array& to) {
    for_matrices(count, n, [&](int64_t i) {
      if (n == 0) return;
      const Eigen::PartialPivLU<Matrix<T>> lu(ConstMap<T>(from.data<T>() + i * n * n, n, n));
      if ((lu.matrixLU().diagonal().array() == T{0}).any()) fail(call->call, "singular", i, count);
      Map<T>(to.data<T>() + i * n * n, n, n) = lu.inverse();
    });
  });
}

void determinant(In a, Out y) {
  with_matrices(*a, *y, []<class T>(int64_t count, int64_t n, const Array& from, const Array& to) {
    for_matrices(count, n, [&](int64_t i) {
      const ConstMap<T> matrix(from.data<T>() + i * n * n, n, n);
      to.data<T>()[i] = n == 0 ? T{1} : Eigen::PartialPivLU<Matrix<T>>(matrix).determinant();
    });
  });
}

/// A decomposition that serves derivatives of the determinant: the inverse where it is safe, else singular values.
/// In float64 for all dtypes: products of many singular values leave the range of float32 soon.
class DeterminantDerivatives {
  using T = double;

 public:
  explicit DeterminantDerivatives(const ConstMap<T>& a) : a_{a}, lu_{a} {
    const Vector<T> pivots = lu_.matrixLU().diagonal().cwiseAbs();
    // A small pivot may be rounding alone, and the inverse made from it has no digit that is right.
    const T limit = std::sqrt(std::numeric_limits<T>::epsilon()) * pivots.maxCoeff();
    is_safe_ = pivots.minCoeff() > limit || !a.allFinite();
  }

  Matrix<T> cofactors() const {
    if (is_safe_) return lu_.determinant() * lu_.inverse().transpose();
    const Svd svd(a_, Eigen::ComputeFullU | Eigen::ComputeFullV);
    const Vector<T>& s = svd.singularValues();
    Vector<T> others(s.size());
    for (Eigen::Index i = 0; i < s.size(); ++i) others[i] = product_without(s, i, i);
    return sign(svd) * svd.matrixU() * others.asDiagonal() * svd.matrixV().transpose();
  }

  /// With a = U S V^T, cofactors(a) = det(U V) U cofactors(S) V^T, and a change D of S changes the cofactor (i, i) of a
  /// diagonal S by D[j][j] and (i, j) by -D[j][i], times the product of the other values.
  Matrix<T> second(const ConstMap<T>& g) const {
    if (is_safe_) {
      const Matrix<T> inverse = lu_.inverse(), turned = inverse.transpose();
      const T det = lu_.determinant();
      return det * (turned * (g.cwiseProduct(turned)).sum() - turned * g.transpose() * turned);
    }
    const Svd svd(a_, Eigen::ComputeFullU | Eigen::ComputeFullV);
    const Vector<T>& s = svd.singularValues();
    const Matrix<T> h = svd.matrixU().transpose() * g * svd.matrixV();
    Matrix<T> d = Matrix<T>::Zero(h.rows(), h.cols());
    for (Eigen::Index i = 0; i < s.size(); ++i) {
      for (Eigen::Index j = 0; j < s.size(); ++j) {
        if (i == j) continue;
        const T others = product_without(s, i, j);
        d(i, i) += others * h(j, j);
        d(i, j) -= others * h(j, i);
      }
    }
    return sign(svd) * svd.matrixU() * d * svd.matrixV().transpose();
  }

 private:
  using Svd = Eigen::JacobiSVD<Matrix<T>, Eigen::NoQRPreconditioner>;  // which square matrices do not need

  static T product_without(const Vector<T>& s, Eigen::Index i, Eigen::Index j) {
    T product = 1;
    for (Eigen::Index k = 0; k < s.size(); ++k) product *= k == i || k == j ? T{1} : s[k];
    return product;
  }
  static T sign(const Svd& svd) { return svd.matrixU().determinant() * svd.matrixV().determinant() < 0 ? T{-1} : T{1}; }

  Matrix<T> a_;
  Eigen::PartialPivLU<Matrix<T>> lu_;
  bool is_safe_;
};

void cofactors(In a, Out y) {
  with_matrices_of<double>(*a, *y, []<class T>(int64_t count, int64_t n, const Array& from, const Array& to) {
    for_matrices(count, n, [&](int64_t i) {
      if (n == 0) return;
      const DeterminantDerivatives derivatives(ConstMap<T>(from.data<T>() + i * n * n, n, n));
      Map<T>(to.data<T>() + i * n * n, n, n) = derivatives.cofactors();
    });
  });
}

void cofactors_grad(In a, In g, Out y) {
  with_matrices_of<double>(*a, *y, [&]<class T>(int64_t count, int64_t n, const Array& from, const Array& to) {
    const Array weights = g->astype(from.dtype()).contiguous();
    for_matrices(count, n, [&](int64_t i) {
      if (n == 0) return;
      const DeterminantDerivatives derivatives(ConstMap<T>(from.data<T>() + i * n * n, n, n));
      Map<T>(to.data<T>() + i * n * n, n, n) = derivatives.second(ConstMap<T>(weights.data<T>() + i * n * n, n, n));
    });
  });
}

}  // namespace

void register_linear_algebra(Backend& backend) {
  backend.add<kernels::Cholesky>(&cholesky);
  backend.add<kernels::Inverse>(&inverse);
  backend.add<kernels::Determinant>(&determinant);
  backend.add<kernels::Cofactors>(&cofactors);
  backend.add<kernels::CofactorsGrad>(&cofactors_grad);
}

}  // namespace kusari::cpu
