#include "kusari/framework/functions/math/modulo.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using F::ModuloSign;

Variable c_modulo(const Variable& a, const Variable& b) { return F::modulo(a, b, ModuloSign::dividend); }
Variable python_modulo(const Variable& a, const Variable& b) { return F::modulo(a, b); }

TEST_CASE("modulo of floating numbers") {
  const Array a = array<double>({-7.5, -2.25, 0.5, 3.75, 9.5, 1}), b = array<double>({2, 1.5, 3, -2, 2.5, -4});
  check_forward(
      python_modulo, [](double x, double y) { return x - y * std::floor(x / y); }, a, b);
  check_forward(
      c_modulo, [](double x, double y) { return std::fmod(x, y); }, a, b);
  check_gradients(python_modulo, a, b);
  check_gradients(c_modulo, a, b);
  check_gradients(python_modulo, array<double>({7.5, 2.25}, {2, 1}), array<double>({2, 1.6, 4}));
}

TEST_CASE("modulo of integers: by 0 it is 0") {
  const std::vector<int64_t> values = {-9, -4, -1, 0, 1, 3, 9, 100}, divisors = {-5, -2, -1, 0, 1, 2, 7};
  std::vector<double> python, c;
  for (const int64_t x : values) {
    for (const int64_t y : divisors) {
      const int64_t r = y == 0 ? 0 : x % y;
      c.push_back(static_cast<double>(r));
      python.push_back(static_cast<double>(r != 0 && (r < 0) != (y < 0) ? r + y : r));
    }
  }
  for (const Dtype dtype : {Dtype::int8, Dtype::int32, Dtype::int64}) {
    const Array a = array(values, {8, 1}, test_device()).astype(dtype),
                b = array(divisors, test_device()).astype(dtype);
    CHECK(F::modulo(a, b).dtype() == dtype);
    check_close(F::modulo(a, b), {8, 7}, python);
    check_close(F::modulo(a, b, ModuloSign::dividend), {8, 7}, c);
  }
  const Array smallest = array<int64_t>({INT64_MIN}, test_device()), minus = array<int64_t>({-1}, test_device());
  CHECK(F::modulo(smallest, minus, ModuloSign::dividend).item<int64_t>() == 0);
}

TEST_CASE("modulo: the gradient by b where a / b is rounded to a whole number") {
  const Variable a(array<float>({1, 6, -1}, test_device())), b(array<float>({0.1f, 0.1f, 0.1f}, test_device()));
  CHECK(gradient(python_modulo(a, b), b) == std::vector<double>{-9, -59, 10});
  CHECK(gradient(c_modulo(a, b), b) == std::vector<double>{-9, -59, 9});
}

TEST_CASE("modulo's errors") {
  CHECK_THROWS_WITH_AS(F::modulo(ones({2}), ones({2}, Dtype::float64)),
                       "F::modulo: a has dtype float32 but b has dtype float64: a.dtype must equal b.dtype (float32 != "
                       "float64)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::modulo(ones({2}, Dtype::bool_), ones({2}, Dtype::bool_)),
                       "F::modulo: a has dtype bool: a.dtype must be a number's", TypeError);
  CHECK_THROWS_AS(F::modulo(ones({2}), ones({3})), TypeError);
}

}  // namespace
}  // namespace kusari
