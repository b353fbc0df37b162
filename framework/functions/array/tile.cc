#include "kusari/framework/functions/array/tile.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {

Variable tile(const Variable& x, std::span<const int64_t> reps) {
  expect_given(x, "F::tile", "x");

  const int given = static_cast<int>(reps.size());
  Shape shape = x.shape();
  while (shape.ndim() < given) shape.insert(0, 1);
  Variable y = reshape(x, shape);
  int64_t inner = 1;  // elements of the axes that are done, one copy of this one included
  for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
    const int index = given - shape.ndim() + axis;
    const int64_t count = index < 0 ? 1 : reps[static_cast<size_t>(index)];
    if (count < 0) throw ValueError("F::tile: reps holds " + std::to_string(count) + ": it must not be negative");
    inner *= shape[axis];
    if (count != 1) {
      int64_t outer = 1;
      for (int i = 0; i < axis; ++i) outer *= shape[i];
      if (__builtin_mul_overflow(shape[axis], count, &shape[axis])) {
        throw ValueError("F::tile: reps holds " + std::to_string(count) + ": the axis must stay shorter than 2^63");
      }
      y = reshape(broadcast_to(reshape(y, {outer, 1, inner}), {outer, count, inner}), shape);
      inner *= count;
    }
  }
  return y;
}

}  // namespace kusari::functions
