#include "kusari/framework/initializers/orthogonal.h"

#include <algorithm>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/kernels/decompositions.h"

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
  const int64_t tall = std::max(rows, columns), wide = std::min(rows, columns);
  const Array drawn = empty({tall, wide}, Dtype::float64);
  const Array q = empty_like(drawn), r = empty({wide, wide}, Dtype::float64);
  Normal(1)(drawn);
  launch<kernels::QrDecomposition>(drawn.device(), drawn, q, r);
  double* const values = q.data<double>();
  for (int64_t column = 0; column < wide; ++column) {
    const double factor = r.data<double>()[column * (wide + 1)] < 0 ? -scale : scale;
    for (int64_t row = 0; row < tall; ++row) values[row * wide + column] *= factor;
  }
  array.copy_from((rows < columns ? q.transpose() : q).reshape(array.shape()));
}

}  // namespace kusari::initializers
