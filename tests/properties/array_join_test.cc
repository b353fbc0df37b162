#include <algorithm>
#include <functional>

#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/hstack.h"
#include "kusari/framework/functions/array/pad.h"
#include "kusari/framework/functions/array/pad_sequence.h"
#include "kusari/framework/functions/array/repeat.h"
#include "kusari/framework/functions/array/separate.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/array/tile.h"
#include "kusari/framework/functions/array/transpose_sequence.h"
#include "kusari/tests/properties/rearranged.h"

// Functions that join, cut and repeat arrays.
namespace kusari {
namespace {

using namespace testing;

/// Some arrays of `shape`, but for the size of one axis.
Arrays arrays_along(Draw& draw, Shape shape, int axis) {
  Arrays xs;
  for (int64_t n = draw.integer(1, 4); n > 0; --n) {
    if (axis >= 0) shape[axis] = draw.integer(draw.integer(0, 7) == 0 ? 0 : 1, 4);
    xs.push_back(draw.real(shape, -2, 2));
  }
  return xs;
}

/// Each array under another shape of as many elements.
References reshaped(References xs, const std::function<Shape(const Shape&)>& shape) {
  for (Reference& x : xs) x.shape = shape(x.shape);
  return xs;
}

PropertyCase of_list(Arrays xs, std::function<Variable(std::span<const Variable>)> function,
                     std::function<Reference(const References&)> reference) {
  PropertyCase one;
  one.inputs = std::move(xs);
  one.function = [=](const Variables& in) { return Variables{function(span_of(in))}; };
  one.reference = [=](const References& in) { return References{reference(in)}; };
  return one;
}

TEST_CASE("property: concat") {
  check_property([](Draw& draw) {
    const Shape shape = draw.shape(1, 4, 4);
    const int64_t axis = draw.axis(shape.ndim());
    const int at = naive::positive_axis(axis, shape.ndim());
    return of_list(
        arrays_along(draw, shape, at), [=](std::span<const Variable> xs) { return F::concat(xs, axis); },
        [=](const References& xs) { return joined(xs, at); });
  });
}

TEST_CASE("property: stack") {
  check_property([](Draw& draw) {
    const Shape shape = draw.shape(0, 4, 4, true);
    const int64_t axis = draw.axis(shape.ndim() + 1);
    const int at = naive::positive_axis(axis, shape.ndim() + 1);
    return of_list(
        arrays_along(draw, shape, -1), [=](std::span<const Variable> xs) { return F::stack(xs, axis); },
        [=](const References& xs) {
          return joined(reshaped(xs,
                                 [=](Shape s) {
                                   s.insert(at, 1);
                                   return s;
                                 }),
                        at);
        });
  });
}

TEST_CASE("property: hstack") {
  check_property([](Draw& draw) {
    const Shape shape = draw.shape(0, 4, 4);
    const int axis = shape.ndim() > 1 ? 1 : 0;
    return of_list(
        arrays_along(draw, shape, shape.ndim() == 0 ? -1 : axis),
        [](std::span<const Variable> xs) { return F::hstack(xs); },
        [=](const References& xs) {
          return joined(reshaped(xs, [](const Shape& s) { return s.empty() ? Shape{1} : s; }), axis);
        });
  });
}

TEST_CASE("property: vstack") {
  check_property([](Draw& draw) {
    const Shape shape = draw.shape(0, 4, 4);
    const auto rows = [](const Shape& s) { return s.ndim() > 1 ? s : Shape{1, s.empty() ? 1 : s[0]}; };
    return of_list(
        arrays_along(draw, shape, shape.ndim() > 1 ? 0 : -1),
        [](std::span<const Variable> xs) { return F::vstack(xs); },
        [=](const References& xs) { return joined(reshaped(xs, rows), 0); });
  });
}

TEST_CASE("property: dstack") {
  check_property([](Draw& draw) {
    const Shape shape = draw.shape(0, 4, 4);
    const auto deep = [](const Shape& s) {
      if (s.ndim() > 2) return s;
      return s.ndim() == 2 ? Shape{s[0], s[1], 1} : Shape{1, s.empty() ? 1 : s[0], 1};
    };
    return of_list(
        arrays_along(draw, shape, shape.ndim() > 2 ? 2 : -1),
        [](std::span<const Variable> xs) { return F::dstack(xs); },
        [=](const References& xs) { return joined(reshaped(xs, deep), 2); });
  });
}

/// Elements begin, ..., end - 1 of an axis.
Reference piece(const Reference& x, int axis, int64_t begin, int64_t end) {
  Shape shape = x.shape;
  shape[axis] = std::max<int64_t>(0, end - begin);
  return naive::make(shape, [&](Shape index) {
    index[axis] += begin;
    return x.at(index);
  });
}

TEST_CASE("property: split_axis") {
  check_property([](Draw& draw) -> PropertyCase {
    Shape shape = draw.shape(1, 4, 4);
    const int64_t axis = draw.axis(shape.ndim());
    const int at = naive::positive_axis(axis, shape.ndim());
    if (draw.flip()) {
      const int64_t sections = draw.integer(1, 3);
      shape[at] *= sections;
      return {.inputs = {draw.real(shape, -2, 2)},
              .function = [=](const Variables& x) { return F::split_axis(x[0], sections, axis); },
              .reference =
                  [=](const References& x) {
                    References y;
                    const int64_t n = shape[at] / sections;
                    for (int64_t i = 0; i < sections; ++i) y.push_back(piece(x[0], at, i * n, (i + 1) * n));
                    return y;
                  }};
    }
    std::vector<int64_t> ends;
    for (int64_t n = draw.integer(0, 3); n > 0; --n) ends.push_back(draw.integer(0, shape[at] + 1));
    std::sort(ends.begin(), ends.end());
    return {.inputs = {draw.real(shape, -2, 2)},
            .function = [=](const Variables& x) { return F::split_axis(x[0], span_of(ends), axis); },
            .reference =
                [=](const References& x) {
                  References y;
                  int64_t begin = 0;
                  for (const int64_t end : ends) {
                    y.push_back(piece(x[0], at, begin, std::min(end, shape[at])));
                    begin = std::min(end, shape[at]);
                  }
                  y.push_back(piece(x[0], at, begin, shape[at]));
                  return y;
                }};
  });
}

TEST_CASE("property: separate") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(1, 4, 4);
    const int64_t axis = draw.axis(shape.ndim());
    const int at = naive::positive_axis(axis, shape.ndim());
    return {.inputs = {draw.real(shape, -2, 2)},
            .function = [=](const Variables& x) { return F::separate(x[0], axis); },
            .reference =
                [=](const References& x) {
                  References y;
                  for (int64_t i = 0; i < shape[at]; ++i) {
                    y.push_back(piece(x[0], at, i, i + 1));
                    y.back().shape.erase(at);
                  }
                  return y;
                }};
  });
}

