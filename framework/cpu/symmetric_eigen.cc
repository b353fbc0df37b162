#include "kusari/framework/kernels/symmetric_eigen.h"

#include <cstdint>

#include <Eigen/Eigenvalues>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

template <class T>
void decompose(const Array& a, const Array& values, const Array& vectors) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const int64_t n = a.shape()[a.ndim() - 1], count = n == 0 ? 0 : a.size() / (n * n);
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Eigen::Map<const Matrix> from(a.data<T>() + i * n * n, n, n);
      Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>> to(values.data<T>() + i * n, n);
      Eigen::Map<Matrix> columns(vectors.data<T>() + i * n * n, n, n);
      if (!from.allFinite()) {
        to.setConstant(Eigen::NumTraits<T>::quiet_NaN());
        columns.setConstant(Eigen::NumTraits<T>::quiet_NaN());
        continue;
      }
      const Eigen::SelfAdjointEigenSolver<Matrix> solver(from);
      to = solver.eigenvalues();
      columns = solver.eigenvectors();
    }
  });
}

void symmetric_eigen(In a, Out values, Out vectors) {
  const Dtype dtype = a->dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  const Array from = a->astype(dtype).contiguous();
  const bool direct =
      values->dtype() == dtype && values->is_contiguous() && vectors->dtype() == dtype && vectors->is_contiguous();
  const Array to = direct ? *values : empty(values->shape(), dtype);
  const Array columns = direct ? *vectors : empty(vectors->shape(), dtype);
  (dtype == Dtype::float64 ? decompose<double> : decompose<float>)(from, to, columns);
  if (direct) return;
  values->copy_from(to);
  vectors->copy_from(columns);
}

}  // namespace

void register_symmetric_eigen(Backend& backend) { backend.add<kernels::SymmetricEigen>(&symmetric_eigen); }

}  // namespace kusari::cpu
