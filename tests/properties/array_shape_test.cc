#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "kusari/framework/functions/array/as_strided.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/copy.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/flip.h"
#include "kusari/framework/functions/array/masked_fill.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/squeeze.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/tests/properties/rearranged.h"

// Functions that change shapes and orders of axes.
namespace kusari {
namespace {

using namespace testing;

/// The index in `to` of the element that has the same place in C order as `index` in `from`.
Shape same_place(const Shape& index, const Shape& from, const Shape& to) {
  auto place = static_cast<int64_t>(naive::place(from, index));
  Shape result = to;
  for (int k = to.ndim() - 1; k >= 0; --k) {
    result[k] = place % to[k];
    place /= to[k];
  }
  return result;
}

/// The axes of a result are axes of x in another order: axis k is axis order[k] of x.
PropertyCase permuted(const Array& x, std::function<Variable(const Variable&)> function,
                      const std::vector<int64_t>& order) {
  const Shape& shape = x.shape();
  Shape moved;
  for (const int64_t axis : order) moved.push_back(shape[static_cast<int>(axis)]);
  return rearranged(x, std::move(function), moved, [order, shape](const Shape& index) {
    Shape from = shape;
    for (int k = 0; k < index.ndim(); ++k) from[static_cast<int>(order[static_cast<size_t>(k)])] = index[k];
    return from;
  });
}

std::vector<int64_t> in_order(int n) {
  std::vector<int64_t> axes(static_cast<size_t>(n));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

TEST_CASE("property: reshape") {
  check_property([](Draw& draw) {
    const Array x = draw.real(draw.shape(0, 4, 5, true), -2, 2);
    // Sizes are split and joined at random.
    int64_t left = x.size();
    Shape shape, given;
    while (left > 1 && shape.ndim() < 4) {
      int64_t part = draw.integer(1, left);
      while (left % part != 0) --part;
      shape.push_back(part);
      left /= part;
    }
    shape.push_back(left);
    given = shape;
    if (x.size() > 0 && draw.flip()) given[static_cast<int>(draw.integer(0, given.ndim() - 1))] = -1;
    return rearranged(
        x, [=](const Variable& v) { return F::reshape(v, given); }, shape,
        [=, from = x.shape()](const Shape& index) { return same_place(index, shape, from); });
  });
}

TEST_CASE("property: flatten") {
  check_property([](Draw& draw) {
    const Array x = draw.real(draw.shape(0, 4, 5, true), -2, 2);
    const Shape flat{x.size()};
    return rearranged(x, F::flatten, flat,
                      [=, from = x.shape()](const Shape& index) { return same_place(index, flat, from); });
  });
}

TEST_CASE("property: expand_dims") {
  check_property([](Draw& draw) {
    const Array x = draw.real(draw.shape(0, 4, 5, true), -2, 2);
    const int64_t axis = draw.axis(x.ndim() + 1);
    const int at = naive::positive_axis(axis, x.ndim() + 1);
    Shape shape = x.shape();
    shape.insert(at, 1);
    return rearranged(
        x, [=](const Variable& v) { return F::expand_dims(v, axis); }, shape,
        [=](Shape index) {
          index.erase(at);
          return index;
        });
  });
}

TEST_CASE("property: squeeze") {
  check_property([](Draw& draw) {
    Shape shape = draw.shape(0, 4, 2, true);
    std::vector<int64_t> ones;
    for (int k = 0; k < shape.ndim(); ++k) {
      if (shape[k] == 1) ones.push_back(k);
    }
    const bool named = draw.flip();
    if (named && !ones.empty()) ones.resize(static_cast<size_t>(draw.integer(1, static_cast<int64_t>(ones.size()))));
    Shape left;
    for (int k = 0; k < shape.ndim(); ++k) {
      if (std::find(ones.begin(), ones.end(), k) == ones.end()) left.push_back(shape[k]);
    }
    std::vector<int64_t> axes = ones;
    for (int64_t& axis : axes) axis -= draw.flip() ? shape.ndim() : 0;
    const auto function = [=](const Variable& v) { return named ? F::squeeze(v, span_of(axes)) : F::squeeze(v); };
    return rearranged(draw.real(shape, -2, 2), function, left, [=](Shape index) {
      for (const int64_t axis : ones) index.insert(static_cast<int>(axis), 0);
      return index;
    });
  });
}

TEST_CASE("property: broadcast_to") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(0, 4, 4, true);
    return {.inputs = {draw.real(draw.broadcastable(shape), -2, 2)},
            .function = [=](const Variables& x) { return Variables{F::broadcast_to(x[0], shape)}; },
            .reference = [=](const References& x) { return References{naive::broadcast_to(x[0], shape)}; }};
  });
}

