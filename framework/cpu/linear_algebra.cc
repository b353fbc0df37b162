#include "kusari/framework/kernels/linear_algebra.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/SVD>

#include "kusari/framework/cpu/matrices.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

using Vector = Eigen::VectorXd;

/// Runs body(from, to, i) for each matrix of a, with y's or y's element in float64.
template <class Body>
void map_matrices(const Array& a, const Array& y, const Body& body) {
  if (y.size() == 0) return;  // of however many matrices
  const Matrices from(a);
  const MatrixResult result(y);
  for_each_matrix(from.count, from.rows * from.rows * from.rows,
                  [&](int64_t i) { body(from, result.array().data<double>(), i); });
  result.finish();
}

void cholesky(Params<kernels::MatrixCall> call, In a, Out y) {
  map_matrices(*a, *y, [&](const Matrices& from, double* to, int64_t i) {
    const Eigen::LLT<Matrix, Eigen::Lower> solver(from.at(i));
    const Matrix lower = solver.matrixL();
    // The decomposition stops at a pivot that is not positive, but does not see a NaN.
    if (solver.info() != Eigen::Success || !lower.diagonal().allFinite()) {
      throw_bad_matrix(call->call, "not positive definite", i, from.count);
    }
    MatrixMap(to + i * lower.size(), lower.rows(), lower.cols()) = lower;
  });
}

void inverse(Params<kernels::MatrixCall> call, In a, Out y) {
  map_matrices(*a, *y, [&](const Matrices& from, double* to, int64_t i) {
    const LuDecomposition lu(from.at(i));
    if (lu.is_singular()) throw_bad_matrix(call->call, "singular", i, from.count);
    MatrixMap(to + i * from.rows * from.rows, from.rows, from.rows) = lu.inverse();
  });
}

void determinant(In a, Out y) {
  map_matrices(*a, *y, [](const Matrices& from, double* to, int64_t i) {
    to[i] = from.rows == 0 ? 1 : LuDecomposition(from.at(i)).determinant();
  });
}

/// A decomposition that serves derivatives of the determinant: the inverse where it is safe, else singular values.
class DeterminantDerivatives {
 public:
  explicit DeterminantDerivatives(const MatrixMap& a) : a_{a}, lu_{a} {
    const Vector pivots = lu_.pivots().cwiseAbs();
    // A small pivot may be rounding alone, and the inverse made from it has no digit that is right.
    const double limit = std::sqrt(std::numeric_limits<double>::epsilon()) * pivots.maxCoeff();
    is_safe_ = pivots.minCoeff() > limit || !a.allFinite();
  }

  Matrix cofactors() const {
    if (is_safe_) return lu_.determinant() * lu_.inverse().transpose();
    const Svd svd(a_, Eigen::ComputeFullU | Eigen::ComputeFullV);
    const Vector& s = svd.singularValues();
    Vector others(s.size());
    for (Eigen::Index i = 0; i < s.size(); ++i) others[i] = product_without(s, i, i);
    return sign(svd) * svd.matrixU() * others.asDiagonal() * svd.matrixV().transpose();
  }

  /// With a = U S V^T, cofactors(a) = det(U V) U cofactors(S) V^T, and a change D of S changes the cofactor (i, i) of a
  /// diagonal S by D[j][j] and (i, j) by -D[j][i], times the product of the other values.
  Matrix second(const MatrixMap& g) const {
    if (is_safe_) {
      const Matrix inverse = lu_.inverse(), turned = inverse.transpose();
      const double det = lu_.determinant();
      return det * (turned * (g.cwiseProduct(turned)).sum() - turned * g.transpose() * turned);
    }
    const Svd svd(a_, Eigen::ComputeFullU | Eigen::ComputeFullV);
    const Vector& s = svd.singularValues();
    const Matrix h = svd.matrixU().transpose() * g * svd.matrixV();
    Matrix d = Matrix::Zero(h.rows(), h.cols());
    for (Eigen::Index i = 0; i < s.size(); ++i) {
      for (Eigen::Index j = 0; j < s.size(); ++j) {
        if (i == j) continue;
        const double others = product_without(s, i, j);
        d(i, i) += others * h(j, j);
        d(i, j) -= others * h(j, i);
      }
    }
    return sign(svd) * svd.matrixU() * d * svd.matrixV().transpose();
  }

 private:
  using Svd = Eigen::JacobiSVD<Matrix, Eigen::NoQRPreconditioner>;  // which square matrices do not need

  static double product_without(const Vector& s, Eigen::Index i, Eigen::Index j) {
    double product = 1;
    for (Eigen::Index k = 0; k < s.size(); ++k) product *= k == i || k == j ? 1.0 : s[k];
    return product;
  }
  static double sign(const Svd& svd) {
    return svd.matrixU().determinant() * svd.matrixV().determinant() < 0 ? -1.0 : 1.0;
  }

  Matrix a_;
  LuDecomposition lu_;
  bool is_safe_;
};

void cofactors(In a, Out y) {
  map_matrices(*a, *y, [](const Matrices& from, double* to, int64_t i) {
    MatrixMap(to + i * from.rows * from.rows, from.rows, from.rows) = DeterminantDerivatives(from.at(i)).cofactors();
  });
}

void cofactors_grad(In a, In g, Out y) {
  const Matrices weights(*g);
  map_matrices(*a, *y, [&](const Matrices& from, double* to, int64_t i) {
    const DeterminantDerivatives derivatives(from.at(i));
    MatrixMap(to + i * from.rows * from.rows, from.rows, from.rows) = derivatives.second(weights.at(i));
  });
}

}  // namespace

LuDecomposition::LuDecomposition(const MatrixMap& a) : lu_{a} {}
Matrix LuDecomposition::inverse() const { return lu_.inverse(); }
Matrix LuDecomposition::solve(const MatrixMap& b) const { return lu_.solve(b); }

void register_linear_algebra(Backend& backend) {
  backend.add<kernels::Cholesky>(&cholesky);
  backend.add<kernels::Inverse>(&inverse);
  backend.add<kernels::Determinant>(&determinant);
  backend.add<kernels::Cofactors>(&cofactors);
  backend.add<kernels::CofactorsGrad>(&cofactors_grad);
}

}  // namespace kusari::cpu
