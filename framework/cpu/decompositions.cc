#include "kusari/framework/kernels/decompositions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

template <class T>
using RowMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using ColumnMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

/// The matrices in the last two axes of an array.
struct Matrices {
  Array array;  // C-ordered
  int64_t count = 1, rows, columns;

  Matrices(const Array& a, Dtype dtype) : array{a.astype(dtype).contiguous()} {
    rows = a.shape()[a.ndim() - 2];
    columns = a.shape()[a.ndim() - 1];
    for (int i = 0; i < a.ndim() - 2; ++i) count *= a.shape()[i];
  }
  template <class T>
  Eigen::Map<RowMatrix<T>> at(int64_t i) const {
    return {array.data<T>() + i * rows * columns, rows, columns};
  }
};

template <class T>
bool all_finite(const Matrices& matrices, int64_t i) {
  return matrices.rows == 0 || matrices.columns == 0 || matrices.at<T>(i).allFinite();
}
template <class M>
void set_identity(M& matrix) {
  if (matrix.size() > 0) matrix.setIdentity();
}

/// A result in the dtype of the computation, which goes to its array at the end.
class MatrixResult {
 public:
  MatrixResult(const Array& to, Dtype dtype)
      : to_{to}, array_{to.dtype() == dtype && to.is_contiguous() ? to : empty(to.shape(), dtype)} {}
  void finish() const {
    if (!array_.is_same(to_)) to_.copy_from(array_);
  }
  const Array& array() const { return array_; }

 private:
  Array to_, array_;
};

