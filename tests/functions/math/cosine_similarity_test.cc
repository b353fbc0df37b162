#include "kusari/framework/functions/math/cosine_similarity.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("cosine_similarity") {
  const Array x = array<double>({3, 4, 1, 0, -2, -2}, {3, 2}), y = array<double>({4, 3, 0, 5, 1, 1}, {3, 2});
  for (const Dtype dtype : kFloatingDtypes) {
    const Variable z = F::cosine_similarity(x.astype(dtype), y.astype(dtype));
    CHECK(z.dtype() == dtype);
    check_close(z, {3}, {24.0 / 25, 0, -1});
  }
  check_close(F::cosine_similarity(x, y, 0), {2},
              {(12 - 2) / std::sqrt((9 + 1 + 4.0) * (16 + 1)), (12 - 2) / std::sqrt((16 + 4.0) * (9 + 25 + 1))});
  // Each of x to each of y.
  const Variable all = F::cosine_similarity(x.reshape({3, 1, 2}), y, -1);
  CHECK(all.shape() == Shape{3, 3});
  check_close(all.array().slice(1, 1, 1).copy().reshape({3}), {3}, {0.8, 0, -std::sqrt(0.5)});
  CHECK(F::cosine_similarity(zeros({0, 2}), zeros({0, 2})).shape() == Shape{0});
  // Squares that float16 has no room for.
  CHECK(F::cosine_similarity(full({1, 4}, 3e4, Dtype::float16), full({1, 4}, 2e4, Dtype::float16)).item<float>() == 1);
}

TEST_CASE("cosine_similarity has gradients, also at vectors of zeros") {
  const auto cosine = [](const Variable& a, const Variable& b) { return F::cosine_similarity(a, b, 1); };
  check_gradients(cosine, uniform({3, 4}, 0.5, 2, 1), uniform({3, 4}, -2, -0.5, 2));
  check_gradients([](const Variable& a, const Variable& b) { return F::cosine_similarity(a, b, -1); },
                  uniform({2, 1, 3}, 0.5, 2, 3), uniform({4, 3}, -2, -0.5, 4));
  // With norms below eps the quotient is a product: y = x1 x2 / eps^2.
  check_gradients([](const Variable& a, const Variable& b) { return F::cosine_similarity(a, b, 1, 10); },
                  uniform({2, 3}, -1, 1, 5), uniform({2, 3}, -1, 1, 6));
  const Variable zero(zeros({1, 2}, Dtype::float64)), other(array<double>({3, 4}, {1, 2}));
  const Variable y = F::cosine_similarity(zero, other, 1, 0.5);
  CHECK(y.item<double>() == 0);
  check_close(Variable(array(gradient(y, zero), {2})), {2}, {3 / 5.0 / 0.5, 4 / 5.0 / 0.5});
  CHECK(gradient(F::cosine_similarity(zero, other, 1, 0.5), other) == std::vector<double>{0, 0});
}

TEST_CASE("cosine_similarity of zeros with an eps whose square is no number of the dtype") {
  const Variable zero(zeros({1, 3}, Dtype::float32)), other(ones({1, 3}, Dtype::float32));
  const Variable y = F::cosine_similarity(zero, other, 1, 1e-25);
  CHECK(y.item<double>() == 0);
  CHECK(std::isfinite(gradient(y, zero)[0]));
}

TEST_CASE("cosine_similarity of what does not fit") {
  CHECK_THROWS_WITH_AS(
      F::cosine_similarity(ones({2, 2}), ones({2, 2}, Dtype::float64)),
      "F::cosine_similarity: x1 has dtype float32 but x2 has dtype float64: x1.dtype must equal x2.dtype", TypeError);
  CHECK_THROWS_WITH_AS(F::cosine_similarity(ones({2, 2}), ones({2, 2}), 1, -1),
                       "F::cosine_similarity: eps is -1: it must be finite and not negative", ValueError);
  CHECK_THROWS_AS(F::cosine_similarity(ones({2, 2}), ones({2, 3})), TypeError);
  CHECK_THROWS_AS(F::cosine_similarity(ones({2, 2}), ones({2, 2}), 2), IndexError);
  CHECK_THROWS_AS(F::cosine_similarity(int_ones({2, 2}), int_ones({2, 2})), TypeError);
}

}  // namespace
}  // namespace kusari
