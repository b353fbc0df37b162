#include "kusari/iterators/weighted_order_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/iterators/iterators_under_test.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::weighted_order_test {
namespace {

using iterators::balanced_weights;
using iterators::WeightedOrderSampler;
using testing::ascending;
using testing::counting;
using testing::Indices;
using testing::IteratorClass;

/// Whether `count` of `draws` is what this probability gives, within 5 deviations: one in two million is outside.
void check_share(int64_t count, int64_t draws, double probability) {
  const auto n = static_cast<double>(draws);
  CAPTURE(count);
  CAPTURE(probability);
  CHECK(std::abs(static_cast<double>(count) - n * probability) <= 5 * std::sqrt(n * probability * (1 - probability)));
}

std::vector<Indices> batches_of(iterators::Iterator& iterator, int count) {
  std::vector<Indices> result;
  for (int i = 0; i < count; ++i) result.push_back(testing::values(iterator.next()));
  return result;
}

}  // namespace

TEST_CASE("with replacement each index comes as often as its share of the weights") {
  constexpr int64_t kDraws = 100'000;
  const double huge = std::numeric_limits<double>::max();
  for (const std::vector<double>& weights :
       {std::vector<double>{0, 3, 1, 0, 6, 0}, {1}, {0.5, 0.5}, {huge, huge, huge / 2, 0}, {1e-310, 3e-310}}) {
    WeightedOrderSampler sampler(weights, {.num_samples = kDraws, .seed = 2});
    std::vector<int64_t> counts(weights.size());
    for (const int64_t i : sampler(ascending(static_cast<int64_t>(weights.size())), 0)) {
      ++counts.at(static_cast<size_t>(i));
    }
    const double largest = *std::max_element(weights.begin(), weights.end());
    double sum = 0;
    for (const double weight : weights) sum += weight / largest;
    for (size_t i = 0; i < weights.size(); ++i) check_share(counts[i], kDraws, weights[i] / largest / sum);
  }
}

TEST_CASE("without replacement each index is drawn in proportion to the weights of those that are left") {
  constexpr int64_t kSweeps = 20'000;
  const std::vector<double> weights = {5, 0, 1, 2};
  const double sum = 8;
  WeightedOrderSampler sampler(weights, {.num_samples = 2, .replacement = false, .seed = 4});
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;
  for (int64_t sweep = 0; sweep < kSweeps; ++sweep) {
    const Indices order = sampler(ascending(2), 0);
    REQUIRE(order.size() == 2);
    ++counts[{order[0], order[1]}];
  }
  for (const int64_t first : {0, 2, 3}) {
    for (const int64_t second : {0, 2, 3}) {
      const double one = weights[static_cast<size_t>(first)], other = weights[static_cast<size_t>(second)];
      check_share(counts[{first, second}], kSweeps, first == second ? 0 : one / sum * other / (sum - one));
      counts.erase({first, second});
    }
  }
  CHECK(counts.empty());  // the example of weight 0 is never drawn

  WeightedOrderSampler all({1, 0, 1e-300, 1e300}, {.num_samples = 3, .replacement = false, .seed = 4});
  CHECK(all(ascending(4), 0) == Indices{3, 0, 2});
}

TEST_CASE("a seed repeats the draws, and leaves the process's stream alone") {
  const std::vector<double> weights(30, 1.0);
  for (const bool replacement : {true, false}) {
    const WeightedOrderSampler::Options options{.replacement = replacement, .seed = 7};
    WeightedOrderSampler a(weights, options), b(weights, options);
    random::seed(1);
    const auto state = random::state();
    const Indices first = a({}, 0), second = a({}, 0);
    CHECK(random::state().offset == state.offset);
    CHECK(first.size() == 30);
    CHECK(first != second);
    CHECK(first == b({}, 0));
    CHECK(second == b({}, 0));

    WeightedOrderSampler of_process(weights, {.replacement = replacement});
    const Indices once = of_process({}, 0);
    CHECK(of_process({}, 0) != once);
    random::seed(1);
    CHECK(of_process({}, 0) == once);
  }
}

TEST_CASE("iterators have sweeps of num_samples") {
  for (const IteratorClass& of : testing::iterator_classes()) {
    CAPTURE(of.name);
    WeightedOrderSampler alone({1, 0, 2, 3}, {.num_samples = 6, .seed = 3});
    Indices expected = alone(ascending(4), 0);
    for (const int64_t i : alone(expected, 0)) expected.push_back(i);

    WeightedOrderSampler sampler({1, 0, 2, 3}, {.num_samples = 6, .seed = 3});
    const auto iterator = of.make(counting(4), 4, {.order_sampler = sampler});
    const auto batches = batches_of(*iterator, 1);
    CHECK(iterator->epoch_detail() == doctest::Approx(4.0 / 6));
    Indices got = batches[0];
    for (const Indices& batch : batches_of(*iterator, 2)) got.insert(got.end(), batch.begin(), batch.end());
    CHECK(got == expected);
    CHECK(iterator->epoch() == 2);

    const auto once = of.make(counting(3), 4,
                              {.repeat = false, .order_sampler = WeightedOrderSampler({0, 0, 1}, {.num_samples = 6})});
    CHECK(testing::values(once->next()) == Indices(4, 2));
    CHECK(testing::values(once->next()) == Indices(2, 2));
    CHECK(once->try_next() == nullptr);
    CHECK(once->epoch() == 1);
    once->reset();
    CHECK(testing::values(once->next()) == Indices(4, 2));
  }
}

