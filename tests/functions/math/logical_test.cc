#include "kusari/framework/functions/math/logical.h"

#include <cmath>
#include <cstdint>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("logical functions: what is not 0 is true, in any dtype") {
  for (const Dtype dtype : {Dtype::bool_, Dtype::uint8, Dtype::int64, Dtype::float16, Dtype::float32}) {
    CAPTURE(name(dtype));
    const Variable a(array<double>({0, 1}, {2, 1}, test_device()).astype(dtype));
    const Variable b(array<double>({0, 1}, test_device()).astype(dtype));
    check_close(F::logical_and(a, b), {2, 2}, {0, 0, 0, 1});
    check_close(F::logical_or(a, b), {2, 2}, {0, 1, 1, 1});
    check_close(F::logical_xor(a, b), {2, 2}, {0, 1, 1, 0});
    check_close(F::logical_not(a), {2, 1}, {1, 0});
    CHECK(F::logical_and(a, b).dtype() == Dtype::bool_);
    CHECK(F::logical_not(a).dtype() == Dtype::bool_);
    CHECK_FALSE(F::logical_or(a, b).requires_grad());
  }
  const Array x = array<float>({NAN, -0.f, 0.25f}, test_device());
  check_close(F::logical_not(x), {3}, {0, 1, 0});
  check_close(F::logical_and(x, int_ones({3})), {3}, {1, 0, 1});
  CHECK_THROWS_AS(F::logical_and(ones({2}), ones({3})), TypeError);
  CHECK_THROWS_WITH_AS(F::logical_not(Variable()), "F::logical_not: x is not given: it is required", TypeError);
}

/// Two integers of T through every function against the language's operators.
template <class T>
void check_bits() {
  CAPTURE(name(dtype_of<T>));
  std::vector<T> left, right;
  for (const int a : {0, 1, 5, 100, 127, -1, -128}) {
    for (const int b : {0, 3, 77, 127, -2}) left.push_back(static_cast<T>(a)), right.push_back(static_cast<T>(b));
  }
  const Variable a(array(left, test_device()), false), b(array(right, test_device()), false);
  std::vector<T> both, either, one, none;
  for (size_t i = 0; i < left.size(); ++i) {
    both.push_back(static_cast<T>(left[i] & right[i]));
    either.push_back(static_cast<T>(left[i] | right[i]));
    one.push_back(static_cast<T>(left[i] ^ right[i]));
    none.push_back(static_cast<T>(~left[i]));
  }
  CHECK(F::bitwise_and(a, b).template to_vector<T>() == both);
  CHECK(F::bitwise_or(a, b).template to_vector<T>() == either);
  CHECK(F::bitwise_xor(a, b).template to_vector<T>() == one);
  CHECK(F::bitwise_not(a).template to_vector<T>() == none);
  CHECK(F::bitwise_and(a, b).dtype() == dtype_of<T>);
  for (int places = 0; places < static_cast<int>(8 * sizeof(T)); ++places) {
    CAPTURE(places);
    const Variable by(full({}, places, dtype_of<T>, test_device()), false);
    std::vector<T> up, down;
    for (const T v : left) {
      up.push_back(static_cast<T>(static_cast<uint64_t>(v) << places));
      down.push_back(static_cast<T>(v >> places));
    }
    CHECK(F::left_shift(a, by).template to_vector<T>() == up);
    CHECK(F::right_shift(a, by).template to_vector<T>() == down);
  }
}

TEST_CASE("bitwise functions and shifts of every integer dtype") {
  check_bits<uint8_t>();
  check_bits<int8_t>();
  check_bits<int32_t>();
  check_bits<int64_t>();
}

TEST_CASE("bitwise functions of bools are the logical ones") {
  const Array a = array<int>({0, 0, 1, 1}, test_device()).astype(Dtype::bool_);
  const Array b = array<int>({0, 1, 0, 1}, test_device()).astype(Dtype::bool_);
  check_close(F::bitwise_and(a, b), {4}, {0, 0, 0, 1});
  check_close(F::bitwise_or(a, b), {4}, {0, 1, 1, 1});
  check_close(F::bitwise_xor(a, b), {4}, {0, 1, 1, 0});
  check_close(F::bitwise_not(a), {4}, {1, 1, 0, 0});
  CHECK(F::bitwise_not(a).dtype() == Dtype::bool_);
}

TEST_CASE("shifts out of the dtype") {
  const Array x = array<int64_t>({5, -5}, {2, 1}, test_device()), by = array<int64_t>({64, 1000, -1}, test_device());
  CHECK(F::left_shift(x, by).to_vector<int64_t>() == std::vector<int64_t>{0, 0, 0, 0, 0, 0});
  CHECK(F::right_shift(x, by).to_vector<int64_t>() == std::vector<int64_t>{0, 0, 0, -1, -1, 0});
  const Array bytes = array<uint8_t>({255, 3}, test_device());
  CHECK(F::left_shift(bytes, array<uint8_t>({4, 9}, test_device())).to_vector<int>() == std::vector<int>{240, 0});
}

TEST_CASE("bitwise functions refuse what has no bits") {
  CHECK_THROWS_WITH_AS(F::bitwise_and(ones({2}), int_ones({2})),
                       "F::bitwise_and: a has dtype float32: a.dtype must be an integer dtype or bool", TypeError);
  CHECK_THROWS_WITH_AS(F::bitwise_not(ones({2})),
                       "F::bitwise_not: x has dtype float32: x.dtype must be an integer dtype or bool", TypeError);
  CHECK_THROWS_WITH_AS(F::left_shift(int_ones({2}), ones({2}, Dtype::bool_)),
                       "F::left_shift: b has dtype bool: b.dtype must be an integer dtype", TypeError);
  CHECK_THROWS_WITH_AS(F::bitwise_or(int_ones({2}), ones({2}, Dtype::int32)),
                       "F::bitwise_or: a has dtype int64 but b has dtype int32: a.dtype must equal b.dtype", TypeError);
  CHECK_THROWS_AS(F::bitwise_xor(int_ones({2}), int_ones({3})), TypeError);
}

}  // namespace
}  // namespace kusari
