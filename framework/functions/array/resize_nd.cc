#include "kusari/framework/functions/array/resize_nd.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/resize_images.h"
#include "kusari/framework/functions/array/take_rows.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

constexpr const char* kCall = "F::resize_nd";
constexpr kernels::RowLookup kResizeLookup{.call = kCall};
constexpr double kFar = 1e15;                         // integers are exact there, and no axis is as long
constexpr int64_t kFloatIntegers = int64_t{1} << 24;  // float32 has all integers up to this

/// What becomes of one axis.
struct AxisResize {
  int axis = 0;
  int64_t size = 0, new_size = 0;
  double scale = 1;
  double roi_begin = 0, roi_end = 1;

  bool is_identity() const { return size == new_size && std::abs(scale - 1) < 1e-9 && roi_begin == 0 && roi_end == 1; }
  /// Whether the scale is that of the sizes.
  bool is_plain() const {
    const double end = static_cast<double>(new_size);
    return std::abs(scale * static_cast<double>(size) - end) <= 1e-6 * end;
  }
};

/// What an axis' new elements are made of: `taps` old ones each.
struct Taps {
  int64_t taps = 1;
  std::vector<int64_t> places;      // (new size, taps)
  std::vector<double> weights;      // likewise; none: 1
  std::vector<uint8_t> is_outside;  // (new size); none: nothing is
};

/// Where new element i lies among the old ones, by arithmetic of T in ONNX Runtime's order.
template <class T>
T place_of(int64_t i, const AxisResize& a, ResizeCoordinates coordinates) {
  const T y = static_cast<T>(i), n = static_cast<T>(a.size), new_n = static_cast<T>(a.new_size), half = T(0.5);
  const T scale = static_cast<T>(a.scale), length = a.is_plain() ? new_n : scale * n;
  switch (coordinates) {
    case ResizeCoordinates::align_corners:
      return length == 1 ? 0 : y * (n - 1) / (length - 1);
    case ResizeCoordinates::asymmetric:
      return y / scale;
    case ResizeCoordinates::tf_crop_and_resize: {
      const T begin = static_cast<T>(a.roi_begin), end = static_cast<T>(a.roi_end);
      return length == 1 ? half * (begin + end) * (n - 1)
                         : begin * (n - 1) + y * (end - begin) * (n - 1) / (length - 1);
    }
    case ResizeCoordinates::pytorch_half_pixel:
      return length == 1 ? -half : (y + half) / scale - half;
    case ResizeCoordinates::half_pixel_symmetric: {
      const T offset = n / 2 * (1 - new_n / (scale * n));
      return static_cast<T>(offset + (static_cast<double>(i) + 0.5) / scale - 0.5);
    }
    case ResizeCoordinates::tf_half_pixel_for_nn:
      return (y + half) / scale;
    case ResizeCoordinates::half_pixel:
      break;
  }
  return (y + half) / scale - half;
}

double place_in(int64_t i, const AxisResize& a, const ResizeNdOptions& options) {
  // Which one of two elements is the nearest depends on rounding: it is the one that ONNX Runtime takes.
  if (options.mode == ResizeFilter::nearest && std::max(a.size, a.new_size) <= kFloatIntegers) {
    const double place = place_of<float>(i, a, options.coordinates);
    if (std::abs(place) <= kFar) return place;
  }
  return std::clamp(place_of<double>(i, a, options.coordinates), -kFar, kFar);
}

double nearest_to(double place, NearestMode mode) {
  constexpr double kMiddle = 0.5 + 1e-6;  // what float32 makes of a half
  switch (mode) {
    case NearestMode::floor:
      return std::floor(place);
    case NearestMode::ceil:
      return std::ceil(place);
    case NearestMode::round_prefer_floor:
      return std::ceil(place - kMiddle);
    case NearestMode::round_prefer_ceil:
      break;
  }
  return std::floor(place + kMiddle);
}

