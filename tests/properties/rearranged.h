#pragma once

#include <functional>
#include <utility>

#include "kusari/tests/properties/property.h"

namespace kusari::testing {

/// The case of a function that only moves elements of one array: the one at `index` of the result is the one at
/// source(index) of x.
inline PropertyCase rearranged(const Array& x, std::function<Variable(const Variable&)> function, const Shape& shape,
                               std::function<Shape(const Shape&)> source) {
  PropertyCase one;
  one.inputs = {x};
  one.function = [function = std::move(function)](const Variables& in) { return Variables{function(in[0])}; };
  one.reference = [shape, source = std::move(source)](const References& in) {
    return References{naive::make(shape, [&](const Shape& index) { return in[0].at(source(index)); })};
  };
  return one;
}

inline std::span<const int64_t> span_of(const std::vector<int64_t>& values) { return {values.data(), values.size()}; }
inline std::span<const Variable> span_of(const Variables& values) { return {values.data(), values.size()}; }

/// The arrays one after another along an axis.
inline Reference joined(const References& xs, int axis) {
  Shape shape = xs[0].shape;
  shape[axis] = 0;
  for (const Reference& x : xs) shape[axis] += x.shape[axis];
  return naive::make(shape, [&](Shape index) {
    size_t i = 0;
    for (; index[axis] >= xs[i].shape[axis]; ++i) index[axis] -= xs[i].shape[axis];
    return xs[i].at(index);
  });
}

}  // namespace kusari::testing
