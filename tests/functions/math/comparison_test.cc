#include "kusari/framework/functions/math/comparison.h"

#include <cmath>
#include <functional>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

struct Comparison {
  const char* name;
  Variable (*function)(const Variable&, const Variable&);
  std::function<bool(double, double)> formula;
};
const Comparison kComparisons[] = {
    {"equal", F::equal, std::equal_to<>()},    {"not_equal", F::not_equal, std::not_equal_to<>()},
    {"less", F::less, std::less<>()},          {"less_equal", F::less_equal, std::less_equal<>()},
    {"greater", F::greater, std::greater<>()}, {"greater_equal", F::greater_equal, std::greater_equal<>()}};

TEST_CASE("comparisons of variables broadcast and give bools without a graph") {
  const std::vector<double> left = {-1, 0, 2, NAN}, right = {0, -1, 2, 3, NAN, INFINITY};
  for (const Comparison& c : kComparisons) {
    CAPTURE(c.name);
    for (const Dtype dtype : kFloatingDtypes) {
      const Variable a(array(left, {4, 1}, test_device()).astype(dtype)), b(array(right, test_device()).astype(dtype));
      const Variable y = c.function(a, b);
      REQUIRE(y.shape() == Shape{4, 6});
      CHECK(y.dtype() == Dtype::bool_);
      CHECK_FALSE(y.requires_grad());
      std::vector<double> expected;
      for (const double l : left) {
        for (const double r : right) expected.push_back(c.formula(l, r) ? 1 : 0);
      }
      check_close(y, {4, 6}, expected);
    }
    const std::string name = std::string("F::") + c.name;
    CHECK_THROWS_WITH_AS(c.function(ones({2}), Variable()), (name + ": b is not given: it is required").c_str(),
                         TypeError);
    CHECK_THROWS_AS(c.function(ones({2}), ones({3})), TypeError);
  }
}

TEST_CASE("comparisons are exact between integers, and take two dtypes") {
  const int64_t big = (int64_t{1} << 53) + 1;
  const Array a = array<int64_t>({big, -5, 7}, test_device()), b = array<int64_t>({big - 1, -5, 8}, test_device());
  CHECK(F::greater(a, b).to_vector<bool>() == std::vector<bool>{true, false, false});
  CHECK(F::equal(a, b).to_vector<bool>() == std::vector<bool>{false, true, false});
  const Array real = array<float>({0.5f, -5, 7.5f}, test_device());
  CHECK(F::less(a, real).to_vector<bool>() == std::vector<bool>{false, false, true});
}

TEST_CASE("isnan and isinf") {
  for (const Dtype dtype : kFloatingDtypes) {
    const Variable x(array<double>({0, NAN, INFINITY, -INFINITY, -1}, test_device()).astype(dtype));
    check_close(F::isnan(x), {5}, {0, 1, 0, 0, 0});
    check_close(F::isinf(x), {5}, {0, 0, 1, 1, 0});
    check_close(F::isinf(x, {.negative = false}), {5}, {0, 0, 1, 0, 0});
    check_close(F::isinf(x, {.positive = false}), {5}, {0, 0, 0, 1, 0});
    check_close(F::isinf(x, {.positive = false, .negative = false}), {5}, {0, 0, 0, 0, 0});
    CHECK(F::isinf(x).dtype() == Dtype::bool_);
    CHECK_FALSE(F::isnan(x).requires_grad());
  }
  check_close(F::isnan(int_ones({2})), {2}, {0, 0});
  check_close(F::isinf(int_ones({2})), {2}, {0, 0});
  check_close(F::isinf(int_ones({2}), {.negative = false}), {2}, {0, 0});
  CHECK_THROWS_WITH_AS(F::isnan(Variable()), "F::isnan: x is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari
