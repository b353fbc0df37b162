#include "kusari/framework/functions/array/grid_sample.h"

#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/sample_bilinear.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/array/take_rows.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/rounding.h"
#include "kusari/framework/kernels/array_math.h"

namespace kusari::functions {
namespace {

constexpr const char* kSampleCall = "F::grid_sample";
constexpr kernels::RowLookup kSampleLookup{.call = kSampleCall, .has_ignored = true, .ignored = -1};
constexpr double kCubic = -0.75;  // as PyTorch and ONNX have it

/// One of the elements along an axis that a place is read from.
struct Tap {
  Array place;      // int64, 0 where there is none
  Array exists;     // bool
  Variable weight;  // undefined: 1
};

/// Mirrors places at the edges of an axis until they are within; without gradient where all of it is one place.
Variable mirrored(const Variable& at, int64_t size, bool align_corners) {
  const double low = align_corners ? 0 : -0.5, span = static_cast<double>(align_corners ? size - 1 : size);
  if (span == 0) return Variable(zeros_like(at.array()), false);
  const Variable distance = absolute(at - low);
  const Array turns = floor(distance / span).array();
  const Variable rest = distance - turns * span;
  const Array is_even = xp::remainder(turns, 2) == 0;
  const Variable inside = where(Variable(is_even, false), rest, span - rest) + low;
  return clip(inside, 0, static_cast<double>(size - 1));
}

/// The grid's numbers for one axis as places among its elements.
Variable places_of(const Variable& coordinate, int64_t size, bool align_corners) {
  const double n = static_cast<double>(size);
  return align_corners ? (coordinate + 1) * ((n - 1) / 2) : ((coordinate + 1) * n - 1) * 0.5;
}

Tap tap_at(const Array& whole, int64_t size, const Variable& weight) {
  const Array exists = (whole >= 0) & (whole < size);
  return {xp::where(exists, whole, 0).astype(Dtype::int64), exists, weight};
}

std::vector<Tap> taps_along(const Variable& coordinate, int64_t size, const GridSampleOptions& options) {
  const double last = static_cast<double>(size - 1);
  Variable at = places_of(coordinate, size, options.align_corners);
  const bool is_cubic = options.mode == GridSampleMode::bicubic;
  if (!is_cubic && options.padding == GridSamplePadding::border) at = clip(at, 0, last);
  if (!is_cubic && options.padding == GridSamplePadding::reflection) at = mirrored(at, size, options.align_corners);
  // Farther places give the same, and an infinite one has no fraction.
  if (is_cubic && options.padding != GridSamplePadding::reflection) at = clip(at, -3, last + 3);
  if (options.padding != GridSamplePadding::zeros) {
    const Variable first(zeros({}, at.dtype(), at.device()), false);
    at = where(Variable(xp::isfinite(at.array()), false), at, first);
  }
  if (options.mode == GridSampleMode::nearest) return {tap_at(xp::rint(at.array()), size, {})};

  const Array before = xp::floor(at.array());
  const Variable t = at - before;
  if (!is_cubic) return {tap_at(before, size, 1 - t), tap_at(before + 1, size, t)};

  const auto inner = [](const Variable& d) { return ((kCubic + 2) * d - (kCubic + 3)) * d * d + 1; };
  const auto outer = [](const Variable& d) { return ((kCubic * d - 5 * kCubic) * d + 8 * kCubic) * d - 4 * kCubic; };
  const Variable weights[] = {outer(t + 1), inner(t), inner(1 - t), outer(2 - t)};
  std::vector<Tap> taps;
  for (int k = 0; k < 4; ++k) {
    Array whole = before + (k - 1);
    if (options.padding == GridSamplePadding::border) whole = xp::clip(whole, 0, last);
    if (options.padding == GridSamplePadding::reflection) {
      whole = xp::rint(mirrored(Variable(whole, false), size, options.align_corners).array());
    }
    taps.push_back(tap_at(whole, size, weights[k]));
  }
  return taps;
}

/// The share of one tap along each axis.
struct Corner {
  Array rows;  // of x as (N pixels, C); -1 where there is none
  Variable weight;
};

/// All combinations of taps. `along`: for each axis.
std::vector<Corner> corners_of(const std::vector<std::vector<Tap>>& along, const Shape& sizes, const Array& example) {
  std::vector<Corner> corners{{example, {}}};
  std::vector<Array> exist{Array()};
  for (size_t axis = 0; axis < along.size(); ++axis) {
    std::vector<Corner> more;
    std::vector<Array> more_exist;
    for (size_t c = 0; c < corners.size(); ++c) {
      for (const Tap& tap : along[axis]) {
        const Variable& weight = corners[c].weight;
        more.push_back({corners[c].rows * sizes[static_cast<int>(axis)] + tap.place,
                        weight.is_defined() && tap.weight.is_defined() ? weight * tap.weight : tap.weight});
        more_exist.push_back(exist[c].is_defined() ? Array(exist[c] & tap.exists) : tap.exists);
      }
    }
    corners = std::move(more);
    exist = std::move(more_exist);
  }
  for (size_t c = 0; c < corners.size(); ++c) corners[c].rows = xp::where(exist[c], corners[c].rows, -1);
  return corners;
}

void expect_grid(const Variable& x, const Variable& grid) {
  expect_floating(x, kSampleCall, "x");
  expect_floating(grid, kSampleCall, "grid");
  const int axes = x.ndim() - 2;
  const bool fits = axes >= 1 && axes <= 3 && grid.ndim() == axes + 2 && grid.shape()[0] == x.shape()[0] &&
                    grid.shape()[axes + 1] == axes;
  if (!fits) {
    throw TypeError(std::string(kSampleCall) + ": x has shape " + to_string(x.shape()) + " and grid has shape " +
                    to_string(grid.shape()) +
                    ": they must be (N, C, in...), with one to three spatial axes, and (N, out..., axes)");
  }
  for (int k = 0; k < axes; ++k) {
    if (x.shape()[2 + k] == 0) {
      throw TypeError(std::string(kSampleCall) + ": x has shape " + to_string(x.shape()) +
                      ": no spatial axis may be empty");
    }
  }
}

}  // namespace

Variable grid_sample(const Variable& x, const Variable& grid, const GridSampleOptions& options) {
  expect_grid(x, grid);
  const int axes = x.ndim() - 2;
  const Dtype wide = x.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  const Variable coordinates = cast(grid, wide);
  const auto coordinate_of = [&](int axis) { return get_item(coordinates, {kEllipsis, axes - 1 - axis}); };
  if (axes == 2 && options.mode == GridSampleMode::bilinear && options.padding == GridSamplePadding::zeros) {
    Variable points[2];
    for (int axis = 0; axis < 2; ++axis) {
      points[1 - axis] = places_of(coordinate_of(axis), x.shape()[2 + axis], options.align_corners);
    }
    return sample_bilinear(x, stack({points[0], points[1]}, 1));
  }

  const int64_t batch = x.shape()[0], channels = x.shape()[1];
  Shape sizes, result{batch};
  std::vector<std::vector<Tap>> along;
  for (int axis = 0; axis < axes; ++axis) {
    sizes.push_back(x.shape()[2 + axis]);
    result.push_back(grid.shape()[1 + axis]);
    along.push_back(taps_along(coordinate_of(axis), sizes[axis], options));
  }
  const int64_t count = numel(result);
  result.push_back(channels);
  Shape per_example = Shape::filled(axes + 1, 1);
  per_example[0] = batch;
  const Array example = host_constant([&] { return arange(batch, Dtype::int64, x.device()).reshape(per_example); });

  const Variable pixels = reshape(moveaxis(cast(x, wide), 1, axes + 1), {batch * numel(sizes), channels});
  Variable y;
  for (const Corner& corner : corners_of(along, sizes, example)) {
    const Variable taken = take_rows(pixels, corner.rows.reshape({count}), kSampleLookup);
    const Variable part = corner.weight.is_defined() ? taken * reshape(corner.weight, {count, 1}) : taken;
    y = y.is_defined() ? y + part : part;
  }
  return cast(moveaxis(reshape(y, result), axes + 1, 1), x.dtype());
}

}  // namespace kusari::functions
