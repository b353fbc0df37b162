#include "kusari/framework/xp/creation.h"

#include <cmath>
#include <string>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/functions/array/diagonal.h"
#include "kusari/framework/functions/array/triu.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/xp/without_graph.h"

namespace kusari::xp {
namespace {

Dtype floating_or(const std::optional<Dtype>& given) { return given.value_or(promote(Dtype::int64, 0.5)); }

/// The places of rows, (n, 1), less those of columns, (1, m): where j - i is compared.
Array distances(const char* call, int64_t n, const EyeOptions& options) {
  argument::not_negative(call, "n", n);
  const int64_t m = argument::not_negative(call, "m", options.m.value_or(n));
  checked_numel({n, m}, 8, call);
  const Array rows = kusari::arange(n, Dtype::int64, options.device).reshape({n, 1});
  return kusari::arange(m, Dtype::int64, options.device).reshape({1, m}) - rows;
}

}  // namespace

Array eye(int64_t n, const EyeOptions& options) {
  return (distances("xp::eye", n, options) == options.k).astype(floating_or(options.dtype));
}
Array identity(int64_t n, const CreationOptions& options) {
  return (distances("xp::identity", n, {}) == 0).astype(floating_or(options.dtype)).to_device(options.device);
}
Array tri(int64_t n, const EyeOptions& options) {
  return (distances("xp::tri", n, options) <= options.k).astype(floating_or(options.dtype));
}

Array arange(Scalar start, Scalar stop, Scalar step, const CreationOptions& options) {
  constexpr const char* kCall = "xp::arange";
  const double first = argument::finite(kCall, "start", start.as_double());
  const double end = argument::finite(kCall, "stop", stop.as_double());
  const double stride = argument::finite(kCall, "step", step.as_double());
  argument::require(stride != 0, kCall, "step", stride, "not be 0");
  const bool is_integral = start.is_integral() && stop.is_integral() && step.is_integral();
  const double wanted = std::max(0.0, std::ceil((end - first) / stride));
  if (!(wanted < 0x1p60)) throw ValueError(std::string(kCall) + ": there are more numbers than any array has");
  auto count = static_cast<int64_t>(wanted);
  const Dtype dtype = is_integral && !options.dtype ? Dtype::int64 : floating_or(options.dtype);
  checked_numel({count}, 8, kCall);
  if (is_integral) {
    // Exactly, also where float64 has not all integers.
    // The distance as an unsigned number, which has room for that of any two.
    const int64_t low = start.as_int64(), high = stop.as_int64(), by = step.as_int64();
    const bool is_ahead = by > 0 ? high > low : high < low;
    const uint64_t distance = by > 0 ? static_cast<uint64_t>(high) - static_cast<uint64_t>(low)
                                     : static_cast<uint64_t>(low) - static_cast<uint64_t>(high);
    const uint64_t pace = by > 0 ? static_cast<uint64_t>(by) : uint64_t{0} - static_cast<uint64_t>(by);
    count = is_ahead ? static_cast<int64_t>((distance - 1) / pace + 1) : 0;
    std::vector<int64_t> values = host_vector<int64_t>({count}, kCall);
    // i * step may be more than int64 holds where start + i * step is not.
    for (uint64_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + i * static_cast<uint64_t>(by));
    }
    return kusari::array(values).astype(dtype).to_device(options.device);
  }
  std::vector<double> values = host_vector<double>({count}, kCall);
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = first + static_cast<double>(i) * stride;
  return kusari::array(values).astype(dtype).to_device(options.device);
}

Array linspace(double start, double stop, int64_t num, const LinspaceOptions& options) {
  constexpr const char* kCall = "xp::linspace";
  argument::not_negative(kCall, "num", num);
  checked_numel({num}, 8, kCall);
  std::vector<double> values = host_vector<double>({num}, kCall);
  const double parts = static_cast<double>(options.endpoint ? num - 1 : num), step = (stop - start) / parts;
  for (int64_t i = 0; i < num; ++i) {
    values[static_cast<size_t>(i)] = i == 0 ? start : start + static_cast<double>(i) * step;
  }
  if (options.endpoint && num > 1) values.back() = stop;
  return kusari::array(values).astype(floating_or(options.dtype)).to_device(options.device);
}

Arrays meshgrid(std::span<const Array> xs, const MeshgridOptions& options) {
  constexpr const char* kCall = "xp::meshgrid";
  const int n = static_cast<int>(xs.size());
  if (n > kMaxNdim)
    throw ValueError(std::string(kCall) + ": there are more than " + std::to_string(kMaxNdim) + " arrays");
  const auto axis_of = [&](int i) { return !options.ij && n > 1 && i < 2 ? 1 - i : i; };
  Shape shape = Shape::filled(n, 1);
  for (int i = 0; i < n; ++i) {
    const Array& x = xs[static_cast<size_t>(i)];
    expect_array(kCall, "xs", x);
    if (x.ndim() > 1) {
      throw TypeError(std::string(kCall) + ": xs[" + std::to_string(i) + "] has shape " + to_string(x.shape()) +
                      ": it must have one axis");
    }
    shape[axis_of(i)] = x.size();
  }
  Arrays grids;
  for (int i = 0; i < n; ++i) {
    Shape own = Shape::filled(n, 1);
    own[axis_of(i)] = shape[axis_of(i)];
    grids.push_back(xs[static_cast<size_t>(i)].reshape(own).broadcast_to(shape).copy().contiguous());
  }
  return grids;
}

Array diag(const Array& x, int64_t k) {
  constexpr const char* kCall = "xp::diag";
  expect_array(kCall, "x", x);
  if (x.ndim() == 2) return diagonal(x, {.offset = k}).copy();
  if (x.ndim() != 1) {
    throw TypeError(std::string(kCall) + ": x has shape " + to_string(x.shape()) + ": it must have one or two axes");
  }
  argument::require(k > -(int64_t{1} << 40) && k < (int64_t{1} << 40), kCall, "k", k, "be in (-2^40, 2^40)");
  const int64_t n = x.size() + (k < 0 ? -k : k);
  checked_numel({n, n}, 8, kCall);
  const Array y = zeros({n, n}, x.dtype(), x.device());
  if (x.size() > 0) diagonal(y, {.offset = k}).copy_from(x);
  return y;
}

Array diagonal(const Array& x, const DiagonalAxes& axes) {
  expect_array("xp::diagonal", "x", x);
  return without_graph("xp::diagonal", [&] {
    return functions::diagonal(x, {.offset = axes.offset, .axis1 = axes.axis1, .axis2 = axes.axis2}).array();
  });
}

Array trace(const Array& x, const DiagonalAxes& axes) {
  expect_array("xp::trace", "x", x);
  return without_graph("xp::trace", [&] {
    return sum(functions::diagonal(x, {.offset = axes.offset, .axis1 = axes.axis1, .axis2 = axes.axis2}).array(), -1);
  });
}

Array tril(const Array& x, int64_t k) {
  expect_array("xp::tril", "x", x);
  return without_graph("xp::tril", [&] { return functions::tril(x, k).array(); });
}
Array triu(const Array& x, int64_t k) {
  expect_array("xp::triu", "x", x);
  return without_graph("xp::triu", [&] { return functions::triu(x, k).array(); });
}

Arrays meshgrid(std::initializer_list<Array> xs, const MeshgridOptions& options) {
  return meshgrid(std::span<const Array>(xs.begin(), xs.size()), options);
}

}  // namespace kusari::xp