/// Runs body(i) for each of `count` matrices of so much work and throws what the first one to fail throws.
template <class Body>
void for_each_matrix(int64_t count, int64_t work, const Body& body) {
  parallel_for(count, std::max<int64_t>(1, kThreadChunk / std::max<int64_t>(1, work)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

/// Calls body<T>(dtype) with T double for float64 and float for the rest.
template <class Body>
void in_precision_of(Dtype dtype, const Body& body) {
  if (dtype == Dtype::float64) {
    body.template operator()<double>(Dtype::float64);
  } else {
    body.template operator()<float>(Dtype::float32);
  }
}

// What follows goes through no empty matrices, however many or however wide they are.

void qr_decomposition(In a, Out q, Out r) {
  if (q->size() == 0 && r->size() == 0) return;
  in_precision_of(a->dtype(), [&]<class T>(Dtype dtype) {
    const Matrices from(*a, dtype);
    const MatrixResult to_q(*q, dtype), to_r(*r, dtype);
    const Matrices qs(to_q.array(), dtype), rs(to_r.array(), dtype);
    for_each_matrix(from.count, from.rows * from.columns * from.columns, [&](int64_t i) {
      auto qi = qs.at<T>(i);
      auto ri = rs.at<T>(i);
      if (!all_finite<T>(from, i)) {
        qi.setConstant(std::numeric_limits<T>::quiet_NaN());
        ri.setConstant(std::numeric_limits<T>::quiet_NaN());
        return;
      }
      set_identity(qi);
      if (ri.size() > 0) ri.setZero();
      if (from.rows == 0 || from.columns == 0) return;
      const Eigen::HouseholderQR<ColumnMatrix<T>> solver(from.at<T>(i));
      qi = solver.householderQ() * ColumnMatrix<T>::Identity(qs.rows, qs.columns);
      const int64_t k = std::min(from.rows, from.columns);
      ri.topRows(k) = solver.matrixQR().topRows(k).template triangularView<Eigen::Upper>();
    });
    to_q.finish();
    to_r.finish();
  });
}

/// In float64 for all dtypes: results of float32 are right to their last digits, and Eigen's code, which takes long to
/// compile, is there once.
void singular_value_decomposition(In a, Out u, Out s, Out vt) {
  if (s->size() == 0 && (!u || u->size() == 0) && (!vt || vt->size() == 0)) return;
  using T = double;
  constexpr Dtype kDtype = Dtype::float64;
  const Matrices from(*a, kDtype);
  const bool wants_vectors = static_cast<bool>(u);
  const MatrixResult to_s(*s, kDtype), to_u(wants_vectors ? *u : *s, kDtype), to_vt(wants_vectors ? *vt : *s, kDtype);
  const int64_t k = std::min(from.rows, from.columns);
  const bool is_full = wants_vectors && (u->shape(-1) != k || vt->shape(-2) != k);
  const unsigned wanted = !wants_vectors ? 0
                          : is_full      ? Eigen::ComputeFullU | Eigen::ComputeFullV
                                         : Eigen::ComputeThinU | Eigen::ComputeThinV;
  for_each_matrix(from.count, from.rows * from.columns * k * 10, [&](int64_t i) {
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>> si(to_s.array().data<T>() + i * k, k);
    const bool is_finite = all_finite<T>(from, i);
    if (!is_finite) si.setConstant(std::numeric_limits<T>::quiet_NaN());
    if (!wants_vectors && (!is_finite || k == 0)) return;
    if (is_finite && k > 0) {
      const Eigen::BDCSVD<ColumnMatrix<T>> solver(from.at<T>(i), wanted);
      si = solver.singularValues();
      if (!wants_vectors) return;
      Matrices(to_u.array(), kDtype).at<T>(i) = solver.matrixU();
      Matrices(to_vt.array(), kDtype).at<T>(i) = solver.matrixV().transpose();
      return;
    }
    auto ui = Matrices(to_u.array(), kDtype).at<T>(i);
    auto vi = Matrices(to_vt.array(), kDtype).at<T>(i);
    set_identity(ui);
    set_identity(vi);
    if (!is_finite) {
      ui.setConstant(std::numeric_limits<T>::quiet_NaN());
      vi.setConstant(std::numeric_limits<T>::quiet_NaN());
    }
  });
  to_s.finish();
  if (!wants_vectors) return;
  to_u.finish();
  to_vt.finish();
}

void solve_linear(Params<kernels::MatrixCall> call, In a, In b, Out x) {
  if (x->size() == 0) return;
  in_precision_of(a->dtype(), [&]<class T>(Dtype dtype) {
    const Matrices left(*a, dtype), right(*b, dtype);
    const MatrixResult to(*x, dtype);
    const Matrices results(to.array(), dtype);
    for_each_matrix(left.count, left.rows * left.rows * (left.rows + right.columns), [&](int64_t i) {
      if (left.rows == 0) return;
      const Eigen::PartialPivLU<ColumnMatrix<T>> solver(left.at<T>(i));
      if ((solver.matrixLU().diagonal().array() == T(0)).any()) {
        throw ValueError(std::string(call->call) + ": " +
                         (left.count == 1 ? "a" : "matrix " + std::to_string(i) + " of a") + " is singular");
      }
      results.at<T>(i) = solver.solve(right.at<T>(i));
    });
    to.finish();
  });
}

void log_determinant(In a, Out sign, Out log) {
  in_precision_of(a->dtype(), [&]<class T>(Dtype dtype) {
    const Matrices from(*a, dtype);
    const MatrixResult to_sign(*sign, dtype), to_log(*log, dtype);
    for_each_matrix(from.count, from.rows * from.rows * from.rows, [&](int64_t i) {
      T s = 1, l = 0;
      if (from.rows > 0) {
        const Eigen::PartialPivLU<ColumnMatrix<T>> solver(from.at<T>(i));
        s = static_cast<T>(solver.permutationP().determinant());
        for (int64_t j = 0; j < from.rows; ++j) {
          const T pivot = solver.matrixLU()(j, j);
          s = pivot == 0 ? 0 : pivot < 0 ? -s : s;
          l += std::log(std::abs(pivot));
        }
        if (std::isnan(l)) s = l;
      }
      to_sign.array().data<T>()[i] = s;
      to_log.array().data<T>()[i] = l;
    });
    to_sign.finish();
    to_log.finish();
  });
}

}  // namespace

void register_decompositions(Backend& backend) {
  backend.add<kernels::QrDecomposition>(&qr_decomposition);
  backend.add<kernels::SingularValueDecomposition>(&singular_value_decomposition);
  backend.add<kernels::SolveLinear>(&solve_linear);
  backend.add<kernels::LogDeterminant>(&log_determinant);
}

}  // namespace kusari::cpu