/// The share of an element at that distance.
double filter_value(double distance, const ResizeNdOptions& options) {
  const double d = std::abs(distance), a = options.cubic_coefficient;
  if (options.mode == ResizeFilter::linear) return std::max(0.0, 1 - d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

Taps taps_of(const AxisResize& a, const ResizeNdOptions& options) {
  Taps result;
  const bool is_nearest = options.mode == ResizeFilter::nearest;
  const double stretch = options.antialias ? std::min(a.scale, 1.0) : 1.0;
  int64_t first = 0;  // the first tap, counted from the old element before the place
  if (!is_nearest) {
    const double reach = (options.mode == ResizeFilter::linear ? 1 : 2) / stretch;
    argument::require(reach < 1e9, kCall, "a scale", a.scale, "not be that small with antialias");
    first = static_cast<int64_t>(std::floor(-reach)) + 1;
    result.taps = 2 - 2 * first;
    result.weights = host_vector<double>({a.new_size, result.taps}, kCall);
  }
  result.places = host_vector<int64_t>({a.new_size, result.taps}, kCall);
  if (options.coordinates == ResizeCoordinates::tf_crop_and_resize) {
    result.is_outside = host_vector<uint8_t>({a.new_size}, kCall);
  }
  for (int64_t i = 0; i < a.new_size; ++i) {
    const auto at = static_cast<size_t>(i);
    const double place = place_in(i, a, options);
    if (!result.is_outside.empty()) {
      result.is_outside[at] = place < 0 || place > static_cast<double>(a.size - 1) ? 1 : 0;
    }
    if (is_nearest) {
      const auto nearest = static_cast<int64_t>(nearest_to(place, options.nearest_mode));
      result.places[at] = std::clamp<int64_t>(nearest, 0, a.size - 1);
      continue;
    }
    // The old element before the place, also where the place is on one.
    const auto before = static_cast<int64_t>(std::ceil(place)) - 1;
    int64_t* const places = result.places.data() + i * result.taps;
    double* const weights = result.weights.data() + i * result.taps;
    double total = 0;
    for (int64_t k = 0; k < result.taps; ++k) {
      const int64_t old = before + first + k;
      const bool counts = !options.exclude_outside || (old >= 0 && old < a.size);
      places[k] = std::clamp<int64_t>(old, 0, a.size - 1);
      weights[k] = counts ? filter_value(stretch * (static_cast<double>(old) - place), options) : 0;
      total += weights[k];
    }
    const bool is_scaled = (options.antialias || options.exclude_outside) && total != 0;
    for (int64_t k = 0; is_scaled && k < result.taps; ++k) weights[k] /= total;
  }
  return result;
}

Variable resize_axis(const Variable& x, const AxisResize& a, const ResizeNdOptions& options) {
  const Taps made = taps_of(a, options);
  const Device device = x.device();
  const Array places = host_constant([&] { return array(made.places, device); });
  const Variable moved = moveaxis(x, a.axis, 0);
  Shape shape = moved.shape();
  const int64_t rest = numel(shape) / a.size;
  shape[0] = a.new_size;

  Variable rows = take_rows(reshape(moved, {a.size, rest}), places, kResizeLookup);
  if (!made.weights.empty()) {
    const Array weights = host_constant([&] {
      return array(made.weights, {a.new_size, made.taps, 1}, device).astype(x.dtype());
    });
    rows = sum(reshape(rows, {a.new_size, made.taps, rest}) * weights, 1);
  }
  if (std::find(made.is_outside.begin(), made.is_outside.end(), 1) != made.is_outside.end()) {
    const Array outside = host_constant([&] {
      return array(made.is_outside, {a.new_size, 1}, device).astype(Dtype::bool_);
    });
    const Array value = host_constant([&] { return full({}, options.extrapolation_value, x.dtype(), device); });
    rows = where(Variable(outside, false), Variable(value, false), rows);
  }
  return moveaxis(reshape(rows, shape), 0, a.axis);
}

[[noreturn]] void refuse_option(const char* option, const std::string& text, const Variable& x, const char* rule) {
  throw ValueError(std::string(kCall) + ": " + option + " is " + text + " but x has shape " + to_string(x.shape()) +
                   ": " + rule);
}

/// One entry for each axis that is named.
std::vector<AxisResize> resized_axes(const Variable& x, const ResizeNdOptions& options) {
  const int ndim = x.ndim();
  Dims axes = options.axes;
  for (int axis = 0; options.axes.empty() && axis < ndim; ++axis) axes.push_back(axis);
  const size_t count = axes.size();
  if (options.sizes.empty() && options.scales.empty() && count > 0) {
    throw ValueError(std::string(kCall) + ": neither sizes nor scales are given: one of them is required");
  }
  const auto expect_count = [&](const char* option, size_t given, size_t wanted) {
    if (given != wanted) {
      throw ValueError(std::string(kCall) + ": " + option + " has " + std::to_string(given) + " numbers but " +
                       std::to_string(count) + " axes are resized: it must have " + std::to_string(wanted));
    }
  };
  if (!options.sizes.empty()) expect_count("sizes", options.sizes.size(), count);
  if (!options.scales.empty()) expect_count("scales", options.scales.size(), count);
  const bool has_roi = options.coordinates == ResizeCoordinates::tf_crop_and_resize;
  if (has_roi) expect_count("roi", options.roi.size(), 2 * count);

  std::vector<AxisResize> result;
  static_cast<void>(axis_mask({axes.begin(), axes.size()}, ndim, kCall));  // throws
  for (size_t i = 0; i < count; ++i) {
    AxisResize a;
    a.axis = normalize_axis(axes[static_cast<int>(i)], ndim, kCall);
    a.size = x.shape()[a.axis];
    if (a.size == 0) refuse_option("axis", std::to_string(a.axis), x, "it has no elements to resize");
    const double n = static_cast<double>(a.size);
    if (!options.scales.empty()) a.scale = argument::finite_positive(kCall, "a scale", options.scales[i]);
    a.new_size = options.sizes.empty() ? static_cast<int64_t>(std::min(std::floor(a.scale * n), kFar))
                                       : options.sizes[static_cast<int>(i)];
    if (a.new_size < 1) refuse_option("a new size", std::to_string(a.new_size), x, "it must be at least 1");
    if (options.scales.empty()) a.scale = static_cast<double>(a.new_size) / n;
    if (has_roi) {
      a.roi_begin = argument::finite(kCall, "roi", options.roi[i]);
      a.roi_end = argument::finite(kCall, "roi", options.roi[count + i]);
    }
    if (!a.is_identity()) result.push_back(a);
  }
  return result;
}

/// Whether nearest elements are those of F::resize_images, at floor(i * size / new size).
bool has_nearest_of_images(const AxisResize& a, const ResizeNdOptions& options) {
  if (options.coordinates != ResizeCoordinates::asymmetric || options.nearest_mode != NearestMode::floor) return false;
  for (int64_t i = 0; i < a.new_size; ++i) {
    if (static_cast<int64_t>(place_in(i, a, options)) != i * a.size / a.new_size) return false;
  }
  return true;
}

/// Whether F::resize_images does the same, in one pass over images.
bool is_image_resize(const Variable& x, const std::vector<AxisResize>& axes, const ResizeNdOptions& options) {
  if (!is_floating(x.dtype()) || x.ndim() != 4 || x.size() == 0 || options.exclude_outside || options.antialias) {
    return false;
  }
  const bool is_simple = std::all_of(axes.begin(), axes.end(), [](const AxisResize& a) {
    return a.axis >= 2 && a.is_plain() && a.size > 1 && a.new_size > 1;
  });
  if (!is_simple) return false;
  switch (options.mode) {
    case ResizeFilter::nearest:
      return std::all_of(axes.begin(), axes.end(),
                         [&](const AxisResize& a) { return has_nearest_of_images(a, options); });
    case ResizeFilter::linear:
      return options.coordinates == ResizeCoordinates::half_pixel ||
             options.coordinates == ResizeCoordinates::pytorch_half_pixel ||
             options.coordinates == ResizeCoordinates::align_corners;
    case ResizeFilter::cubic:
      break;
  }
  return false;
}

}  // namespace

Variable resize_nd(const Variable& x, const ResizeNdOptions& options) {
  expect_given(x, kCall, "x");
  if (options.mode != ResizeFilter::nearest) expect_floating(x, kCall, "x");
  argument::finite(kCall, "cubic_coefficient", options.cubic_coefficient);
  const std::vector<AxisResize> axes = resized_axes(x, options);
  if (axes.empty()) return x;
  if (is_image_resize(x, axes, options)) {
    Dims sizes{x.shape()[2], x.shape()[3]};
    for (const AxisResize& a : axes) sizes[a.axis - 2] = a.new_size;
    return resize_images(x, sizes,
                         {.mode = options.mode == ResizeFilter::nearest ? ResizeMode::nearest : ResizeMode::bilinear,
                          .align_corners = options.coordinates == ResizeCoordinates::align_corners});
  }
  const bool is_widened = is_half(x.dtype()) && options.mode != ResizeFilter::nearest;
  Variable y = is_widened ? cast(x, Dtype::float32) : x;
  for (const AxisResize& a : axes) y = resize_axis(y, a, options);
  return cast(y, x.dtype());
}

}  // namespace kusari::functions
