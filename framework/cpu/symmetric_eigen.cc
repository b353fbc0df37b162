#include "kusari/framework/kernels/symmetric_eigen.h"

#include <cstdint>
#include <limits>

#include <Eigen/Eigenvalues>

#include "kusari/framework/cpu/matrices.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

void symmetric_eigen(In a, Out values, Out vectors) {
  if (values->size() == 0) return;  // of however many matrices
  const Matrices from(*a);
  const MatrixResult to_values(*values), to_vectors(*vectors);
  const Matrices columns(to_vectors.array());
  for_each_matrix(from.count, 10 * from.rows * from.rows * from.rows, [&](int64_t i) {
    Eigen::Map<Eigen::VectorXd> to(to_values.array().data<double>() + i * from.rows, from.rows);
    if (!from.all_finite(i)) {
      to.setConstant(std::numeric_limits<double>::quiet_NaN());
      columns.at(i).setConstant(std::numeric_limits<double>::quiet_NaN());
      return;
    }
    const Eigen::SelfAdjointEigenSolver<Matrix> solver(from.at(i));
    to = solver.eigenvalues();
    columns.at(i) = solver.eigenvectors();
  });
  to_values.finish();
  to_vectors.finish();
}

}  // namespace

void register_symmetric_eigen(Backend& backend) { backend.add<kernels::SymmetricEigen>(&symmetric_eigen); }

}  // namespace kusari::cpu
