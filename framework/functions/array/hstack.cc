#include "kusari/framework/functions/array/hstack.h"

#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

// The arrays, each as one of at least `ndim` axes by `shape_of`.
template <class ShapeOf>
SmallVector<Variable, 8> padded(std::span<const Variable> xs, int ndim, const ShapeOf& shape_of) {
  SmallVector<Variable, 8> result;
  for (const Variable& x : xs) result.push_back(x.ndim() < ndim ? reshape(x, shape_of(x.shape())) : x);
  return result;
}

// In the words of concat, with the caller's name.
void expect_joinable(std::span<const Variable> xs, const char* call) {
  if (xs.empty()) throw ValueError(std::string(call) + ": there must be at least one array");
  expect_all_given(xs, call);
}

// Throws TypeError, naming `call`, unless the arrays differ in nothing but the size of `axis`.
Variable joined(std::span<const Variable> xs, int axis, const char* call) {
  for (const Variable& x : xs) {
    bool fits = x.dtype() == xs[0].dtype() && x.ndim() == xs[0].ndim();
    for (int i = 0; fits && i < x.ndim(); ++i) fits = i == axis || x.shape()[i] == xs[0].shape()[i];
    if (!fits) {
      throw TypeError(std::string(call) + ": xs[" + std::to_string(&x - xs.data()) + "] has shape " +
                      to_string(x.shape()) + " and dtype " + name(x.dtype()) + " but xs[0] has shape " +
                      to_string(xs[0].shape()) + " and dtype " + name(xs[0].dtype()) +
                      ": they must be equal but for the size of axis " + std::to_string(axis));
    }
  }
  return concat(xs, axis);
}

std::span<const Variable> as_span(const SmallVector<Variable, 8>& xs) { return {xs.data(), xs.size()}; }

}  // namespace

Variable hstack(std::span<const Variable> xs) {
  expect_joinable(xs, "F::hstack");

  const auto arrays = padded(xs, 1, [](const Shape&) { return Shape{1}; });
  return joined(as_span(arrays), arrays[0].ndim() == 1 ? 0 : 1, "F::hstack");
}

Variable vstack(std::span<const Variable> xs) {
  expect_joinable(xs, "F::vstack");

  return joined(as_span(padded(xs, 2, [](const Shape& s) { return Shape{1, numel(s)}; })), 0, "F::vstack");
}

Variable dstack(std::span<const Variable> xs) {
  expect_joinable(xs, "F::dstack");

  const auto cube = [](const Shape& s) { return s.ndim() == 2 ? Shape{s[0], s[1], 1} : Shape{1, numel(s), 1}; };
  return joined(as_span(padded(xs, 3, cube)), 2, "F::dstack");
}

}  // namespace kusari::functions
