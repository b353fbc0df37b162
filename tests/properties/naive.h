#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "kusari/framework/core/shape.h"

// Arrays of doubles in C order and loops over them, as plain as can be: what tests compare the library with.
namespace kusari::testing {

namespace naive {

/// The place of `index` in C order.
inline size_t place(const Shape& shape, const Shape& index) {
  int64_t at = 0;
  for (int k = 0; k < shape.ndim(); ++k) at = at * shape[k] + index[k];
  return static_cast<size_t>(at);
}

}  // namespace naive

struct Reference {
  Shape shape;
  std::vector<double> values;

  double at(const Shape& index) const { return values[naive::place(shape, index)]; }
  double& at(const Shape& index) { return values[naive::place(shape, index)]; }
};

inline Reference scalar(double value) { return {{}, {value}}; }

namespace naive {

inline Reference filled(const Shape& shape, double value = 0) {
  return {shape, std::vector<double>(static_cast<size_t>(numel(shape)), value)};
}

/// Calls visit(index) for every index of the shape, in C order.
template <class Visit>
void each(const Shape& shape, Visit&& visit) {
  Shape index = Shape::filled(shape.ndim(), 0);
  for (int64_t left = numel(shape); left > 0; --left) {
    visit(std::as_const(index));
    for (int k = shape.ndim() - 1; k >= 0 && ++index[k] == shape[k]; --k) index[k] = 0;
  }
}

/// An array whose element at each index is formula(index).
template <class Formula>
Reference make(const Shape& shape, Formula&& formula) {
  Reference y{shape, {}};
  each(shape, [&](const Shape& index) { y.values.push_back(formula(index)); });
  return y;
}

/// The shape that all broadcast to by NumPy's rules; they must.
inline Shape broadcast_shape(std::initializer_list<Shape> shapes) {
  Shape result;
  for (const Shape& shape : shapes) {
    while (result.ndim() < shape.ndim()) result.insert(0, 1);
    const int skip = result.ndim() - shape.ndim();
    for (int k = 0; k < shape.ndim(); ++k) {
      if (shape[k] != 1) result[skip + k] = shape[k];
    }
  }
  return result;
}

/// The element of x that an index of a broadcast array sees.
inline double seen(const Reference& x, const Shape& index) {
  Shape own = x.shape;
  const int skip = index.ndim() - x.shape.ndim();
  for (int k = 0; k < own.ndim(); ++k) own[k] = x.shape[k] == 1 ? 0 : index[skip + k];
  return x.at(own);
}

inline Reference broadcast_to(const Reference& x, const Shape& shape) {
  return make(shape, [&](const Shape& index) { return seen(x, index); });
}

/// formula(element of each), all broadcast.
template <class Formula, class... Xs>
Reference map(Formula&& formula, const Xs&... xs) {
  return make(broadcast_shape({xs.shape...}), [&](const Shape& index) { return formula(seen(xs, index)...); });
}

inline int positive_axis(int64_t axis, int ndim) { return static_cast<int>(axis < 0 ? axis + ndim : axis); }

inline std::vector<int64_t> all_axes(int ndim) {
  std::vector<int64_t> axes;
  for (int k = 0; k < ndim; ++k) axes.push_back(k);
  return axes;
}

/// For each place along the other axes formula(elements along `axes`), a std::vector<double> in C order.
template <class Formula>
Reference reduce(const Reference& x, std::span<const int64_t> axes, bool keepdims, Formula&& formula) {
  std::vector<bool> is_reduced(x.shape.size(), false);
  for (const int64_t axis : axes) is_reduced[static_cast<size_t>(positive_axis(axis, x.shape.ndim()))] = true;
  Shape line, outer;
  for (int k = 0; k < x.shape.ndim(); ++k) {
    const bool reduced = is_reduced[static_cast<size_t>(k)];
    line.push_back(reduced ? x.shape[k] : 1);
    outer.push_back(reduced ? 1 : x.shape[k]);
  }
  Reference y = make(outer, [&](const Shape& at) {
    std::vector<double> elements;
    each(line, [&](const Shape& along) {
      Shape index = at;
      for (int k = 0; k < index.ndim(); ++k) index[k] += along[k];
      elements.push_back(x.at(index));
    });
    return formula(std::as_const(elements));
  });
  for (int k = x.shape.ndim() - 1; k >= 0 && !keepdims; --k) {
    if (is_reduced[static_cast<size_t>(k)]) y.shape.erase(k);
  }
  return y;
}

inline double sum(const std::vector<double>& values) {
  double total = 0;
  for (const double v : values) total += v;
  return total;
}

inline double mean(const std::vector<double>& values) { return sum(values) / static_cast<double>(values.size()); }

/// Axis number k of the result is axis number axes[k] of x.
inline Reference transpose(const Reference& x, std::span<const int64_t> axes) {
  Shape shape = x.shape;
  for (int k = 0; k < shape.ndim(); ++k) shape[k] = x.shape[positive_axis(axes[static_cast<size_t>(k)], shape.ndim())];
  return make(shape, [&](const Shape& index) {
    Shape from = index;
    for (int k = 0; k < shape.ndim(); ++k) from[positive_axis(axes[static_cast<size_t>(k)], shape.ndim())] = index[k];
    return x.at(from);
  });
}

}  // namespace naive
}  // namespace kusari::testing
