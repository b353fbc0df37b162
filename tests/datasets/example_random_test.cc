#include "kusari/framework/datasets/example_random.h"

#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/transform_dataset.h"
#include "kusari/framework/datasets/tuple_dataset.h"

using namespace kusari;
using namespace kusari::datasets;

namespace {

std::vector<uint64_t> draw(ExampleRandom random, int n = 6) {
  std::vector<uint64_t> values;
  for (int i = 0; i < n; ++i) values.push_back(random.bits());
  return values;
}

}  // namespace

TEST_CASE("ExampleRandom: seed, epoch and index make a stream of their own") {
  CHECK(draw(ExampleRandom(1, 2, 3)) == draw(ExampleRandom(1, 2, 3)));
  std::set<uint64_t> all;
  for (uint64_t seed : {0, 1, 7}) {
    for (int64_t epoch : {0, 1, 2}) {
      for (int64_t index : {0, 1, 50000}) {
        for (uint64_t value : draw(ExampleRandom(seed, epoch, index))) all.insert(value);
      }
    }
  }
  CHECK(all.size() == 27 * 6);
}

TEST_CASE("ExampleRandom: moments and ranges") {
  constexpr int kDraws = 20000;
  double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0, fourth = 0;
  std::vector<int> counts(7, 0);
  // A number from each of many streams, as training uses them.
  for (int i = 0; i < kDraws; ++i) {
    ExampleRandom random(5, i % 10, i);
    const double u = random.uniform(-1, 3);
    REQUIRE(u >= -1);
    REQUIRE(u < 3);
    sum += u;
    squares += u * u;
    ++counts.at(static_cast<size_t>(random.integer(7)));
    const double n = random.normal(2, 3);
    normal_sum += n;
    normal_squares += (n - 2) * (n - 2);
    fourth += std::pow((n - 2) / 3, 4);
  }
  // Five standard errors.
  CHECK(sum / kDraws == doctest::Approx(1).epsilon(0.04));
  CHECK(squares / kDraws - 1 == doctest::Approx(4.0 / 3).epsilon(0.05));
  CHECK(normal_sum / kDraws == doctest::Approx(2).epsilon(0.05));
  CHECK(normal_squares / kDraws == doctest::Approx(9).epsilon(0.05));
  CHECK(fourth / kDraws == doctest::Approx(3).epsilon(0.12));
  for (int count : counts) CHECK(count == doctest::Approx(kDraws / 7.0).epsilon(0.09));
  ExampleRandom random(1);
  CHECK(random.integer(1) == 0);
  CHECK(random.uniform(2, 2) == 2);
  CHECK_FALSE(random.chance(0));
  CHECK(random.chance(1));
  CHECK_THROWS_WITH_AS(random.integer(0), "ExampleRandom::integer: n is 0, it must be at least 1", ValueError);
}

TEST_CASE("TransformDataset hands a stream of random numbers to its function") {
  const TupleDataset numbers(arange(4));
  const TransformDataset noisy(numbers, [](const Example& example, ExampleRandom& draws) {
    return Example{example[0], array<double>({draws.uniform()}, Shape{})};
  });
  CHECK(noisy.size() == 4);
  const auto sweep = [&] {
    std::vector<double> values;
    for (int64_t i = 0; i < 4; ++i) values.push_back(noisy[i][1].item<double>());
    return values;
  };
  random::seed(3);
  const std::vector<double> first = sweep(), second = sweep();
  CHECK(std::set<double>(first.begin(), first.end()).size() == 4);
  CHECK(first != second);
  random::seed(3);
  CHECK(sweep() == first);
  CHECK(sweep() == second);
  CHECK(noisy[2][0].item<int>() == 2);
  {
    const ExampleRandomScope scope(9, 4, 2);
    ExampleRandom expected(9, 4, 2);
    CHECK(noisy[2][1].item<double>() == expected.uniform());
    {
      const ExampleRandomScope inner(9, 5, 2);
      ExampleRandom other(9, 5, 2);
      CHECK(noisy[2][1].item<double>() == other.uniform());
    }
  }
  // An example that is another one outside: each of them has numbers of its own.
  const auto within = [&](int64_t outer, int64_t i) {
    const ExampleRandomScope scope(9, 4, outer);
    return noisy[i][1].item<double>();
  };
  std::set<double> different;
  for (int64_t outer = 0; outer < 6; ++outer) {
    for (int64_t i = 0; i < 4; ++i) {
      CHECK(within(outer, i) == within(outer, i));
      different.insert(within(outer, i));
    }
  }
  CHECK(different.size() == 24);
  // Transforms of transforms draw different numbers, the same ones in an equal scope.
  const TransformDataset twice(noisy, [](const Example& example, ExampleRandom& draws) {
    return Example{example[1], array<double>({draws.uniform()}, Shape{})};
  });
  const auto draw_twice = [&] {
    const ExampleRandomScope scope(1, 0);
    const Example example = twice[3];
    return std::pair(example[0].item<double>(), example[1].item<double>());
  };
  CHECK(draw_twice() == draw_twice());
  CHECK(draw_twice().first != draw_twice().second);
  CHECK(noisy[2][1].item<double>() != noisy[2][1].item<double>());
  CHECK_THROWS_AS(noisy[4], IndexError);
  CHECK_THROWS_AS(TransformDataset(numbers, TransformDataset::RandomTransform()), ValueError);
}
