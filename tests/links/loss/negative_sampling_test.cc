#include "kusari/framework/links/loss/negative_sampling.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"

namespace kusari::testing {
namespace {

TEST_CASE("NegativeSampling draws by powers of the counts") {
  random::seed(1);
  constexpr int64_t kExamples = 20000;
  links::NegativeSampling link(2, {16, 0, 1}, 3);
  CHECK(link.W.to_vector<double>() == std::vector<double>(6, 0));
  Array samples;
  const Variable x(ones({kExamples, 2}));
  const Array t = full({kExamples}, 1, Dtype::int32);
  const Variable loss = link(x, t, {.return_samples = &samples});
  CHECK(loss.item<double>() == doctest::Approx(kExamples * 4 * std::log(2)));
  CHECK(samples.shape() == Shape{kExamples, 4});
  std::vector<double> counts(3);
  for (const int label : samples.slice(1, 1, 3).to_vector<int>()) counts.at(static_cast<size_t>(label)) += 1;
  // 16^0.75 = 8.
  constexpr double kDraws = 3 * kExamples;
  CHECK(counts[1] == 0);
  CHECK(std::abs(counts[0] - kDraws * 8 / 9) <= 5 * std::sqrt(kDraws * 8 / 81));
  CHECK(samples.slice(1, 0, 1).to_vector<int>() == std::vector<int>(kExamples, 1));
}

TEST_CASE("NegativeSampling's options") {
  CHECK(links::NegativeSampling(2, {1, 1}, 3, {.dtype = Dtype::float64}).W.dtype() == Dtype::float64);
  const Array samples = array<int>({0, 1}, {1, 2});
  links::NegativeSampling link(2, {1, 1}, 1, {.sampler = [&](const Shape&) { return samples; }});
  link.W.array().fill(0.5);
  const Variable x(ones({1, 2})), loss = link(x, array<int>({0}), {.reduce = functions::Reduce::no});
  CHECK(loss.shape() == Shape{1});
  CHECK(loss.item<double>() == doctest::Approx(std::log1p(std::exp(-1.0)) + std::log1p(std::exp(1.0))));
  // With power 0 all labels are as likely.
  links::NegativeSampling even(2, {1, 1000000}, 1, {.power = 0});
  CHECK(even.sampler.sample({100}).to_vector<int>() != std::vector<int>(100, 1));
}

}  // namespace
}  // namespace kusari::testing