TEST_CASE("property: repeat") {
  check_property([](Draw& draw) {
    const Array x = draw.real(draw.shape(0, 4, 4, true), -2, 2);
    std::optional<int64_t> axis;
    if (x.ndim() > 0 && draw.flip()) axis = draw.axis(x.ndim());
    const int at = axis ? naive::positive_axis(*axis, x.ndim()) : 0;
    const Shape from = axis ? x.shape() : Shape{x.size()};
    std::vector<int64_t> repeats(draw.flip() ? size_t{1} : static_cast<size_t>(from[at]));
    for (int64_t& n : repeats) n = draw.integer(0, 3);
    std::vector<int64_t> source;  // along the axis
    for (int64_t i = 0; i < from[at]; ++i) {
      source.insert(source.end(), static_cast<size_t>(repeats[repeats.size() == 1 ? 0 : static_cast<size_t>(i)]), i);
    }
    PropertyCase one;
    one.inputs = {x};
    one.function = [=](const Variables& in) {
      return Variables{repeats.size() == 1 ? F::repeat(in[0], repeats[0], axis)
                                           : F::repeat(in[0], span_of(repeats), axis)};
    };
    one.reference = [=](const References& in) {
      const Reference flat{from, in[0].values};
      Shape shape = from;
      shape[at] = static_cast<int64_t>(source.size());
      return References{naive::make(shape, [&](Shape index) {
        index[at] = source[static_cast<size_t>(index[at])];
        return flat.at(index);
      })};
    };
    return one;
  });
}

TEST_CASE("property: tile") {
  check_property([](Draw& draw) {
    const Array x = draw.real(draw.shape(0, 3, 3, true), -2, 2);
    std::vector<int64_t> reps(static_cast<size_t>(draw.integer(1, 4)));
    for (int64_t& n : reps) n = draw.integer(draw.integer(0, 7) == 0 ? 0 : 1, 3);
    Shape from = x.shape(), times(reps.begin(), reps.end());
    while (from.ndim() < times.ndim()) from.insert(0, 1);
    while (times.ndim() < from.ndim()) times.insert(0, 1);
    Shape shape = from;
    for (int k = 0; k < shape.ndim(); ++k) shape[k] *= times[k];
    return rearranged(
        x, [=](const Variable& v) { return F::tile(v, span_of(reps)); }, shape,
        [=, own = x.shape()](const Shape& index) {
          Shape source = own;
          const int skip = index.ndim() - own.ndim();
          for (int k = 0; k < own.ndim(); ++k) source[k] = index[skip + k] % own[k];
          return source;
        });
  });
}

