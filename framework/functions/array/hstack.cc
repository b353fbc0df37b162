#include "kusari/framework/functions/array/hstack.h"

#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/reshape.h"

namespace kusari::functions {
namespace {

// The arrays, each as one of at least `ndim` axes by `shape_of`.
template <class ShapeOf>
SmallVector<Variable, 8> padded(std::span<const Variable> xs, int ndim, const ShapeOf& shape_of) {
  SmallVector<Variable, 8> result;
  for (const Variable& x : xs) result.push_back(x.ndim() < ndim ? reshape(x, shape_of(x.shape())) : x);
  return result;
}

std::span<const Variable> as_span(const SmallVector<Variable, 8>& xs) { return {xs.data(), xs.size()}; }

}  // namespace

Variable hstack(std::span<const Variable> xs) {
  const auto arrays = padded(xs, 1, [](const Shape&) { return Shape{1}; });
  return concat(as_span(arrays), !arrays.empty() && arrays[0].ndim() == 1 ? 0 : 1);
}

Variable vstack(std::span<const Variable> xs) {
  return concat(as_span(padded(xs, 2, [](const Shape& s) { return Shape{1, numel(s)}; })), 0);
}

Variable dstack(std::span<const Variable> xs) {
  const auto cube = [](const Shape& s) { return s.ndim() == 2 ? Shape{s[0], s[1], 1} : Shape{1, numel(s), 1}; };
  return concat(as_span(padded(xs, 3, cube)), 2);
}

}  // namespace kusari::functions
