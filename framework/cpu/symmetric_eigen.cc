#include "kusari/framework/kernels/symmetric_eigen.h"

#include <cstdint>

#include <Eigen/Eigenvalues>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

void decompose(const Array& a, const Array& values, const Array& vectors) {
  const int64_t n = a.shape()[a.ndim() - 1], count = n == 0 ? 0 : a.size() / (n * n);
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Eigen::Map<const Matrix> from(a.data<double>() + i * n * n, n, n);
      Eigen::Map<Eigen::VectorXd> to(values.data<double>() + i * n, n);
      Eigen::Map<Matrix> columns(vectors.data<double>() + i * n * n, n, n);
      if (!from.allFinite()) {
        to.setConstant(Eigen::NumTraits<double>::quiet_NaN());
        columns.setConstant(Eigen::NumTraits<double>::quiet_NaN());
        continue;
      }
      const Eigen::SelfAdjointEigenSolver<Matrix> solver(from);
      to = solver.eigenvalues();
      columns = solver.eigenvectors();
    }
  });
}

/// In float64 for all dtypes, as decompositions.cc computes singular values.
void symmetric_eigen(In a, Out values, Out vectors) {
  const auto is_direct = [](const Array& out) { return out.dtype() == Dtype::float64 && out.is_contiguous(); };
  const Array to = is_direct(*values) ? *values : empty(values->shape(), Dtype::float64);
  const Array columns = is_direct(*vectors) ? *vectors : empty(vectors->shape(), Dtype::float64);
  decompose(a->astype(Dtype::float64).contiguous(), to, columns);
  if (!to.is_same(*values)) values->copy_from(to);
  if (!columns.is_same(*vectors)) vectors->copy_from(columns);
}

}  // namespace

void register_symmetric_eigen(Backend& backend) { backend.add<kernels::SymmetricEigen>(&symmetric_eigen); }

}  // namespace kusari::cpu
