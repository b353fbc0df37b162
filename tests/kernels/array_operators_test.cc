#include "kusari/framework/kernels/array_operators.h"

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/tests/test_device.h"

// Expected values and dtypes: NumPy 2's, but that an integer with a float gives the float.

namespace kusari {
namespace {

using testing::test_device;
using Values = std::vector<double>;
using Bools = std::vector<bool>;

constexpr Dtype kAll[] = {Dtype::uint8,   Dtype::int8,     Dtype::int32,   Dtype::int64,
                          Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};

Array make(const Values& values, Dtype dtype) { return array(values, test_device()).astype(dtype); }

void check(const Array& y, Dtype dtype, const Shape& shape, const Values& expected) {
  CHECK(y.dtype() == dtype);
  REQUIRE(y.shape() == shape);
  const Values values = y.to_vector<double>();
  for (size_t i = 0; i < expected.size(); ++i) CHECK(values[i] == doctest::Approx(expected[i]).epsilon(1e-2));
}

TEST_CASE("arithmetic of arrays in every dtype") {
  for (const Dtype dtype : kAll) {
    CAPTURE(name(dtype));
    const Array a = make({6, 7, 8}, dtype), b = make({3, 2, 4}, dtype);
    check(a + b, dtype, {3}, {9, 9, 12});
    check(a - b, dtype, {3}, {3, 5, 4});
    check(a * b, dtype, {3}, {18, 14, 32});
    check(a / b, is_floating(dtype) ? dtype : Dtype::float32, {3}, {2, 3.5, 2});
    check(a + 2, dtype, {3}, {8, 9, 10});
    check(2 + a, dtype, {3}, {8, 9, 10});
    check(a - 2, dtype, {3}, {4, 5, 6});
    check(10 - a, dtype, {3}, {4, 3, 2});
    check(a * 3, dtype, {3}, {18, 21, 24});
    check(3 * a, dtype, {3}, {18, 21, 24});
    const Dtype real = is_floating(dtype) ? dtype : Dtype::float32;
    check(a / 2, real, {3}, {3, 3.5, 4});
    check(42 / a, real, {3}, {7, 6, 5.25});
    check(a * 1.5, real, {3}, {9, 10.5, 12});
    check(0.5 + a, real, {3}, {6.5, 7.5, 8.5});
    check(a - 0.5, real, {3}, {5.5, 6.5, 7.5});
    check(0.5 - a, real, {3}, {-5.5, -6.5, -7.5});
    check(+a, dtype, {3}, {6, 7, 8});
    if (dtype != Dtype::uint8) check(-a, dtype, {3}, {-6, -7, -8});
  }
}

TEST_CASE("arithmetic of two dtypes promotes") {
  for (const Dtype a : kAll) {
    for (const Dtype b : kAll) {
      CAPTURE(name(a));
      CAPTURE(name(b));
      check(make({2, 3}, a) + make({5, 7}, b), promote(a, b), {2}, {7, 10});
      check(make({2, 3}, a) * make({5, 7}, b), promote(a, b), {2}, {10, 21});
    }
  }
  check(make({1, 0}, Dtype::bool_) + make({3, 4}, Dtype::int8), Dtype::int8, {2}, {4, 4});
  check(make({1, 0}, Dtype::bool_) * make({3, 4}, Dtype::float32), Dtype::float32, {2}, {3, 0});
  check(make({1, 0}, Dtype::bool_) + 1, Dtype::int64, {2}, {2, 1});
  check(make({1, 0}, Dtype::bool_) + make({1, 0}, Dtype::bool_), Dtype::bool_, {2}, {1, 0});
  const auto dtype = using_config(&Config::dtype, DtypePolicy(Dtype::float64));
  CHECK((make({1}, Dtype::int32) * 0.5).dtype() == Dtype::float64);
  CHECK((make({1}, Dtype::int32) / make({2}, Dtype::int32)).dtype() == Dtype::float64);
}

TEST_CASE("arrays broadcast") {
  const Array column = make({1, 2}, Dtype::float32).reshape({2, 1}), row = make({10, 20, 30}, Dtype::float32);
  check(column + row, Dtype::float32, {2, 3}, {11, 21, 31, 12, 22, 32});
  check(row - column, Dtype::float32, {2, 3}, {9, 19, 29, 8, 18, 28});
  check(array(2.0f, test_device()) * row, Dtype::float32, {3}, {20, 40, 60});
  check(array(2.0f, test_device()) * array(3.0f, test_device()), Dtype::float32, {}, {6});
  check(ones({0, 3}) + row.to_device(Device()), Dtype::float32, {0, 3}, {});
  CHECK((column < row).shape() == Shape{2, 3});
  CHECK_THROWS_WITH_AS(row + make({1, 2}, Dtype::float32),
                       "add: shapes (3,) and (2,) do not broadcast: axis 0 has sizes 3 and 2", TypeError);
  CHECK_THROWS_AS(row == make({1, 2}, Dtype::float32), TypeError);
}

TEST_CASE("integers are exact beyond 2^53, and numbers that do not fit are refused") {
  const int64_t large = (int64_t{1} << 53) + 1;
  const Array x = array<int64_t>({large, -1}, test_device());
  using Integers = std::vector<int64_t>;
  CHECK((x + large).to_vector<int64_t>() == Integers{2 * large, large - 1});
  CHECK((x - large).to_vector<int64_t>() == Integers{0, -1 - large});
  CHECK((large - x).to_vector<int64_t>() == Integers{0, large + 1});
  CHECK((x * large).to_vector<int64_t>()[1] == -large);
  CHECK((x == large).to_vector<bool>() == Bools{true, false});
  CHECK((x == large - 1).to_vector<bool>() == Bools{false, false});
  CHECK((x < large).to_vector<bool>() == Bools{false, true});
  CHECK((large > x).to_vector<bool>() == Bools{false, true});
  CHECK_THROWS_WITH_AS(make({1}, Dtype::uint8) + 256,
                       "operator+: the number 256 does not fit into an array of dtype uint8", ValueError);
  CHECK_THROWS_AS(make({1}, Dtype::int8) * 128, ValueError);
  CHECK_THROWS_AS(make({1}, Dtype::int32) - (int64_t{1} << 31), ValueError);
  CHECK_THROWS_AS(-1 - make({1}, Dtype::uint8), ValueError);
}

TEST_CASE("comparisons of arrays in every dtype") {
  for (const Dtype dtype : kAll) {
    CAPTURE(name(dtype));
    const Array a = make({1, 2, 3}, dtype), b = make({3, 2, 1}, dtype);
    CHECK((a == b).dtype() == Dtype::bool_);
    CHECK((a == b).to_vector<bool>() == Bools{false, true, false});
    CHECK((a != b).to_vector<bool>() == Bools{true, false, true});
    CHECK((a < b).to_vector<bool>() == Bools{true, false, false});
    CHECK((a <= b).to_vector<bool>() == Bools{true, true, false});
    CHECK((a > b).to_vector<bool>() == Bools{false, false, true});
    CHECK((a >= b).to_vector<bool>() == Bools{false, true, true});
    CHECK((a == 2).to_vector<bool>() == Bools{false, true, false});
    CHECK((a != 2).to_vector<bool>() == Bools{true, false, true});
    CHECK((a < 2).to_vector<bool>() == Bools{true, false, false});
    CHECK((a <= 2).to_vector<bool>() == Bools{true, true, false});
    CHECK((a > 2).to_vector<bool>() == Bools{false, false, true});
    CHECK((a >= 2).to_vector<bool>() == Bools{false, true, true});
    CHECK((2 == a).to_vector<bool>() == Bools{false, true, false});
    CHECK((2 != a).to_vector<bool>() == Bools{true, false, true});
    CHECK((2 < a).to_vector<bool>() == Bools{false, false, true});
    CHECK((2 <= a).to_vector<bool>() == Bools{false, true, true});
    CHECK((2 > a).to_vector<bool>() == Bools{true, false, false});
    CHECK((2 >= a).to_vector<bool>() == Bools{true, true, false});
    // A real number is not rounded to an integer.
    CHECK((a < 1.5).to_vector<bool>() == Bools{true, false, false});
    CHECK((a == 1.5).to_vector<bool>() == Bools{false, false, false});
    CHECK((2.5 >= a).to_vector<bool>() == Bools{true, true, false});
  }
  // Numbers that the dtype does not hold are compared all the same.
  CHECK((make({1, 255}, Dtype::uint8) < 256).all());
  CHECK((make({1, 255}, Dtype::uint8) > -1).all());
  CHECK((make({1, 0}, Dtype::bool_) == 1).to_vector<bool>() == Bools{true, false});
  // float32 has no room for this integer.
  CHECK(!(array<int32_t>({16777217}, test_device()) == array<float>({16777216}, test_device())));
  // A number is one of the array's dtype.
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    CHECK((full({2}, 0.1, dtype, test_device()) == 0.1).all());
  }
  const Array nan = full({1}, std::nan(""), Dtype::float32, test_device());
  CHECK(!(nan == nan));
  CHECK((nan != nan));
  CHECK(!(nan < 1));
  CHECK(!(nan >= 1));
}

TEST_CASE("the truth of a comparison is that of its only element") {
  const Array a = make({1, 2}, Dtype::float32), one = make({1}, Dtype::float32);
  CHECK((one == 1));
  CHECK(!(one == 2));
  CHECK((array(3) > array(2)));
  CHECK_THROWS_WITH_AS(static_cast<bool>(a == a),
                       "BoolArray: the truth of an array of shape (2,) is not one value: use all() or any()",
                       ValueError);
  CHECK_THROWS_AS(static_cast<bool>(zeros({0}) == 0), ValueError);
  CHECK((a == a).all());
  CHECK(!(a == 1).all());
  CHECK((a == 1).any());
  CHECK(!(a == 3).any());
  CHECK((zeros({0}) == 0).all());
  CHECK(!(zeros({0}) == 0).any());
  CHECK_THROWS_AS(BoolArray{a}, TypeError);
}

TEST_CASE("logic of bools") {
  const Array a = make({1, 1, 0, 0}, Dtype::bool_), b = make({1, 0, 1, 0}, Dtype::bool_);
  CHECK((a & b).to_vector<bool>() == Bools{true, false, false, false});
  CHECK((a | b).to_vector<bool>() == Bools{true, true, true, false});
  CHECK((a ^ b).to_vector<bool>() == Bools{false, true, true, false});
  CHECK((~a).to_vector<bool>() == Bools{false, false, true, true});
  const Array x = make({1, 2, 3, 4}, Dtype::int32);
  CHECK(((x > 1) & (x < 4)).to_vector<bool>() == Bools{false, true, true, false});
  CHECK_THROWS_WITH_AS(x & a, "operator&: an array has dtype int32: it must be bool", TypeError);
  CHECK_THROWS_AS(a - b, TypeError);
  CHECK_THROWS_AS(-a, TypeError);
}

TEST_CASE("assignment in place is seen through every view") {
  const Array x = make({1, 2, 3, 4}, Dtype::float32).reshape({2, 2}), same = x;
  x += 1;
  check(same, Dtype::float32, {2, 2}, {2, 3, 4, 5});
  x.at(0) *= 10;
  check(x, Dtype::float32, {2, 2}, {20, 30, 4, 5});
  x -= make({1, 2}, Dtype::float32);
  check(x, Dtype::float32, {2, 2}, {19, 28, 3, 3});
  x /= 2;
  check(x, Dtype::float32, {2, 2}, {9.5, 14, 1.5, 1.5});
  x /= make({0.5, 1}, Dtype::float64);
  check(x, Dtype::float32, {2, 2}, {19, 14, 3, 1.5});
  x += x;
  check(x, Dtype::float32, {2, 2}, {38, 28, 6, 3});
  const Array y = make({1, 2, 3, 4}, Dtype::int32);
  y.slice(0, 1, 3) += y.slice(0, 0, 3);  // of the values before
  check(y, Dtype::int32, {4}, {1, 3, 5, 7});
  y *= array<int64_t>({2}, test_device());
  check(y, Dtype::int32, {4}, {2, 6, 10, 14});
  y -= 2;
  check(y, Dtype::int32, {4}, {0, 4, 8, 12});
  CHECK_THROWS_WITH_AS(y += 0.5,
                       "operator+=: a has dtype int32, which cannot take a result of dtype float32: convert it first "
                       "(astype)",
                       TypeError);
  CHECK_THROWS_AS(y /= 2, TypeError);
  CHECK_THROWS_AS(y *= make({1, 2, 3, 4}, Dtype::float32), TypeError);
  CHECK_THROWS_WITH_AS(y += ones({2, 4}, Dtype::int32, test_device()),
                       "operator+=: a has shape (4,) but the result has shape (2, 4): they must be equal", TypeError);
  CHECK_THROWS_AS(make({1}, Dtype::float32).broadcast_to({3}) += 1, ValueError);
  CHECK_THROWS_AS(make({1, 0}, Dtype::bool_) += 1, TypeError);
  check(y, Dtype::int32, {4}, {0, 4, 8, 12});
}

TEST_CASE("undefined arrays have no operators") {
  const Array x = ones({2}), none;
  CHECK_THROWS_WITH_AS(x + none, "operator+: b is an undefined array", StateError);
  CHECK_THROWS_WITH_AS(none - x, "operator-: a is an undefined array", StateError);
  CHECK_THROWS_WITH_AS(none * 2, "operator*: a is an undefined array", StateError);
  CHECK_THROWS_WITH_AS(2 / none, "operator/: b is an undefined array", StateError);
  CHECK_THROWS_WITH_AS(none == x, "operator==: a is an undefined array", StateError);
  CHECK_THROWS_WITH_AS(1 < none, "operator<: b is an undefined array", StateError);
  CHECK_THROWS_AS(-none, StateError);
  CHECK_THROWS_AS(~none, StateError);
  CHECK_THROWS_AS(none & x, StateError);
  CHECK_THROWS_AS(none += 1, StateError);
  CHECK_THROWS_AS(x -= none, StateError);
}

}  // namespace
}  // namespace kusari
