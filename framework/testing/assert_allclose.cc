#include "kusari/framework/testing/assert_allclose.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/number_text.h"

namespace kusari::testing {
namespace {

/// "(1, 0, 2)" of an element's place in C order.
std::string place_of(size_t element, const Shape& shape) {
  Shape place = shape;
  for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
    place[axis] = static_cast<int64_t>(element) % shape[axis];
    element /= static_cast<size_t>(shape[axis]);
  }
  return to_string(place);
}

}  // namespace

TestError::TestError(const std::string& message) : Error(message) {}
TestError::~TestError() = default;

void assert_allclose(const Array& x, const Array& y, const Tolerance& tolerance) {
  argument::at_least_zero("assert_allclose", "atol", tolerance.atol);
  argument::at_least_zero("assert_allclose", "rtol", tolerance.rtol);
  if (!x.is_defined() || !y.is_defined()) {
    if (x.is_defined() == y.is_defined()) return;
    throw TestError(std::string("assert_allclose: ") + (x.is_defined() ? "y" : "x") +
                    " is undefined, the other is not");
  }
  if (x.shape() != y.shape()) {
    throw TestError("assert_allclose: x has shape " + to_string(x.shape()) + " but y has shape " +
                    to_string(y.shape()));
  }
  const std::vector<double> a = x.to_vector<double>(), b = y.to_vector<double>();
  double worst = 0;
  size_t where = 0, wrong = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double excess = std::abs(a[i] - b[i]) - tolerance.atol - tolerance.rtol * std::abs(b[i]);
    if (excess <= 0) continue;
    ++wrong;
    const double size = std::isnan(excess) || std::isinf(b[i]) ? std::numeric_limits<double>::infinity() : excess;
    if (wrong == 1 || size > worst) worst = size, where = i;
  }
  if (wrong == 0) return;
  throw TestError("assert_allclose: " + std::to_string(wrong) + " of " + std::to_string(a.size()) +
                  " elements differ by more than " + general_text(tolerance.atol) + " + " +
                  general_text(tolerance.rtol) + " |y|; most at " + place_of(where, x.shape()) + ": x is " +
                  general_text(a[where]) + ", y is " + general_text(b[where]) + " (shape " + to_string(x.shape()) +
                  ", dtypes " + name(x.dtype()) + " and " + name(y.dtype()) + ")");
}

}  // namespace kusari::testing
