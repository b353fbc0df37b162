#include <algorithm>

#include "kusari/framework/functions/array/diagonal.h"
#include "kusari/framework/functions/array/gather_elements.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/permutate.h"
#include "kusari/framework/functions/array/scatter_add.h"
#include "kusari/framework/functions/array/select_item.h"
#include "kusari/framework/functions/array/triu.h"
#include "kusari/tests/properties/rearranged.h"

// Functions that pick elements.
namespace kusari {
namespace {

using namespace testing;

/// A drawn index, and for each element of the result the place of its source in C order, worked out by NumPy's rules.
struct Indexing {
  std::vector<Index> slices;
  Shape shape;
  std::vector<size_t> source;
};

/// What one axis of x contributes: the elements of the result's axis, or an array of places.
struct Entry {
  std::vector<int64_t> places;  // along the axis; for an array in C order
  bool is_array = false;
};

std::vector<int64_t> places_of(const Slice& slice, int64_t n) {
  std::vector<int64_t> places;
  const int64_t step = slice.step.value_or(1);
  const auto given = [&](int64_t at) { return at < 0 ? at + n : at; };
  int64_t i = slice.start ? given(*slice.start) : (step > 0 ? 0 : n - 1);
  int64_t stop = slice.stop ? given(*slice.stop) : (step > 0 ? n : -1);
  i = step > 0 ? std::clamp<int64_t>(i, 0, n) : std::clamp<int64_t>(i, -1, n - 1);
  stop = step > 0 ? std::clamp<int64_t>(stop, 0, n) : std::clamp<int64_t>(stop, -1, n - 1);
  for (; step > 0 ? i < stop : i > stop; i += step) places.push_back(i);
  return places;
}

Slice draw_slice(Draw& draw, int64_t n) {
  Slice slice;
  if (draw.flip()) slice.start = draw.integer(-n - 1, n + 1);
  if (draw.flip()) slice.stop = draw.integer(-n - 1, n + 1);
  if (draw.flip()) slice.step = draw.pick<int64_t>({-2, -1, 1, 2, 3});
  return slice;
}

/// Numbers, slices, new axes, an ellipsis, and arrays of integers that broadcast together or one of bools. Arrays
/// beside each other stay where they are, others come first.
Indexing draw_indexing(Draw& draw, const Shape& from) {
  Indexing result;
  std::vector<Entry> entries;  // one for each axis of x
  std::vector<int> axes;       // of the result without arrays: an axis of x, or -1 for a new one
  const Shape common = draw.shape(0, 2, 3);
  const bool with_arrays = draw.flip();
  bool with_mask = !with_arrays && draw.flip();
  std::vector<Reference> arrays;  // of places, and their axes in `array_axes`
  std::vector<int> array_axes;
  int first = -1;  // where among `axes` the arrays stand
  bool gap = false, is_adjacent = true, used_ellipsis = false;
  const auto note_array = [&] {
    if (first < 0) first = static_cast<int>(axes.size());
    if (gap) is_adjacent = false;
  };
  int axis = 0;
  while (axis < from.ndim()) {
    const int64_t kind = draw.integer(0, 9), n = from[axis];
    if (kind == 0 && std::count(axes.begin(), axes.end(), -1) < 2) {
      result.slices.push_back(kNewAxis);
      axes.push_back(-1);
      gap = first >= 0;
    } else if (kind == 1 && !used_ellipsis) {
      used_ellipsis = true;
      result.slices.push_back(kEllipsis);
      gap = first >= 0;
      const int64_t whole = draw.integer(0, from.ndim() - axis);
      for (int64_t i = 0; i < whole; ++i, ++axis) {
        axes.push_back(axis);
        entries.push_back({places_of(Slice{}, from[axis]), false});
      }
      // From here on every axis must have its own entry.
    } else if (kind <= 3 && n > 0) {
      const int64_t index = draw.integer(-n, n - 1);
      result.slices.push_back(index);
      note_array();
      entries.push_back({{index < 0 ? index + n : index}, true});
      arrays.push_back(naive::filled({}, static_cast<double>(entries.back().places[0])));
      array_axes.push_back(axis++);
    } else if (kind <= 6 && with_mask) {  // as many arrays as it has axes: the places of its true elements
      with_mask = false;
      const int count = static_cast<int>(std::min<int64_t>(draw.integer(1, 2), from.ndim() - axis));
      const Array mask = draw.booleans(Shape(from.begin() + axis, from.begin() + axis + count));
      result.slices.push_back(mask);
      note_array();
      const std::vector<bool> is_true = mask.to_vector<bool>();
      for (int k = 0; k < count; ++k) {
        Reference places{{0}, {}};
        naive::each(mask.shape(), [&](const Shape& index) {
          if (is_true[naive::place(mask.shape(), index)]) places.values.push_back(static_cast<double>(index[k]));
        });
        places.shape[0] = static_cast<int64_t>(places.values.size());
        arrays.push_back(places);
        entries.push_back({{}, true});
        array_axes.push_back(axis++);
      }
    } else if (kind <= 6 && with_arrays && n > 0) {
      const Array index = draw.integers(draw.broadcastable(common), -n, n - 1, draw.pick({Dtype::int32, Dtype::int64}));
      result.slices.push_back(index);
      note_array();
      Reference places{index.shape(), index.to_vector<double>()};
      for (double& p : places.values) p += p < 0 ? static_cast<double>(n) : 0;
      arrays.push_back(places);
      entries.push_back({{}, true});
      array_axes.push_back(axis++);
    } else {
      const Slice slice = draw_slice(draw, n);
      result.slices.push_back(slice);
      gap = first >= 0;
      axes.push_back(axis++);
      entries.push_back({places_of(slice, n), false});
    }
  }
  bool has_array = false;
  for (const Index& index : result.slices) has_array = has_array || index.kind() == Index::Kind::array;
  if (!has_array) {
    first = 0;  // numbers alone take no place in the result
  } else if (!is_adjacent) {
    first = 0;
  }
  Shape joint;
  for (const Reference& places : arrays) joint = naive::broadcast_shape({joint, places.shape});
  if (!has_array) joint = {};
  for (int k = 0; k <= static_cast<int>(axes.size()); ++k) {
    if (k == std::max(first, 0)) {
      for (const int64_t n : joint) result.shape.push_back(n);
    }
    if (k == static_cast<int>(axes.size())) break;
    const int at = axes[static_cast<size_t>(k)];
    result.shape.push_back(at < 0 ? 1 : static_cast<int64_t>(entries[static_cast<size_t>(at)].places.size()));
  }
  naive::each(result.shape, [&](const Shape& index) {
    Shape source = from, inner;
    int at = 0;
    for (int k = 0; k <= static_cast<int>(axes.size()); ++k) {
      if (k == std::max(first, 0)) {
        for (int j = 0; j < joint.ndim(); ++j) inner.push_back(index[at++]);
      }
      if (k == static_cast<int>(axes.size())) break;
      const int own = axes[static_cast<size_t>(k)];
      const int64_t i = index[at++];
      if (own >= 0) source[own] = entries[static_cast<size_t>(own)].places[static_cast<size_t>(i)];
    }
    for (size_t a = 0; a < arrays.size(); ++a) {
      source[array_axes[a]] = static_cast<int64_t>(naive::seen(arrays[a], inner));
    }
    result.source.push_back(naive::place(from, source));
  });
  return result;
}

std::span<const Index> span_of_indices(const std::vector<Index>& slices) { return {slices.data(), slices.size()}; }

TEST_CASE("property: get_item") {
  check_property([](Draw& draw) -> PropertyCase {
    const Array x = draw.real(draw.shape(1, 4, 4, true), -2, 2);
    const Indexing indexing = draw_indexing(draw, x.shape());
    return {.inputs = {x},
            .function =
                [=](const Variables& in) { return Variables{F::get_item(in[0], span_of_indices(indexing.slices))}; },
            .reference =
                [=](const References& in) {
                  Reference y{indexing.shape, {}};
                  for (const size_t place : indexing.source) y.values.push_back(in[0].values[place]);
                  return References{y};
                }};
  });
}

TEST_CASE("property: scatter_add") {
  check_property([](Draw& draw) -> PropertyCase {
    const Array a = draw.real(draw.shape(1, 4, 4, true), -2, 2);
    const Indexing indexing = draw_indexing(draw, a.shape());
    const Array b = draw.real(draw.flip() ? indexing.shape : draw.broadcastable(indexing.shape), -2, 2);
    return {.inputs = {a, b},
            .function =
                [=](const Variables& in) {
                  return Variables{F::scatter_add(in[0], span_of_indices(indexing.slices), in[1])};
                },
            .reference =
                [=](const References& in) {
                  Reference y = in[0];
                  const Reference added = naive::broadcast_to(in[1], indexing.shape);
                  for (size_t i = 0; i < indexing.source.size(); ++i) y.values[indexing.source[i]] += added.values[i];
                  return References{y};
                }};
  });
}

TEST_CASE("property: select_item") {
  check_property([](Draw& draw) {
    const Shape shape = draw.shape(2, 2, 5);
    const Array t = draw.integers({shape[0]}, -shape[1], shape[1] - 1, draw.pick({Dtype::int32, Dtype::int64}));
    return rearranged(
        draw.real(shape, -2, 2), [=](const Variable& x) { return F::select_item(x, t); }, {shape[0]},
        [=, picked = t.to_vector<int64_t>()](const Shape& index) {
          const int64_t i = picked[static_cast<size_t>(index[0])];
          return Shape{index[0], i < 0 ? i + shape[1] : i};
        });
  });
}

TEST_CASE("property: gather_elements") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape from = draw.shape(1, 4, 4);
    const int64_t axis = draw.axis(from.ndim());
    const int at = naive::positive_axis(axis, from.ndim());
    Shape taken = from;
    for (int64_t& size : taken) size = draw.integer(1, size);
    taken[at] = draw.integer(1, 6);
    return {.inputs = {draw.real(from, -1, 1), draw.integers(taken, -from[at], from[at] - 1)},
            .function = [=](const Variables& x) { return Variables{F::gather_elements(x[0], x[1], axis)}; },
            .reference =
                [=](const References& x) {
                  return References{naive::make(taken, [&](const Shape& index) {
                    Shape source = index;
                    source[at] = static_cast<int64_t>(x[1].at(index));
                    if (source[at] < 0) source[at] += from[at];
                    return x[0].at(source);
                  })};
                }};
  });
}

