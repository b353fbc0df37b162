#include "kusari/framework/datasets/dataset.h"

#include <memory>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/concatenated_dataset.h"
#include "kusari/framework/datasets/sub_dataset.h"
#include "kusari/framework/datasets/transform_dataset.h"
#include "kusari/framework/datasets/tuple_dataset.h"

using namespace kusari;
using namespace kusari::datasets;

namespace {

/// Example i is the number i.
class Numbers final : public Dataset {
 public:
  explicit Numbers(int64_t n) : n_{n} {}
  int64_t size() const override { return n_; }
  Example get(int64_t i) const override {
    check_index("Numbers::get", i, n_);
    return {array<int64_t>({i}, Shape{})};
  }

 private:
  int64_t n_;
};

std::vector<int64_t> values(const Dataset& dataset) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < dataset.size(); ++i) result.push_back(dataset.get(i)[0].item<int64_t>());
  return result;
}

using Values = std::vector<int64_t>;

}  // namespace

TEST_CASE("TupleDataset gives views of rows") {
  const Array x = arange(12).reshape({4, 3}), t = arange(4, Dtype::int32);
  const TupleDataset dataset(x, t);
  CHECK(dataset.size() == 4);
  const Example example = dataset[2];
  CHECK(example.size() == 2);
  CHECK(example[0].to_vector<int>() == std::vector<int>{6, 7, 8});
  CHECK(example[1].shape() == Shape{});
  CHECK(example[1].item<int>() == 2);
  CHECK(&example[0].storage() == &x.storage());
  CHECK(dataset[-1][1].item<int>() == 3);
  CHECK_THROWS_WITH_AS(dataset[4], "TupleDataset::get: index 4 is out of range: the data set has 4 examples",
                       IndexError);
  CHECK_THROWS_AS(dataset[-5], IndexError);
  CHECK(TupleDataset(t)[1][0].item<int>() == 1);
  CHECK_THROWS_WITH_AS(
      TupleDataset(x, arange(3)),
      "TupleDataset: array 1 has shape (3,) but array 0 has shape (4, 3): the first axes must be equal", ValueError);
  CHECK_THROWS_AS(TupleDataset(Example{}), ValueError);
  CHECK_THROWS_AS(TupleDataset(zeros({})), ValueError);
  CHECK_THROWS_AS(TupleDataset(Example{Array()}), ValueError);
}

TEST_CASE("DatasetRef refers to lvalues, owns rvalues and shares pointers") {
  const Numbers three(3);
  CHECK(&*DatasetRef(three) == &three);
  const DatasetRef owned(Numbers(4));
  CHECK(values(*owned) == Values{0, 1, 2, 3});
  auto shared = std::make_shared<Numbers>(2);
  const DatasetRef pointer(shared);
  CHECK(&*pointer == shared.get());
  CHECK(shared.use_count() == 2);
}

TEST_CASE("SubDataset: a range, with and without an order") {
  const Numbers five(5);
  CHECK(values(SubDataset(five, 1, 4)) == Values{1, 2, 3});
  CHECK(values(SubDataset(five, 1, 4, {4, 3, 2, 1, 0})) == Values{3, 2, 1});
  CHECK(values(SubDataset(five, 5, 5)).empty());
  CHECK(values(SubDataset(Numbers(3), 0, 2)) == Values{0, 1});
  CHECK_THROWS_AS(SubDataset(five, 1, 4)[3], IndexError);
  CHECK_THROWS_WITH_AS(SubDataset(five, 2, 6), "SubDataset: examples 2 .. 6 are asked for, but the data set has 5",
                       ValueError);
  CHECK_THROWS_AS(SubDataset(five, 3, 2), ValueError);
  CHECK_THROWS_AS(SubDataset(five, -1, 2), ValueError);
  CHECK_THROWS_WITH_AS(SubDataset(five, 0, 2, {0, 1}),
                       "SubDataset: the order has 2 entries, but the data set has 5 examples", ValueError);
}

