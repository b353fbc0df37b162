#include "kusari/framework/functions/math/nansum.h"

#include <cmath>
#include <limits>

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

const double kNan = std::nan(""), kInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("nansum passes over NaN alone") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Array x =
        on_test_device(array<double>({1, kNan, 3, kNan, kNan, kNan, kInfinity, kNan, 2}, {3, 3})).astype(dtype);
    CHECK(F::nansum(x, 1).dtype() == dtype);
    check_close(F::nansum(x, 1), {3}, {4, 0, kInfinity});
    check_close(F::nansum(x, 0, true), {1, 3}, {kInfinity, 0, 5});
    check_close(F::nansum(x), {}, {kInfinity});
    check_close(F::nansum(x, {}), {3, 3}, {1, 0, 3, 0, 0, 0, kInfinity, 0, 2});
    check_close(F::nansum(x.transpose(), {.axis = 0}), {3}, {4, 0, kInfinity});
    check_close(F::nansum(x, {0, -1}), {}, {kInfinity});
  }
  check_close(F::nansum(on_test_device(array<double>({kInfinity, -kInfinity}))), {}, {kNan});
  check_close(F::nansum(on_test_device(zeros({0, 3})), 0), {3}, {0, 0, 0});
}

TEST_CASE("nansum accumulates half types in float32, and integers in int64") {
  const Array x = ones({4097}, Dtype::float16, test_device());
  x.slice(0, 0, 1).fill(kNan);
  CHECK(F::nansum(x).item<float>() == 4096);
  const Variable bytes = F::nansum(full({300}, 200, Dtype::uint8, test_device()));
  CHECK(bytes.dtype() == Dtype::int64);
  CHECK(bytes.item<int64_t>() == 60000);
}

TEST_CASE("nansum's gradients") {
  for (const Axes& axis : {Axes(std::nullopt), Axes(1), Axes{0, -1}, Axes{}}) {
    for (const bool keepdims : {false, true}) {
      check_gradients([&](const Variable& x) { return F::nansum(x * x, axis, keepdims); }, uniform({2, 3, 4}, -1, 1));
    }
  }
  const Variable x(on_test_device(array<double>({1, kNan, 3, kNan}, {2, 2})));
  check_close(array<double>(gradient(F::nansum(x, 1), x, on_test_device(array<double>({2, 5})))), {4}, {2, 0, 5, 0});
  // Of integers, in their dtype, as sum's.
  const Variable whole(array<int32_t>({1, 2}, test_device()));
  F::nansum(whole).backward();
  CHECK(whole.grad().dtype() == Dtype::int32);
  CHECK(whole.grad().to_vector<int32_t>() == std::vector<int32_t>{1, 1});
}

TEST_CASE("nansum over wrong axes") {
  CHECK_THROWS_WITH_AS(F::nansum(ones({2, 3}), {0, -2}), "F::nansum: axis -2 comes twice", ValueError);
  CHECK_THROWS_WITH_AS(F::nansum(ones({2, 3}), 2), doctest::Contains("F::nansum: axis 2"), IndexError);
}

}  // namespace
}  // namespace kusari