TEST_CASE("property: broadcast") {
  check_property([](Draw& draw) {
    const Shape shape = draw.shape(0, 4, 4, true);
    PropertyCase one;
    one.inputs.push_back(draw.real(shape, -2, 2));
    for (int64_t more = draw.integer(0, 2); more > 0; --more) {
      one.inputs.push_back(draw.real(draw.broadcastable(shape), -2, 2));
    }
    std::reverse(one.inputs.begin(), one.inputs.end());
    one.function = [](const Variables& x) { return F::broadcast(span_of(x)); };
    one.reference = [=](const References& x) {
      References y;
      for (const Reference& each : x) y.push_back(naive::broadcast_to(each, shape));
      return y;
    };
    return one;
  });
}

TEST_CASE("property: transpose") {
  check_property([](Draw& draw) {
    const Array x = draw.real(draw.shape(0, 5, 4, true), -2, 2);
    if (draw.integer(0, 3) == 0) {
      std::vector<int64_t> reversed = in_order(x.ndim());
      std::reverse(reversed.begin(), reversed.end());
      return permuted(
          x, [](const Variable& v) { return F::transpose(v); }, reversed);
    }
    const std::vector<int64_t> order = draw.permutation(x.ndim());
    std::vector<int64_t> given = order;
    for (int64_t& axis : given) axis -= draw.flip() ? x.ndim() : 0;
    return permuted(
        x, [=](const Variable& v) { return F::transpose(v, span_of(given)); }, order);
  });
}

TEST_CASE("property: swapaxes") {
  check_property([](Draw& draw) {
    const Array x = draw.real(draw.shape(1, 5, 4, true), -2, 2);
    const int64_t a = draw.axis(x.ndim()), b = draw.axis(x.ndim());
    std::vector<int64_t> order = in_order(x.ndim());
    std::swap(order[static_cast<size_t>(naive::positive_axis(a, x.ndim()))],
              order[static_cast<size_t>(naive::positive_axis(b, x.ndim()))]);
    return permuted(
        x, [=](const Variable& v) { return F::swapaxes(v, a, b); }, order);
  });
}

TEST_CASE("property: moveaxis") {
  check_property([](Draw& draw) {
    const Array x = draw.real(draw.shape(1, 5, 4, true), -2, 2);
    const std::vector<int64_t> source = draw.axes(x.ndim());
    std::vector<int64_t> destination = draw.permutation(x.ndim());
    destination.resize(source.size());
    // The axes that stay fill the places that are left, in order.
    std::vector<int64_t> order(static_cast<size_t>(x.ndim()), -1);
    std::vector<bool> is_moved(order.size(), false);
    for (size_t i = 0; i < source.size(); ++i) {
      const int from = naive::positive_axis(source[i], x.ndim());
      order[static_cast<size_t>(destination[i])] = from;
      is_moved[static_cast<size_t>(from)] = true;
    }
    int64_t next = 0;
    for (int64_t& axis : order) {
      if (axis >= 0) continue;
      while (is_moved[static_cast<size_t>(next)]) ++next;
      axis = next++;
    }
    for (int64_t& axis : destination) axis -= draw.flip() ? x.ndim() : 0;
    return permuted(
        x, [=](const Variable& v) { return F::moveaxis(v, span_of(source), span_of(destination)); }, order);
  });
}

TEST_CASE("property: rollaxis") {
  check_property([](Draw& draw) {
    const Array x = draw.real(draw.shape(1, 5, 4, true), -2, 2);
    const int64_t axis = draw.axis(x.ndim()), start = draw.integer(-x.ndim(), x.ndim());
    const int64_t from = naive::positive_axis(axis, x.ndim()), before = start < 0 ? start + x.ndim() : start;
    // The axis is taken out and put in again before what was axis `before`.
    std::vector<int64_t> order;
    for (int64_t k = 0; k <= x.ndim(); ++k) {
      if (k == before) order.push_back(from);
      if (k < x.ndim() && k != from) order.push_back(k);
    }
    return permuted(
        x, [=](const Variable& v) { return F::rollaxis(v, axis, start); }, order);
  });
}

