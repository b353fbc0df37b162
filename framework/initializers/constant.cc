#include "kusari/framework/initializers/constant.h"

#include <limits>

#include "kusari/framework/core/error.h"

namespace kusari::initializers {

void Constant::operator()(const Array& array) const { array.fill(fill_value); }

NaN::NaN(std::optional<Dtype> array_dtype) : Constant(std::numeric_limits<double>::quiet_NaN(), array_dtype) {}

void Identity::operator()(const Array& array) const {
  const Shape& shape = array.shape();
  if (shape.ndim() != 2 || shape[0] != shape[1]) {
    throw ValueError("initializers::Identity: the array has shape " + to_string(shape) +
                     " but must be a square matrix");
  }
  array.fill(0);
  if (shape[0] == 0) return;
  array.as_strided({shape[0]}, {array.strides()[0] + array.strides()[1]}).fill(scale);
}

}  // namespace kusari::initializers
