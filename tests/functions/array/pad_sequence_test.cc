#include "kusari/framework/functions/array/pad_sequence.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("pad_sequence") {
  const Array a = array<float>({1, 2, 3}), b = array<float>({4}), none = empty({0});
  CHECK(F::pad_sequence({a, b, none}).shape() == Shape{3, 3});
  CHECK(F::pad_sequence({a, b, none}).to_vector<float>() == std::vector<float>{1, 2, 3, 4, 0, 0, 0, 0, 0});
  CHECK(F::pad_sequence({b, a}, {.length = 4, .padding = -1}).to_vector<float>() ==
        std::vector<float>{4, -1, -1, -1, 1, 2, 3, -1});
  CHECK(F::pad_sequence({none, none}).shape() == Shape{2, 0});
  const Variable ids =
      F::pad_sequence({Variable(array<int32_t>({7, 8}), false), Variable(array<int32_t>({9}), false)}, {.padding = -1});
  CHECK(ids.dtype() == Dtype::int32);
  CHECK(ids.to_vector<int32_t>() == std::vector<int32_t>{7, 8, 9, -1});
  // Steps with more axes, in another memory order.
  const Array x = uniform({2, 3}, -1, 1), y = uniform({2, 3}, -1, 1, 2).transpose().contiguous().transpose();
  CHECK(F::pad_sequence({x, y}).shape() == Shape{2, 2, 3});
  CHECK(F::pad_sequence({x, y}).array().at(1).to_vector<double>() == y.to_vector<double>());
  const auto pad = [](const Variable& u, const Variable& v) { return F::pad_sequence({u, v}, {.length = 3}); };
  check_gradients(pad, uniform({3, 2}, -1, 1), uniform({1, 2}, -1, 1));
  check_gradients(pad, uniform({0, 2}, -1, 1), uniform({2, 2}, -1, 1));
}

TEST_CASE("pad_sequence refuses what does not fit") {
  CHECK_THROWS_WITH_AS(F::pad_sequence({}), "F::pad_sequence: there must be at least one array", ValueError);
  CHECK_THROWS_AS(F::pad_sequence({ones({2, 3}), ones({2, 4})}), TypeError);
  CHECK_THROWS_AS(F::pad_sequence({ones({2}), ones({2}, Dtype::float64)}), TypeError);
  CHECK_THROWS_AS(F::pad_sequence({ones({2}), ones({3})}, {.length = 2}), TypeError);
}

}  // namespace
}  // namespace kusari