PropertyCase flipped(Draw& draw, int min_ndim, std::optional<int64_t> fixed,
                     const std::function<Variable(const Variable&, int64_t)>& function) {
  const Array x = draw.real(draw.shape(min_ndim, 4, 5, true), -2, 2);
  const int64_t axis = fixed ? *fixed : draw.axis(x.ndim());
  const int at = naive::positive_axis(axis, x.ndim());
  return rearranged(
      x, [=](const Variable& v) { return function(v, axis); }, x.shape(),
      [=, n = x.shape()[at]](Shape index) {
        index[at] = n - 1 - index[at];
        return index;
      });
}

TEST_CASE("property: flip") {
  check_property([](Draw& draw) { return flipped(draw, 1, std::nullopt, F::flip); });
}
TEST_CASE("property: fliplr") {
  check_property(
      [](Draw& draw) { return flipped(draw, 2, 1, [](const Variable& x, int64_t) { return F::fliplr(x); }); });
}
TEST_CASE("property: flipud") {
  check_property(
      [](Draw& draw) { return flipped(draw, 1, 0, [](const Variable& x, int64_t) { return F::flipud(x); }); });
}

TEST_CASE("property: cast") {
  check_property([](Draw& draw) {
    const Dtype dtype = draw.pick({Dtype::float64, Dtype::float32, Dtype::int32});
    PropertyCase one = rearranged(draw.real(draw.shape(0, 4, 5, true), -9, 9),
                                  [=](const Variable& x) { return F::cast(x, dtype); }, {}, {});
    one.reference = [=](const References& x) {
      return References{naive::map([=](double v) { return dtype == Dtype::int32 ? std::trunc(v) : v; }, x[0])};
    };
    one.same_dtype = false;
    one.first_order = one.second_order = dtype == Dtype::float64;
    if (dtype == Dtype::float32) one.rtol = 6e-8;  // half of its last place
    return one;
  });
}

TEST_CASE("property: copy") {
  check_property([](Draw& draw) {
    const Array x = draw.real(draw.shape(0, 4, 5, true), -2, 2);
    return rearranged(
        x, [](const Variable& v) { return F::copy(v, Device()); }, x.shape(), [](const Shape& index) { return index; });
  });
}

TEST_CASE("property: where") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(0, 4, 4, true);
    const Array condition = draw.booleans(draw.broadcastable(shape));
    return {.inputs = {condition, draw.real(draw.broadcastable(shape), -2, 2), draw.real(shape, -2, 2)},
            .function = [](const Variables& in) { return Variables{F::where(in[0], in[1], in[2])}; },
            .reference =
                [](const References& in) {
                  return References{
                      naive::map([](double c, double x, double y) { return c != 0 ? x : y; }, in[0], in[1], in[2])};
                }};
  });
}

// Windows, diagonals, steps and repetitions of a block of memory in C order.
TEST_CASE("property: as_strided") {
  check_property([](Draw& draw) {
    const Array x = draw.real(draw.shape(1, 3), -2, 2);
    Shape shape;
    Strides strides;
    int64_t low = 0, high = 0;  // places that are reached, from the first one
    for (int64_t axes = draw.integer(0, 3); axes > 0; --axes) {
      const int64_t n = draw.integer(1, 3), stride = draw.integer(-3, 3), reach = (n - 1) * stride;
      if (high - low + std::abs(reach) >= x.size()) continue;
      (reach < 0 ? low : high) += reach;
      shape.push_back(n);
      strides.push_back(stride);
    }
    const int64_t offset = draw.integer(-low, x.size() - 1 - high);
    const auto function = [=](const Variable& v) {
      return F::as_strided(F::concat({F::flatten(v)}, 0), shape, strides, offset);
    };
    return rearranged(x, function, shape, [=, from = x.shape()](const Shape& index) {
      int64_t place = offset;
      for (int k = 0; k < index.ndim(); ++k) place += index[k] * strides[k];
      return same_place({place}, {numel(from)}, from);
    });
  });
}

TEST_CASE("property: masked_fill") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(0, 4, 4, true);
    const double value = static_cast<double>(draw.integer(-8, 8)) / 4;  // which float32 holds
    return {.inputs = {draw.real(shape, -2, 2), draw.booleans(draw.broadcastable(shape))},
            .function = [=](const Variables& in) { return Variables{F::masked_fill(in[0], in[1], value)}; },
            .reference =
                [=](const References& in) {
                  return References{naive::map([=](double x, double m) { return m != 0 ? value : x; }, in[0], in[1])};
                }};
  });
}

}  // namespace
}  // namespace kusari