TEST_CASE("split_dataset and its relatives") {
  const Numbers five(5);
  const auto [first, second] = split_dataset(five, 3);
  CHECK(values(first) == Values{0, 1, 2});
  CHECK(values(second) == Values{3, 4});
  const auto [a, b] = split_dataset(five, 2, {4, 3, 2, 1, 0});
  CHECK(values(a) == Values{4, 3});
  CHECK(values(b) == Values{2, 1, 0});
  CHECK_THROWS_AS(split_dataset(five, 6), ValueError);
  CHECK_THROWS_AS(split_dataset(five, -1), ValueError);

  // chainer.datasets.split_dataset_n leaves the rest out.
  const auto parts = split_dataset_n(Numbers(7), 3);
  CHECK(parts.size() == 3);
  CHECK(values(parts[0]) == Values{0, 1});
  CHECK(values(parts[2]) == Values{4, 5});
  CHECK_THROWS_AS(split_dataset_n(five, 0), ValueError);
}

TEST_CASE("random splits are permutations, and the same for the same seed") {
  const Numbers many(100);
  const auto [a, b] = split_dataset_random(many, 30, 5);
  Values all = values(a);
  CHECK(all.size() == 30);
  CHECK(all != values(SubDataset(many, 0, 30)));
  for (int64_t v : values(b)) all.push_back(v);
  CHECK(std::set<int64_t>(all.begin(), all.end()).size() == 100);
  CHECK(values(split_dataset_random(many, 30, 5).first) == values(a));
  CHECK(values(split_dataset_random(many, 30, 6).first) != values(a));
  random::seed(3);
  const Values stream = values(split_dataset_random(many, 30).first);
  CHECK(values(split_dataset_random(many, 30).first) != stream);
  random::seed(3);
  CHECK(values(split_dataset_random(many, 30).first) == stream);
  CHECK(split_dataset_n_random(many, 4, 1).size() == 4);
}

TEST_CASE("get_cross_validation_datasets cuts as Chainer does") {
  // chainer.datasets.get_cross_validation_datasets(range(7), 3) of Chainer 7.8.1.
  const auto folds = get_cross_validation_datasets(Numbers(7), 3);
  REQUIRE(folds.size() == 3);
  CHECK(values(folds[0].first) == Values{0, 1, 2, 3});
  CHECK(values(folds[0].second) == Values{4, 5, 6});
  CHECK(values(folds[1].first) == Values{4, 5, 6, 0, 1});
  CHECK(values(folds[1].second) == Values{2, 3});
  CHECK(values(folds[2].first) == Values{2, 3, 4, 5, 6});
  CHECK(values(folds[2].second) == Values{0, 1});
  std::set<int64_t> validated;
  for (const auto& [train, validation] : get_cross_validation_datasets_random(Numbers(20), 4, 1)) {
    CHECK(train.size() == 15);
    for (int64_t v : values(validation)) validated.insert(v);
  }
  CHECK(validated.size() == 20);
  CHECK_THROWS_AS(get_cross_validation_datasets(Numbers(3), 4), ValueError);
  CHECK_THROWS_AS(get_cross_validation_datasets(Numbers(3), 0), ValueError);
}

TEST_CASE("ConcatenatedDataset puts data sets one after the other") {
  const Numbers two(2);
  const ConcatenatedDataset all({two, Numbers(0), Numbers(3)});
  CHECK(values(all) == Values{0, 1, 0, 1, 2});
  CHECK(all[-1][0].item<int>() == 2);
  CHECK_THROWS_AS(all[5], IndexError);
  CHECK(ConcatenatedDataset({}).size() == 0);
}

TEST_CASE("TransformDataset calls its function at each access") {
  int calls = 0;
  const TransformDataset doubled(Numbers(3), [&calls](const Example& example) {
    ++calls;
    return Example{array<int64_t>({2 * example[0].item<int64_t>()}, Shape{}), example[0]};
  });
  CHECK(values(doubled) == Values{0, 2, 4});
  CHECK(doubled[1].size() == 2);
  CHECK(calls == 4);
  CHECK_THROWS_AS(doubled[3], IndexError);
  CHECK_THROWS_AS(TransformDataset(Numbers(3), nullptr), ValueError);
}
