#include "kusari/framework/initializers/orthogonal.h"

#include <algorithm>
#include <string>

#include <Eigen/Core>
#include <Eigen/QR>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/initializers/normal.h"

namespace kusari::initializers {

namespace {

const char* name(OrthogonalMode mode) {
  switch (mode) {
    case OrthogonalMode::embedding:
      return "embedding";
    case OrthogonalMode::projection:
      return "projection";
    case OrthogonalMode::basis:
      return "basis";
    case OrthogonalMode::automatic:
      break;
  }
  return "automatic";
}

bool accepts(OrthogonalMode mode, int64_t rows, int64_t columns) {
  switch (mode) {
    case OrthogonalMode::embedding:
      return rows >= columns;
    case OrthogonalMode::projection:
      return rows <= columns;
    case OrthogonalMode::basis:
      return rows == columns;
    case OrthogonalMode::automatic:
      break;
  }
  return true;
}

}  // namespace

void Orthogonal::operator()(const Array& array) const {
  if (array.ndim() == 0) {
    array.fill(random::bits() % 2 == 0 ? scale : -scale);
    return;
  }
  if (array.size() == 0) {
    throw ValueError("initializers::Orthogonal: the array of shape " + to_string(array.shape()) + " has no elements");
  }
  const int64_t rows = array.shape()[0], columns = array.size() / rows;
  if (!accepts(mode, rows, columns)) {
    throw ValueError("initializers::Orthogonal: a matrix of shape " + to_string(Shape{rows, columns}) +
                     " does not fit mode " + name(mode));
  }

  // The orthonormal factor of a tall Gaussian matrix; a positive diagonal of R makes it unique and its distribution
  // uniform (Edelman and Rao 2005).
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const int64_t tall = std::max(rows, columns), wide = std::min(rows, columns);
  const Array drawn = empty({tall, wide}, Dtype::float64);
  Normal(1)(drawn);
  const Matrix gaussian = Eigen::Map<const Matrix>(drawn.data<double>(), tall, wide);
  const Eigen::HouseholderQR<Matrix> qr(gaussian);
  Matrix q = qr.householderQ() * Matrix::Identity(tall, wide);
  for (int64_t i = 0; i < wide; ++i) q.col(i) *= qr.matrixQR()(i, i) < 0 ? -scale : scale;
  if (rows < columns) q = q.transpose().eval();
  array.copy_from(from_host(q.data(), array.shape(), Dtype::float64));
}

}  // namespace kusari::initializers
