#include "kusari/iterators/bucket_order_sampler.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::bucket_order_test {
namespace {

using iterators::BucketOrderSampler;

std::vector<int64_t> lengths_of(int64_t n) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < n; ++i) lengths.push_back(5 + i * i % 97);
  return lengths;
}
std::vector<int64_t> identity(int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  return order;
}

}  // namespace

TEST_CASE("batches of equal lengths, each example once") {
  const auto lengths = lengths_of(1003);
  BucketOrderSampler sampler(lengths, 10, {.pool = 50, .seed = 1});
  const auto order = sampler(identity(1003), 0);
  CHECK(std::set<int64_t>(order.begin(), order.end()).size() == 1003);
  double spread = 0;
  std::vector<int64_t> firsts;
  for (size_t begin = 0; begin + 10 <= order.size(); begin += 10) {
    int64_t low = 1000, high = 0;
    for (size_t i = begin; i < begin + 10; ++i) {
      low = std::min(low, lengths[static_cast<size_t>(order[i])]);
      high = std::max(high, lengths[static_cast<size_t>(order[i])]);
    }
    spread += static_cast<double>(high - low) / 100;
    firsts.push_back(low);
  }
  CHECK(spread < 5);  // of lengths that differ by up to 96; 85 in a random order
  CHECK(!std::is_sorted(firsts.begin(), firsts.end()));
  CHECK(sampler(order, 1000) != order);
  CHECK(BucketOrderSampler(lengths, 10, {.pool = 50, .seed = 1})(identity(1003), 0) == order);
  CHECK(BucketOrderSampler(lengths, 10, {.pool = 50, .seed = 2})(identity(1003), 0) != order);
}

TEST_CASE("a batch over the end of a sweep does not spoil those behind it") {
  constexpr int64_t kExamples = 503, kBatch = 10;
  const auto lengths = lengths_of(kExamples);
  std::vector<int64_t> places = identity(kExamples);
  const datasets::TupleDataset dataset(array(places));
  iterators::SerialIterator iterator(dataset, kBatch,
                                     {.order_sampler = BucketOrderSampler(lengths, kBatch, {.seed = 3})});
  int64_t mixed_batches = 0;
  std::vector<int> seen(kExamples);
  for (int i = 0; i < 3 * kExamples / kBatch; ++i) {
    int64_t low = 1000, high = 0;
    for (const auto& example : iterator.next()) {
      const auto place = static_cast<size_t>(example[0].item<int64_t>());
      ++seen[place];
      low = std::min(low, lengths[place]);
      high = std::max(high, lengths[place]);
    }
    mixed_batches += high - low > 15 ? 1 : 0;
  }
  CHECK(mixed_batches <= 3);  // those at the ends
  CHECK(*std::max_element(seen.begin(), seen.end()) - *std::min_element(seen.begin(), seen.end()) <= 1);
}

TEST_CASE("a sampler goes on where it was saved") {
  const auto lengths = lengths_of(60);
  BucketOrderSampler sampler(lengths, 7, {.seed = 5});
  sampler(identity(60), 0);
  const testing::ScratchDirectory scratch;
  serializers::save_npz(scratch / "sampler.npz", sampler);
  const auto next = sampler(identity(60), 56);
  BucketOrderSampler resumed(lengths, 7, {.seed = 5});
  serializers::load_npz(scratch / "sampler.npz", resumed);
  CHECK(resumed(identity(60), 56) == next);
}

TEST_CASE("samplers that do not fit") {
  CHECK_THROWS_WITH_AS(BucketOrderSampler({1, 2}, 0), "BucketOrderSampler: batch_size is 0: it must be positive",
                       ValueError);
  CHECK_THROWS_AS(BucketOrderSampler({1, 2}, 1, {.pool = 0}), ValueError);
  BucketOrderSampler sampler({1, 2}, 4);
  CHECK_THROWS_WITH_AS(sampler(identity(3), 0),
                       "BucketOrderSampler: there are 3 examples and 2 lengths: it must be one for each", ValueError);
  CHECK(sampler(identity(2), 0).size() == 2);
  CHECK(BucketOrderSampler({}, 4)(identity(0), 0).empty());
}

}  // namespace kusari::bucket_order_test
