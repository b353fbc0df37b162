#include "kusari/framework/functions/array/flip.h"

#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {

Variable flip(const Variable& x, int64_t axis) {
  expect_given(x, "F::flip", "x");

  SmallVector<Index, 4> slices(static_cast<size_t>(normalize_axis(axis, x.ndim(), "F::flip")), Index(Slice{}));
  slices.push_back(Slice{{}, {}, -1});
  return get_item(x, std::span<const Index>(slices.data(), slices.size()));
}

}  // namespace kusari::functions
