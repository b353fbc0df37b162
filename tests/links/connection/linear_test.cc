#include "kusari/framework/links/connection/linear.h"

#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

namespace kusari::testing {
namespace {

TEST_CASE("Linear: y = x W^T + b") {
  L::Linear linear(2, 3, {.initial_w = array<float>({1, 2, 3, 4, 5, 6}, {3, 2}), .initial_bias = 0.5});
  const Variable x(array<float>({1, 1, 2, 0}, {2, 2}));
  CHECK(linear(x).to_vector<double>() == std::vector<double>{3.5, 7.5, 11.5, 2.5, 6.5, 10.5});
}

TEST_CASE("Linear takes its input size from the first batch") {
  for (L::Linear linear : {L::Linear(4), L::Linear(kInfer, 4)}) {
    CHECK(!linear.W.is_initialized());
    CHECK(linear(Variable(ones({2, 3, 5}))).shape() == Shape{2, 4});
    CHECK(linear.W.shape() == Shape{4, 15});
  }
  L::Linear batched(4);
  CHECK(batched(Variable(ones({2, 3, 5})), 2).shape() == Shape{2, 3, 4});
  CHECK(batched.W.shape() == Shape{4, 5});
  L::Linear unknown(4);
  for (const int axes : {0, -1, std::numeric_limits<int>::min()}) {
    CHECK_THROWS_WITH_AS(unknown(Variable(ones({2, 3, 5})), axes), doctest::Contains("F::linear: n_batch_axes is"),
                         ValueError);
    CHECK(!unknown.W.is_initialized());
  }
}

}  // namespace
}  // namespace kusari::testing