TEST_CASE("property: triu") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(2, 4, 5, true);
    const int64_t k = draw.integer(-5, 5);
    const bool is_upper = draw.flip();
    return {.inputs = {draw.real(shape, -1, 1)},
            .function = [=](const Variables& x) { return Variables{is_upper ? F::triu(x[0], k) : F::tril(x[0], k)}; },
            .reference =
                [=](const References& x) {
                  return References{naive::make(shape, [&](const Shape& index) {
                    const int64_t above = index[shape.ndim() - 1] - index[shape.ndim() - 2];
                    return (is_upper ? above >= k : above <= k) ? x[0].at(index) : 0;
                  })};
                }};
  });
}

TEST_CASE("property: permutate") {
  check_property([](Draw& draw) {
    const Array x = draw.real(draw.shape(1, 4, 5, true), -2, 2);
    const int64_t axis = draw.axis(x.ndim());
    const int at = naive::positive_axis(axis, x.ndim());
    const bool inv = draw.flip();
    const std::vector<int64_t> order = draw.permutation(x.shape()[at]);
    const Array indices = array(order).astype(draw.pick({Dtype::int32, Dtype::int64}));
    return rearranged(
        x, [=](const Variable& v) { return F::permutate(v, indices, axis, inv); }, x.shape(),
        [=](Shape index) {
          const auto found = std::find(order.begin(), order.end(), index[at]);
          index[at] = inv ? found - order.begin() : order[static_cast<size_t>(index[at])];
          return index;
        });
  });
}

