#include "kusari/framework/functions/noise/multinomial.h"

#include <cmath>
#include <set>

#include "kusari/framework/core/random.h"
#include "kusari/tests/functions/testing.h"

namespace kusari::multinomial_test {
namespace {

using namespace testing;

TEST_CASE("multinomial draws in proportion") {
  random::seed(3);
  const Variable weights(array<float>({1, 0, 3, 4, 2, 2, 0, 0}, {2, 4}));
  constexpr int kDraws = 4000;
  const Variable drawn = F::multinomial(weights, kDraws, {.replacement = true});
  CHECK(drawn.shape() == Shape{2, kDraws});
  CHECK(drawn.dtype() == Dtype::int32);
  double counts[8] = {};
  const auto places = drawn.to_vector<int32_t>();
  for (size_t i = 0; i < places.size(); ++i) ++counts[i / kDraws * 4 + static_cast<size_t>(places[i])];
  const double expected[8] = {0.125, 0, 0.375, 0.5, 0.5, 0.5, 0, 0};
  for (int i = 0; i < 8; ++i) CHECK(counts[i] / kDraws == doctest::Approx(expected[i]).epsilon(0.05));
}

TEST_CASE("multinomial without replacement") {
  random::seed(4);
  const Variable weights(array<float>({1, 2, 0, 5}));
  double first[4] = {}, second_given_last = 0;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    const auto places = F::multinomial(weights, 3).to_vector<int32_t>();
    CHECK(std::set<int32_t>(places.begin(), places.end()) == std::set<int32_t>{0, 1, 3});
    ++first[places[0]];
    if (places[0] == 3 && places[1] == 1) ++second_given_last;
  }
  CHECK(first[3] / kDraws == doctest::Approx(0.625).epsilon(0.05));
  CHECK(second_given_last / first[3] == doctest::Approx(2.0 / 3).epsilon(0.05));
  random::seed(4);
  const auto again = F::multinomial(weights, 3).to_vector<int32_t>();
  random::seed(4);
  CHECK(F::multinomial(weights, 3).to_vector<int32_t>() == again);
}

TEST_CASE("multinomial of weights that cannot be") {
  CHECK(F::multinomial(ones({3}), 0).shape() == Shape{0});
  CHECK(F::multinomial(zeros({0, 3}), 2).shape() == Shape{0, 2});
  CHECK_THROWS_WITH_AS(F::multinomial(array<float>({1, 0, 2}), 3),
                       "F::multinomial: weights has a row with 2 numbers above 0: it must have at least 3", ValueError);
  CHECK_THROWS_AS(F::multinomial(zeros({3}), 1, {.replacement = true}), ValueError);
  CHECK_THROWS_WITH_AS(F::multinomial(array<float>({1, -1}), 1), doctest::Contains("below 0 or not finite"),
                       ValueError);
  CHECK_THROWS_AS(F::multinomial(array<float>({1, NAN}), 1), ValueError);
  CHECK_THROWS_AS(F::multinomial(array<float>({1, INFINITY}), 1), ValueError);
  CHECK_THROWS_AS(F::multinomial(ones({2}), -1), ValueError);
  CHECK_THROWS_AS(F::multinomial(ones({2, 2, 2}), 1), TypeError);
  CHECK_THROWS_AS(F::multinomial(ones({2}, Dtype::int32), 1), TypeError);
}

}  // namespace
}  // namespace kusari::multinomial_test