TEST_CASE("an iterator with a weighted sampler resumes") {
  const testing::ScratchDirectory scratch;
  for (const IteratorClass& of : testing::iterator_classes()) {
    for (const bool seeded : {true, false}) {
      CAPTURE(of.name);
      CAPTURE(seeded);
      const auto make = [&](uint64_t seed) {
        random::seed(seed);
        WeightedOrderSampler::Options options{.num_samples = 11};
        if (seeded) options.seed = 5;
        return of.make(counting(4), 4, {.order_sampler = WeightedOrderSampler({1, 2, 3, 4}, options), .n_prefetch = 3});
      };
      const auto iterator = make(1);
      batches_of(*iterator, 5);
      serializers::save_npz(scratch / "iterator.npz", *iterator);
      const auto state = random::state();
      const auto expected = batches_of(*iterator, 12);
      const auto resumed = make(2);
      serializers::load_npz(scratch / "iterator.npz", *resumed);
      random::set_state(state);
      CHECK(resumed->epoch() == 1);
      CHECK(resumed->current_position() == 9);
      CHECK(batches_of(*resumed, 12) == expected);
    }
  }
  // Its order names examples that another data set does not have.
  iterators::SerialIterator wide(counting(9), 2, {.order_sampler = WeightedOrderSampler({0, 0, 0, 0, 0, 0, 0, 0, 1})});
  serializers::save_npz(scratch / "wide.npz", wide);
  iterators::SerialIterator narrow(counting(3), 2,
                                   {.order_sampler = WeightedOrderSampler({1, 1, 1}, {.num_samples = 9})});
  CHECK_THROWS_WITH_AS(serializers::load_npz(scratch / "wide.npz", narrow),
                       doctest::Contains("names example 8 but the data set has 3"), ValueError);
  iterators::SerialIterator shorter(
      counting(9), 2, {.order_sampler = WeightedOrderSampler(std::vector<double>(9, 1), {.num_samples = 5})});
  CHECK_THROWS_WITH_AS(serializers::load_npz(scratch / "wide.npz", shorter),
                       doctest::Contains("the stored order has 9 examples but a sweep has 5"), ValueError);
}

TEST_CASE("shards of a weighted sweep make the whole") {
  const auto make = [](int rank, int size) {
    random::seed(6);
    return iterators::SerialIterator(
        counting(5), 4,
        {.order_sampler = WeightedOrderSampler({1, 2, 3, 4, 5}, {.num_samples = 7}), .shard = {rank, size}});
  };
  iterators::SerialIterator whole = make(0, 1), first = make(0, 2), second = make(1, 2);
  for (int step = 0; step < 6; ++step) {
    random::seed(static_cast<uint64_t>(step));
    const Indices all = testing::values(whole.next());
    random::seed(static_cast<uint64_t>(step));
    const Indices even = testing::values(first.next());
    random::seed(static_cast<uint64_t>(step));
    const Indices odd = testing::values(second.next());
    CHECK(all == Indices{even.at(0), odd.at(0), even.at(1), odd.at(1)});
    CHECK(first.epoch_detail() == whole.epoch_detail());
  }
}

TEST_CASE("balanced weights draw each class equally often") {
  for (const Dtype dtype : {Dtype::int32, Dtype::int64, Dtype::uint8}) {
    const Array labels = array<int64_t>({7, 7, 2, 7, 7, 2, 200}).astype(dtype);
    CHECK(balanced_weights(labels) == std::vector<double>{0.25, 0.25, 0.5, 0.25, 0.25, 0.5, 1});
  }
  CHECK(balanced_weights(zeros({0}, Dtype::int32)).empty());
  CHECK_THROWS_WITH_AS(balanced_weights(ones({2, 1}, Dtype::int32)),
                       "balanced_weights: labels has shape (2, 1) and dtype int32: it must be (N), integers",
                       TypeError);
  CHECK_THROWS_AS(balanced_weights(ones({2})), TypeError);
  CHECK_THROWS_AS(balanced_weights(Array()), TypeError);
}

TEST_CASE("weights that cannot be drawn from") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH_AS(WeightedOrderSampler({1, -2}),
                       "WeightedOrderSampler: weights[1] is -2: it must be finite and not negative", ValueError);
  CHECK_THROWS_WITH_AS(WeightedOrderSampler({1, 1, nan}),
                       "WeightedOrderSampler: weights[2] is nan: it must be finite and not negative", ValueError);
  CHECK_THROWS_AS(WeightedOrderSampler({inf, 1}), ValueError);
  CHECK_THROWS_WITH_AS(WeightedOrderSampler({0, 0, 0}),
                       "WeightedOrderSampler: none of the 3 weights is positive: at least one must be", ValueError);
  CHECK_THROWS_AS(WeightedOrderSampler({}), ValueError);
  CHECK_THROWS_WITH_AS(WeightedOrderSampler({1, 1}, {.num_samples = 0}),
                       "WeightedOrderSampler: num_samples is 0: it must be positive", ValueError);
  CHECK_THROWS_WITH_AS(WeightedOrderSampler({1, 0, 1}, {.replacement = false}),
                       "WeightedOrderSampler: num_samples is 3: without replacement it must be at most the number of "
                       "positive weights, 2",
                       ValueError);
  CHECK_NOTHROW(WeightedOrderSampler({1, 0, 1}, {.num_samples = 2, .replacement = false}));
  for (const IteratorClass& of : testing::iterator_classes()) {
    CHECK_THROWS_WITH_AS(of.make(counting(3), 1, {.order_sampler = WeightedOrderSampler({1, 1})}),
                         "WeightedOrderSampler: there are 3 examples and 2 weights: it must be one for each",
                         ValueError);
  }
  WeightedOrderSampler endless({1}, {.num_samples = std::numeric_limits<int64_t>::max()});
  CHECK_THROWS_AS(endless({}, 0), OutOfMemoryError);
}

}  // namespace kusari::weighted_order_test
