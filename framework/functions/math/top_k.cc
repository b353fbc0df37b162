#include "kusari/framework/functions/math/top_k.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/axes.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

// x: (rows, n), C-ordered. Places: (rows, k), int32.
Array places_of(const Array& x, int64_t k) {
  const Array places = empty({x.shape()[0], k}, Dtype::int32, x.device());
  if (places.size() == 0) return places;
  launch<kernels::TopK>(x.device(), x, places);
  return places;
}

}  // namespace

TopK top_k(const Variable& x, int64_t k, int64_t axis) {
  expect_given(x, "F::top_k", "x");
  const int place = normalize_axis(axis, x.ndim(), "F::top_k");
  const int64_t n = x.shape()[place];
  if (k < 0 || k > n) {
    throw ValueError("F::top_k: k is " + std::to_string(k) + ": it must be in [0, " + std::to_string(n) +
                     "], the length of axis " + std::to_string(axis));
  }
  if (place != x.ndim() - 1) {
    const TopK last = top_k(swapaxes(x, place, -1), k, -1);
    return {swapaxes(last.values, place, -1), swapaxes(last.indices, place, -1)};
  }
  const int64_t rows = n == 0 ? 0 : x.size() / n;
  Shape shape = x.shape();
  shape[place] = k;
  if (rows == 0 || k == 0) {
    return {Variable(empty(shape, x.dtype(), x.device()), false),
            Variable(empty(shape, Dtype::int32, x.device()), false)};
  }
  const Variable lines = reshape(x, {rows, n});
  const Array indices = places_of(lines.array().contiguous(), k);
  const Array row = arange(rows, Dtype::int32, x.device()).reshape({rows, 1});
  return {reshape(get_item(lines, {row, indices}), shape), Variable(indices.reshape(shape), false)};
}

}  // namespace kusari::functions
