#include "kusari/framework/functions/math/top_k.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/tests/functions/testing.h"

namespace kusari::top_k_test {
namespace {

using namespace testing;
using Places = std::vector<int32_t>;

TEST_CASE("top_k") {
  const Variable x(array<float>({3, 1, 4, 1, 5, 9, 2, 6}, {2, 4}));
  const auto [values, indices] = F::top_k(x, 2);
  check_close(values, {2, 2}, {4, 3, 9, 6});
  CHECK(indices.dtype() == Dtype::int32);
  CHECK(indices.to_vector<int32_t>() == Places{2, 0, 1, 3});
  const auto [columns, rows] = F::top_k(x, 1, 0);
  check_close(columns, {1, 4}, {5, 9, 4, 6});
  CHECK(rows.to_vector<int32_t>() == Places{1, 1, 0, 1});
  CHECK(F::top_k(x, 0).values.shape() == Shape{2, 0});
  CHECK(F::top_k(Variable(zeros({0, 3})), 2).values.shape() == Shape{0, 2});
  CHECK(F::top_k(Variable(array<int64_t>({3, 8, 1})), 2).values.to_vector<int64_t>() == std::vector<int64_t>{8, 3});
}

TEST_CASE("top_k of equal numbers, infinities and NaN") {
  const auto inf = std::numeric_limits<float>::infinity();
  const auto places = [](const std::vector<float>& values, int64_t k) {
    return F::top_k(Variable(array(values)), k).indices.to_vector<int32_t>();
  };
  CHECK(places({2, 7, 7, 2, 7}, 5) == Places{1, 2, 4, 0, 3});
  CHECK(places({1, NAN, inf, NAN, -inf}, 5) == Places{1, 3, 2, 0, 4});
  CHECK(places({-inf, -inf, 0}, 3) == Places{2, 0, 1});
}

TEST_CASE("top_k sorts as a stable sort does") {
  for (const int64_t n : {1, 2, 17, 1000}) {
    const int64_t rows = n < 1000 ? 5 : 2;
    const Array x = uniform({rows, n}, -1, 1).astype(Dtype::float16);  // with equal numbers
    const auto values = x.astype(Dtype::float32).to_vector<float>();
    for (const int64_t k : {int64_t{1}, (n + 1) / 2, n}) {
      const Places got = F::top_k(Variable(x), k).indices.to_vector<int32_t>();
      for (int64_t row = 0; row < rows; ++row) {
        Places expected(static_cast<size_t>(n));
        std::iota(expected.begin(), expected.end(), 0);
        std::stable_sort(expected.begin(), expected.end(), [&](int32_t a, int32_t b) {
          return values[static_cast<size_t>(row * n + a)] > values[static_cast<size_t>(row * n + b)];
        });
        expected.resize(static_cast<size_t>(k));
        CHECK(Places(got.begin() + row * k, got.begin() + (row + 1) * k) == expected);
      }
    }
  }
}

TEST_CASE("top_k's gradients") {
  for (const int64_t axis : {-1, 1, 0}) {
    check_gradients([&](const Variable& x) { return F::top_k(x, 2, axis).values; }, uniform({3, 4, 2}, -1, 1));
  }
}

TEST_CASE("top_k is one function, whose places have no gradient") {
  const Variable x(uniform({2, 4, 3}, -1, 1));
  const auto [values, indices] = F::top_k(x, 2);
  REQUIRE(values.creator());
  CHECK(std::string(values.creator()->name()) == "top_k");
  CHECK_FALSE(indices.requires_grad());
}

TEST_CASE("top_k in a static graph") {
  StaticGraph replayed([](const Variable& x) { return F::top_k(x, 2).values; });
  StaticGraph replayed_places([](const Variable& x) { return F::top_k(x, 2, 0).indices; });
  for (int i = 0; i < 3; ++i) {
    const Variable x(uniform({4, 6}, -1, 1), false);
    CHECK(replayed(x).to_vector<float>() == F::top_k(x, 2).values.to_vector<float>());
    CHECK(replayed_places(x).to_vector<int32_t>() == F::top_k(x, 2, 0).indices.to_vector<int32_t>());
  }
}

TEST_CASE("top_k of too much") {
  CHECK_THROWS_WITH_AS(F::top_k(ones({2, 3}), 4), "F::top_k: k is 4: it must be in [0, 3], the length of axis -1",
                       ValueError);
  CHECK_THROWS_AS(F::top_k(ones({2, 3}), -1), ValueError);
  CHECK_THROWS_AS(F::top_k(ones({2, 3}), 1, 2), IndexError);
  CHECK_THROWS_AS(F::top_k(ones({}), 1), IndexError);
  CHECK_THROWS_AS(F::top_k(Variable(), 1), TypeError);
}

}  // namespace
}  // namespace kusari::top_k_test
