#include "kusari/framework/functions/loss/walker_alias.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kusari/framework/core/random.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("WalkerAlias draws by probabilities") {
  random::seed(3);
  for (const std::vector<double>& weights : std::vector<std::vector<double>>{{1, 2, 3, 4},
                                                                             {5},
                                                                             {1, 1, 1},
                                                                             {0, 3, 0, 1, 0},
                                                                             {1e-9, 1, 7, 0.5, 0.5, 2},
                                                                             {5e307, 1e308, 1e308, 0},
                                                                             {5e-324, 5e-324, 0}}) {
    const utils::WalkerAlias sampler(weights, test_device());
    constexpr int64_t kDraws = 200000;
    const Array drawn = sampler.sample({kDraws / 4, 4});
    CHECK(drawn.shape() == Shape{kDraws / 4, 4});
    CHECK(drawn.dtype() == Dtype::int32);
    CHECK(drawn.device() == test_device());
    std::vector<double> counts(weights.size());
    for (const int value : drawn.to_vector<int>()) counts.at(static_cast<size_t>(value)) += 1;
    double total = 0;  // of halves, which do not overflow
    const double half = *std::max_element(weights.begin(), weights.end()) > 1e300 ? 0.5 : 1;
    for (const double w : weights) total += half * w;
    for (size_t i = 0; i < weights.size(); ++i) {
      CAPTURE(i);
      const double p = half * weights[i] / total, deviation = std::sqrt(kDraws * p * (1 - p));
      CHECK(std::abs(counts[i] - kDraws * p) <= 5 * deviation);
      if (p == 0) CHECK(counts[i] == 0);
    }
  }
}

TEST_CASE("WalkerAlias draws what the seed says") {
  const utils::WalkerAlias sampler(std::vector<double>{1, 2, 3}, test_device());
  random::seed(1);
  const std::vector<int> first = sampler.sample({50}).to_vector<int>();
  const std::vector<int> second = sampler.sample({50}).to_vector<int>();
  random::seed(1);
  CHECK(sampler.sample({50}).to_vector<int>() == first);
  CHECK(first != second);
  CHECK(sampler.sample({0, 3}).shape() == Shape{0, 3});
  CHECK(sampler.sample({}).item<int>() < 3);
}

TEST_CASE("WalkerAlias of what are no probabilities") {
  const auto make = [](const std::vector<double>& probs) { return utils::WalkerAlias(probs); };
  CHECK_THROWS_WITH_AS(make({1, -2}), "WalkerAlias: probs[1] is -2: it must be a number that is not negative",
                       ValueError);
  CHECK_THROWS_AS(make({1, std::numeric_limits<double>::quiet_NaN()}), ValueError);
  CHECK_THROWS_AS(make({1, std::numeric_limits<double>::infinity()}), ValueError);
  CHECK_THROWS_WITH_AS(make({0, 0}), "WalkerAlias: probs sum to 0: at least one must be positive", ValueError);
  CHECK_THROWS_AS(make({}), ValueError);
}

}  // namespace
}  // namespace kusari
