#include "kusari/framework/functions/array/as_strided.h"

#include "kusari/framework/functions/array/transpose.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("as_strided sees the memory") {
  const Array x = array<float>({0, 1, 2, 3, 4, 5}, {2, 3});
  CHECK(F::as_strided(x, {3, 2}, {1, 3}).to_vector<float>() == std::vector<float>{0, 3, 1, 4, 2, 5});
  CHECK(F::as_strided(x, {4, 3}, {1, 1}).to_vector<float>() == std::vector<float>{0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5});
  CHECK(F::as_strided(x, {3}, {-2}, 5).to_vector<float>() == std::vector<float>{5, 3, 1});
  CHECK(F::as_strided(x, {2, 2}, {0, 1}, 1).to_vector<float>() == std::vector<float>{1, 2, 1, 2});
  // The offset counts from the memory's start, the default is where the array begins.
  CHECK(F::as_strided(x.at(1), {2}, {1}).to_vector<float>() == std::vector<float>{3, 4});
  CHECK(F::as_strided(x.at(1), {2}, {1}, 0).to_vector<float>() == std::vector<float>{0, 1});
  CHECK(F::as_strided(x, {2}, {1}).array().raw_data() == x.raw_data());
  CHECK_THROWS_AS(F::as_strided(x, {7}, {1}), ValueError);
  CHECK_THROWS_AS(F::as_strided(x, {2}, {-1}), ValueError);
  CHECK_THROWS_AS(F::as_strided(x, {2}, {1, 1}), ValueError);
}

TEST_CASE("as_strided's gradients") {
  struct Case {
    Shape shape;
    Strides strides;
    std::optional<int64_t> offset;
  };
  for (const Case& c : {Case{{3, 2}, {1, 3}, {}},
                        {{4, 3}, {1, 1}, {}},
                        {{3}, {-2}, 5},
                        {{2, 2}, {0, 1}, 1},
                        {{0, 2}, {1, 1}, {}},
                        {{}, {}, 4}}) {
    CAPTURE(to_string(c.shape));
    const auto as_strided = [&](const Variable& x) { return F::as_strided(x, c.shape, c.strides, c.offset); };
    check_gradients(as_strided, uniform({2, 3}, -1, 1));
  }
  const Variable x(uniform({2, 3}, -1, 1));
  CHECK(gradient(F::as_strided(x, {4, 3}, {1, 1}), x) == std::vector<double>{1, 2, 3, 3, 2, 1});
  // Half numbers are summed in float32.
  const Variable half(ones({1}, Dtype::float16));
  const Array gy = array<float>({2048, 1, 1}).astype(Dtype::float16);
  CHECK(gradient(F::as_strided(half, {3}, {0}), half, gy) == std::vector<double>{2050});
}

TEST_CASE("as_strided through views of other memory orders") {
  // x lies transposed: its gradient must come back under its own indices.
  const Variable x(uniform({2, 3}, -1, 1).transpose().contiguous().transpose());
  const Variable y = F::as_strided(x, {6}, {1});
  const Array gy = array<double>({0, 1, 2, 3, 4, 5});
  CHECK(gradient(y, x, gy) == std::vector<double>{0, 2, 4, 1, 3, 5});
  // An element that x holds three times: each has a third of the gradient.
  const Variable repeated(array<double>({7}).broadcast_to({3}));
  CHECK(gradient(F::as_strided(repeated, {2}, {0}), repeated)[0] == doctest::Approx(2.0 / 3));
  // What x does not hold has no gradient.
  const Variable part(uniform({4}, -1, 1).slice(0, 1, 2));
  CHECK(gradient(F::as_strided(part, {4}, {1}, 0), part) == std::vector<double>{1, 1});
}

}  // namespace
}  // namespace kusari
