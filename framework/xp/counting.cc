#include "kusari/framework/xp/counting.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/cumprod.h"
#include "kusari/framework/functions/math/cumsum.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/reduce.h"
#include "kusari/framework/kernels/rows.h"
#include "kusari/framework/xp/creation.h"
#include "kusari/framework/xp/indexing.h"
#include "kusari/framework/xp/ordering.h"
#include "kusari/framework/xp/without_graph.h"

namespace kusari::xp {

Array bincount(const Array& x, const BincountOptions& options) {
  constexpr const char* kCall = "xp::bincount";
  expect_array(kCall, "x", x);
  if (x.ndim() != 1 || !is_integral(x.dtype())) {
    throw TypeError(std::string(kCall) + ": x has shape " + to_string(x.shape()) + " and dtype " + name(x.dtype()) +
                    ": it must have one axis and hold integers");
  }
  argument::not_negative(kCall, "minlength", options.minlength);
  Array weights = options.weights;
  if (weights.is_defined()) {
    if (weights.shape() != x.shape()) {
      throw TypeError(std::string(kCall) + ": weights has shape " + to_string(weights.shape()) + " but x has shape " +
                      to_string(x.shape()) + ": they must be the same");
    }
    if (is_integral(weights.dtype())) weights = weights.astype(Dtype::float64);
  } else {
    weights = ones(x.shape(), Dtype::int64, x.device());
  }
  int64_t length = options.minlength;
  if (x.size() > 0) {
    const auto least = min(x).item<int64_t>(), most = max(x).item<int64_t>();
    argument::require(least >= 0, kCall, "the smallest number of x", least, "not be negative");
    argument::require(most < int64_t{1} << 48, kCall, "the largest number of x", most, "be below 2^48");
    length = std::max(length, most + 1);
  }
  const Array counts =
      zeros({length, 1}, promote(weights.dtype(), weights.is_floating() ? Dtype::float32 : Dtype::int64), x.device());
  if (x.size() > 0) {
    launch<kernels::AddRows>(x.device(), kernels::RowLookup{.call = kCall},
                             weights.astype(counts.dtype()).contiguous().reshape({x.size(), 1}),
                             x.astype(Dtype::int64).contiguous(), counts);
  }
  return counts.reshape({length}).astype(weights.dtype());
}

Histogram histogram(const Array& x, const Array& edges) {
  constexpr const char* kCall = "xp::histogram";
  expect_array(kCall, "x", x);
  expect_array(kCall, "edges", edges);
  if (edges.ndim() != 1 || edges.size() < 2) {
    throw TypeError(std::string(kCall) + ": edges has shape " + to_string(edges.shape()) +
                    ": it must have one axis and two elements at least");
  }
  const Array bounds = edges.astype(Dtype::float64);
  if (!BoolArray(bounds.slice(0, 0, edges.size() - 1) <= bounds.slice(0, 1, edges.size() - 1)).all()) {
    throw ValueError(std::string(kCall) + ": edges does not ascend: each must be at least the one before");
  }
  const Array values = x.reshape({x.size()}).astype(Dtype::float64);
  const int64_t bins = edges.size() - 1;
  // A number belongs to the part that begins at or before it; the last end to the last part.
  const Array first = bounds.slice(0, 0, 1), last = bounds.slice(0, bins, 1);
  const Array inside = (values >= first) & (values <= last);
  const Array parts = minimum(searchsorted(bounds, values, {.right = true}) - 1, bins - 1);
  return {bincount(compress(inside, parts), {.minlength = bins}), bounds};
}

Histogram histogram(const Array& x, int64_t bins, const std::optional<std::pair<double, double>>& range) {
  constexpr const char* kCall = "xp::histogram";
  expect_array(kCall, "x", x);
  argument::require(bins >= 1 && bins < int64_t{1} << 48, kCall, "bins", bins, "be in [1, 2^48)");
  double low = 0, high = 1;
  if (range) {
    std::tie(low, high) = *range;
  } else if (x.size() > 0) {
    low = min(x).item<double>();
    high = max(x).item<double>();
  }
  argument::finite(kCall, "the range's start", low);
  argument::finite(kCall, "the range's end", high);
  if (low > high) {
    throw ValueError(std::string(kCall) + ": the range is from " + argument::text_of(low) + " to " +
                     argument::text_of(high) + ": it must ascend");
  }
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  return histogram(x, linspace(low, high, bins + 1, {.dtype = Dtype::float64, .device = x.device()}));
}

Array count_nonzero(const Array& x, const Axes& axis) {
  expect_array("xp::count_nonzero", "x", x);
  return reduce_as(Dtype::int64, kernels::Sum{}, (x != 0).astype(Dtype::int64),
                   axis.mask(x.ndim(), "xp::count_nonzero"));
}

Array cumsum(const Array& x, std::optional<int64_t> axis) {
  expect_array("xp::cumsum", "x", x);
  return without_graph("xp::cumsum", [&] { return functions::cumsum(x, axis).array(); });
}
Array cumprod(const Array& x, std::optional<int64_t> axis) {
  expect_array("xp::cumprod", "x", x);
  return without_graph("xp::cumprod", [&] { return functions::cumprod(x, axis).array(); });
}

Array diff(const Array& x, int64_t n, int64_t axis) {
  expect_array("xp::diff", "x", x);
  argument::not_negative("xp::diff", "n", n);
  const int at = normalize_axis(axis, x.ndim(), "xp::diff");
  Array y = x.copy();
  for (int64_t i = 0; i < n && y.shape()[at] > 0; ++i) {
    const int64_t size = y.shape()[at] - 1;
    const Array low = y.slice(at, 0, size), high = y.slice(at, std::min<int64_t>(1, size), size);
    y = y.dtype() == Dtype::bool_ ? Array(high ^ low) : high - low;
  }
  return y;
}

Array var(const Array& x, const SpreadOptions& options) {
  constexpr const char* kCall = "xp::var";
  expect_array(kCall, "x", x);
  const AxisMask mask = options.axis.mask(x.ndim(), kCall);
  const Array values = x.astype(promote(x.dtype(), 0.5));
  const double left = static_cast<double>(reduced_count(x.shape(), mask)) - static_cast<double>(options.ddof);
  const Array squares = square(values - mean(values, options.axis, true));
  return sum(squares, options.axis, options.keepdims) / std::max(left, 0.0);
}
Array std(const Array& x, const SpreadOptions& options) {
  expect_array("xp::std", "x", x);
  return sqrt(var(x, options));
}

}  // namespace kusari::xp
