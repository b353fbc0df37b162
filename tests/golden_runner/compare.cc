#include "kusari/tests/golden_runner/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace kusari::golden {
namespace {

std::string text(double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%.17g", value);
  return buffer;
}

// "[1, 0, 2]" for the flat index of an element.
std::string position(const Shape& shape, size_t flat) {
  std::string result;
  auto rest = static_cast<int64_t>(flat);
  for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
    result = std::to_string(rest % shape[axis]) + (result.empty() ? "" : ", ") + result;
    rest /= shape[axis];
  }
  return "[" + result + "]";
}

bool equal_nonfinite(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

void compare_integers(const std::string& name, const Array& got, const Array& expected) {
  const std::vector<int64_t> a = got.to_vector<int64_t>(), b = expected.to_vector<int64_t>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) {
      throw Mismatch(name + position(got.shape(), i) + ": expected " + std::to_string(b[i]) + ", got " +
                     std::to_string(a[i]));
    }
  }
}

}  // namespace

void compare(const std::string& name, const Array& got, const Array& expected, Tolerance tolerance,
             const CompareOptions& options) {
  if (!got.is_defined())
    throw Mismatch(name + ": expected an array of shape " + to_string(expected.shape()) + ", got none");
  if (got.shape() != expected.shape()) {
    throw Mismatch(name + ": expected shape " + to_string(expected.shape()) + ", got " + to_string(got.shape()));
  }
  if (!expected.is_floating()) {
    const bool same_kind = !got.is_floating() && (got.dtype() == Dtype::bool_) == (expected.dtype() == Dtype::bool_);
    if (!same_kind) {
      throw Mismatch(name + ": expected dtype " + kusari::name(expected.dtype()) + ", got " +
                     kusari::name(got.dtype()));
    }
    return compare_integers(name, got, expected);
  }
  if (got.dtype() != expected.dtype() && !(options.any_float_dtype && got.is_floating())) {
    throw Mismatch(name + ": expected dtype " + kusari::name(expected.dtype()) + ", got " + kusari::name(got.dtype()));
  }
  const std::vector<double> a = got.to_vector<double>(), b = expected.to_vector<double>();
  if (tolerance.of_largest > 0) {
    double largest = 0;
    for (const double value : b) largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
    tolerance.atol += tolerance.of_largest * largest;
  }
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (equal_nonfinite(a[i], b[i])) continue;
    const double allowed = tolerance.atol + tolerance.rtol * std::abs(b[i]);
    double excess = std::abs(a[i] - b[i]) - allowed;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) excess = INFINITY;
    if (excess > worst) {
      worst = excess;
      at = i;
    }
  }
  if (worst > 0) {
    throw Mismatch(name + position(got.shape(), at) + ": expected " + text(b[at]) + ", got " + text(a[at]) +
                   ", difference " + text(std::abs(a[at] - b[at])) + " is above " +
                   text(tolerance.atol + tolerance.rtol * std::abs(b[at])) + " (atol " + text(tolerance.atol) +
                   " + rtol " + text(tolerance.rtol) + " * |expected|)");
  }
}

void compare(const std::string& name, double got, double expected, Tolerance tolerance) {
  compare(name, array<double>({got}, Shape{}), array<double>({expected}, Shape{}), tolerance);
}

void compare_zero(const std::string& name, const Array& got, Tolerance tolerance) {
  if (got.is_defined()) compare(name, got, zeros_like(got), {0, tolerance.atol});
}

}  // namespace kusari::golden
