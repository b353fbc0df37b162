#include "kusari/framework/functions/array/squeeze.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {

Variable squeeze(const Variable& x) {
  expect_given(x, "F::squeeze", "x");

  Shape shape;
  for (const int64_t size : x.shape()) {
    if (size != 1) shape.push_back(size);
  }
  return reshape(x, shape);
}

Variable squeeze(const Variable& x, std::span<const int64_t> axes) {
  expect_given(x, "F::squeeze", "x");

  unsigned dropped = 0;
  for (const int64_t axis : axes) {
    const int k = normalize_axis(axis, x.ndim(), "F::squeeze");
    if (x.shape()[k] != 1) {
      throw TypeError("F::squeeze: x has shape " + to_string(x.shape()) + ": x.shape[" + std::to_string(k) +
                      "] must equal 1 (" + std::to_string(x.shape()[k]) + " != 1)");
    }
    if ((dropped >> k & 1u) != 0) throw ValueError("F::squeeze: axis " + std::to_string(axis) + " comes twice");
    dropped |= 1u << k;
  }
  Shape shape;
  for (int i = 0; i < x.ndim(); ++i) {
    if ((dropped >> i & 1u) == 0) shape.push_back(x.shape()[i]);
  }
  return reshape(x, shape);
}

Variable squeeze(const Variable& x, std::initializer_list<int64_t> axes) {
  return squeeze(x, std::span<const int64_t>(axes.begin(), axes.size()));
}

Variable squeeze(const Variable& x, int64_t axis) { return squeeze(x, std::span<const int64_t>(&axis, 1)); }

}  // namespace kusari::functions
