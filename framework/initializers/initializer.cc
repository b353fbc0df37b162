#include "kusari/framework/initializers/initializer.h"

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/initializers/lecun.h"

namespace kusari {

Initializer Initializer::make_constant(Scalar value) {
  return Initializer([value](const Array& array) { array.fill(value); });
}

Initializer Initializer::make_array(const Array& values) {
  return Initializer([values](const Array& array) { array.copy_from(values); });
}

void Initializer::operator()(const Array& array) const {
  if (fill_ != nullptr) {
    fill_->fill(array);
  } else {
    initializers::LeCunNormal()(array);
  }
}

namespace initializers {

Array generate_array(const Initializer& initializer, const Shape& shape, std::optional<Dtype> dtype,
                     const Device& device) {
  const std::optional<Dtype> own = initializer.dtype();
  if (own && dtype && *own != *dtype) {
    throw ValueError(std::string("generate_array: dtype is ") + name(*dtype) + " but the initializer has dtype " +
                     name(*own));
  }
  const Array array = empty(shape, own ? *own : get_dtype(dtype), device);
  initializer(array);
  return array;
}

Fans get_fans(const Shape& shape) {
  if (shape.ndim() < 2) {
    throw ValueError("get_fans: shape is " + to_string(shape) + " but must have 2 axes or more");
  }
  checked_numel(shape, 1, "get_fans");
  int64_t receptive = 1;
  for (int axis = 2; axis < shape.ndim(); ++axis) receptive *= shape[axis];
  return {shape[1] * receptive, shape[0] * receptive};
}

}  // namespace initializers
}  // namespace kusari