/// Where NumPy's mode finds element i of an axis of n elements, which may lie outside of it.
int64_t padded_from(F::PadMode mode, int64_t i, int64_t n) {
  const auto modulo = [](int64_t a, int64_t b) { return (a % b + b) % b; };
  switch (mode) {
    case F::PadMode::edge:
      return std::clamp<int64_t>(i, 0, n - 1);
    case F::PadMode::reflect: {
      if (n == 1) return 0;
      const int64_t at = modulo(i, 2 * (n - 1));
      return at < n ? at : 2 * (n - 1) - at;
    }
    case F::PadMode::symmetric: {
      const int64_t at = modulo(i, 2 * n);
      return at < n ? at : 2 * n - 1 - at;
    }
    case F::PadMode::wrap:
      return modulo(i, n);
    case F::PadMode::constant:
      break;
  }
  return i < 0 || i >= n ? -1 : i;
}

TEST_CASE("property: pad") {
  check_property([](Draw& draw) -> PropertyCase {
    const F::PadMode mode = draw.pick(
        {F::PadMode::constant, F::PadMode::edge, F::PadMode::reflect, F::PadMode::symmetric, F::PadMode::wrap});
    const Shape from = draw.shape(1, 3, 4, mode == F::PadMode::constant);
    std::vector<PadWidth::Pair> pairs(draw.flip() ? from.size() : size_t{1});
    for (PadWidth::Pair& pair : pairs) pair = {draw.integer(0, 5), draw.integer(0, 5)};
    const double constant = draw.number(-2, 2);
    Shape shape = from, before = from;
    for (int k = 0; k < from.ndim(); ++k) {
      const PadWidth::Pair& pair = pairs[pairs.size() == 1 ? 0 : static_cast<size_t>(k)];
      before[k] = pair.first;
      shape[k] += pair.first + pair.second;
    }
    return {.inputs = {draw.real(from, -2, 2)},
            .function =
                [=](const Variables& x) {
                  return Variables{F::pad(x[0], PadWidth(std::span<const PadWidth::Pair>(pairs)), mode, constant)};
                },
            .reference =
                [=](const References& x) {
                  return References{naive::make(shape, [&](Shape index) {
                    for (int k = 0; k < index.ndim(); ++k) {
                      index[k] = padded_from(mode, index[k] - before[k], from[k]);
                      if (index[k] < 0) return constant;
                    }
                    return x[0].at(index);
                  })};
                }};
  });
}

/// Sequences of rows of one shape.
Arrays sequences(Draw& draw, bool longest_first) {
  std::vector<int64_t> lengths(static_cast<size_t>(draw.integer(1, 5)));
  for (int64_t& length : lengths) length = draw.integer(0, 5);
  if (longest_first) std::sort(lengths.rbegin(), lengths.rend());
  Shape shape = draw.shape(0, 2, 3);
  shape.insert(0, 0);
  Arrays xs;
  for (const int64_t length : lengths) {
    shape[0] = length;
    xs.push_back(draw.real(shape, -2, 2));
  }
  return xs;
}

TEST_CASE("property: pad_sequence") {
  check_property([](Draw& draw) {
    const Arrays xs = sequences(draw, false);
    int64_t length = 0;
    for (const Array& x : xs) length = std::max(length, x.shape()[0]);
    F::PadSequenceOptions options{.padding = draw.number(-2, 2)};
    if (draw.flip()) options.length = length += draw.integer(0, 3);
    Shape shape = xs[0].shape();
    shape[0] = length;
    shape.insert(0, static_cast<int64_t>(xs.size()));
    return of_list(
        xs, [=](std::span<const Variable> in) { return F::pad_sequence(in, options); },
        [=](const References& in) {
          return naive::make(shape, [&](Shape index) {
            const Reference& x = in[static_cast<size_t>(index[0])];
            index.erase(0);
            return index[0] < x.shape[0] ? x.at(index) : options.padding;
          });
        });
  });
}

TEST_CASE("property: transpose_sequence") {
  check_property([](Draw& draw) -> PropertyCase {
    return {.inputs = sequences(draw, true),
            .function = [](const Variables& xs) { return F::transpose_sequence(span_of(xs)); },
            .reference =
                [](const References& xs) {
                  References y;
                  for (int64_t t = 0; t < xs[0].shape[0]; ++t) {
                    Shape shape = xs[0].shape;
                    shape[0] = std::count_if(xs.begin(), xs.end(), [t](const Reference& x) { return x.shape[0] > t; });
                    y.push_back(naive::make(shape, [&](Shape index) {
                      const Reference& x = xs[static_cast<size_t>(index[0])];
                      index[0] = t;
                      return x.at(index);
                    }));
                  }
                  return y;
                }};
  });
}

}  // namespace
}  // namespace kusari