TEST_CASE("property: diagonal") {
  check_property([](Draw& draw) {
    const Array x = draw.real(draw.shape(2, 4, 5, true), -2, 2);
    const int ndim = x.ndim();
    const std::vector<int64_t> order = draw.permutation(ndim);
    const int rows = static_cast<int>(order[0]), columns = static_cast<int>(order[1]);
    const int64_t offset = draw.integer(-5, 5);
    int64_t n = 0;  // elements (i, i + offset) that x has
    for (int64_t i = 0; i < x.shape()[rows]; ++i) n += i + offset >= 0 && i + offset < x.shape()[columns] ? 1 : 0;
    Shape shape;
    for (int k = 0; k < ndim; ++k) {
      if (k != rows && k != columns) shape.push_back(x.shape()[k]);
    }
    shape.push_back(n);
    const F::DiagonalOptions options{offset, rows - (draw.flip() ? ndim : 0), columns - (draw.flip() ? ndim : 0)};
    return rearranged(
        x, [=](const Variable& v) { return F::diagonal(v, options); }, shape,
        [=](const Shape& index) {
          Shape source = Shape::filled(ndim, 0);
          int at = 0;
          for (int k = 0; k < ndim; ++k) {
            if (k != rows && k != columns) source[k] = index[at++];
          }
          source[rows] = index.back() + std::max<int64_t>(0, -offset);
          source[columns] = index.back() + std::max<int64_t>(0, offset);
          return source;
        });
  });
}

}  // namespace
}  // namespace kusari
