#include "kusari/framework/datasets/dict_dataset.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/concatenated_dataset.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/framework/datasets/joined_dataset.h"
#include "kusari/framework/datasets/sub_dataset.h"
#include "kusari/framework/datasets/transform_dataset.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/iterators/multiprocess_iterator.h"
#include "kusari/iterators/multithread_iterator.h"
#include "kusari/iterators/serial_iterator.h"

using namespace kusari;
using namespace kusari::datasets;

namespace {

/// Examples {"x": (i, i + 0.5), "t": 10 i}.
DictDataset numbers(int64_t n) {
  return DictDataset({{"x", (arange(2 * n, Dtype::float32)).reshape({n, 2})}, {"t", arange(n, Dtype::int32)}});
}

const Keys kKeys = {"x", "t"};

}  // namespace

TEST_CASE("DictDataset names the components") {
  const DictDataset dataset = numbers(4);
  CHECK(dataset.size() == 4);
  CHECK(dataset.keys() == kKeys);
  CHECK(dataset.component("t") == 1);
  const Example example = dataset[-1];
  CHECK(example[dataset.component("x")].to_vector<float>() == std::vector<float>{6, 7});
  CHECK(example[dataset.component("t")].item<int>() == 3);
  CHECK_THROWS_WITH_AS(dataset.component("y"), "Dataset::component: there is no key 'y', only 'x' 't'", KeyError);
  CHECK_THROWS_WITH_AS(TupleDataset(arange(2)).component("y"),
                       "Dataset::component: there is no key 'y', the examples are tuples", KeyError);
  CHECK_THROWS_WITH_AS(dataset.get(4), "DictDataset::get: index 4 is out of range: the data set has 4 examples",
                       IndexError);
}

TEST_CASE("DictDataset: what it refuses") {
  CHECK_THROWS_WITH_AS(DictDataset(std::vector<DictDataset::Column>{}), "DictDataset: no arrays are given", ValueError);
  CHECK_THROWS_WITH_AS(DictDataset({{"x", arange(3)}, {"t", arange(4)}}),
                       "DictDataset: 't' has shape (4,) but 'x' has shape (3,): the first axes must be equal",
                       ValueError);
  CHECK_THROWS_WITH_AS(DictDataset({{"x", arange(3)}, {"x", arange(3)}}), "DictDataset: the key 'x' comes twice",
                       ValueError);
  CHECK_THROWS_WITH_AS(DictDataset({{"", arange(3)}}), "DictDataset: a key is empty", ValueError);
  CHECK_THROWS_WITH_AS(DictDataset({{"x", zeros({})}}),
                       "DictDataset: 'x' is a scalar: its first axis must count the examples", ValueError);
  CHECK_THROWS_WITH_AS(DictDataset({{"x", Array()}}), "DictDataset: 'x' is an undefined array", ValueError);
  CHECK_THROWS_WITH_AS(DictDataset(TupleDataset(arange(3)), Keys()), "DictDataset: no keys are given", ValueError);
  CHECK_THROWS_WITH_AS(DictDataset(TupleDataset(arange(3)), {"x", "t"}).get(1),
                       "DictDataset::get: example 1 has 1 components, but there are 2 keys", ValueError);
}

TEST_CASE("data sets pass keys on") {
  const DictDataset dataset = numbers(4);
  CHECK(TupleDataset(arange(3)).keys().empty());
  CHECK(DictDataset(TupleDataset(arange(3)), {"x"}).keys() == Keys{"x"});
  CHECK(SubDataset(dataset, 1, 3).keys() == kKeys);
  CHECK(split_dataset_random(dataset, 2, 1).second.keys() == kKeys);
  CHECK(get_cross_validation_datasets(dataset, 2)[1].first.keys() == kKeys);
  CHECK(ConcatenatedDataset({dataset, dataset}).keys() == kKeys);
  CHECK(ConcatenatedDataset({}).keys().empty());
  CHECK_THROWS_WITH_AS(ConcatenatedDataset({dataset, TupleDataset(arange(3))}),
                       "ConcatenatedDataset: data set 1 has the keys () but data set 0 has ('x', 't')", ValueError);

  const auto same = [](const Example& example) { return example; };
  const auto label = [](const Example& example) { return Example{example[1]}; };
  CHECK(TransformDataset(dataset, same).keys() == kKeys);
  CHECK(TransformDataset(dataset, label, Keys{"t"}).keys() == Keys{"t"});
  CHECK(TransformDataset(dataset, label, Keys{"t"})[2][0].item<int>() == 2);
  CHECK(TransformDataset(dataset, label, Keys()).keys().empty());
  const auto random_label = [](const Example& example, ExampleRandom&) { return Example{example[1]}; };
  CHECK(TransformDataset(dataset, random_label, Keys{"t"})[2][0].item<int>() == 2);
  CHECK_THROWS_WITH_AS(TransformDataset(dataset, label)[0],
                       "TransformDataset::get: the transform gave 1 components, but there are 2 keys: give "
                       "TransformDataset those of what it gives",
                       ValueError);
}

TEST_CASE("JoinedDataset puts data sets side by side") {
  const DictDataset dataset = numbers(3);
  const JoinedDataset joined({dataset, DictDataset({{"weight", arange(3)}})});
  CHECK(joined.size() == 3);
  CHECK(joined.keys() == Keys{"x", "t", "weight"});
  CHECK(joined[2].size() == 3);
  CHECK(joined[2][2].item<int>() == 2);
  CHECK(JoinedDataset({TupleDataset(arange(3)), TupleDataset(arange(3), arange(3))})[1].size() == 3);
  CHECK_THROWS_WITH_AS(joined.get(3), "JoinedDataset::get: index 3 is out of range: the data set has 3 examples",
                       IndexError);
  CHECK_THROWS_WITH_AS(JoinedDataset({}), "JoinedDataset: no data sets are given", ValueError);
  CHECK_THROWS_WITH_AS(JoinedDataset({dataset, numbers(4)}),
                       "JoinedDataset: data set 1 has 4 examples but data set 0 has 3", ValueError);
  CHECK_THROWS_WITH_AS(JoinedDataset({dataset, dataset}), "JoinedDataset: the key 'x' comes twice", ValueError);
  CHECK_THROWS_WITH_AS(JoinedDataset({dataset, TupleDataset(arange(3))}),
                       "JoinedDataset: data set 1 has no keys but data set 0 has some", ValueError);
  CHECK_THROWS_WITH_AS(JoinedDataset({TupleDataset(arange(3)), dataset}),
                       "JoinedDataset: data set 1 has keys but data set 0 has none", ValueError);
}

TEST_CASE("iterators have the keys of their data set") {
  const DictDataset dataset = numbers(6);
  iterators::SerialIterator serial(dataset, 2, {.shuffle = false});
  iterators::MultithreadIterator threads(dataset, 2, {.shuffle = false, .n_threads = 2});
  iterators::MultiprocessIterator processes(dataset, 2, {.shuffle = false, .n_processes = 2});
  for (iterators::Iterator* iterator :
       {static_cast<iterators::Iterator*>(&serial), static_cast<iterators::Iterator*>(&threads),
        static_cast<iterators::Iterator*>(&processes)}) {
    CHECK(iterator->keys() == kKeys);
    for (int i = 0; i < 4; ++i) {
      const Example batch = concat_examples(iterator->next());
      const std::vector<int> expected = {2 * i % 6, 2 * i % 6 + 1};
      CHECK(batch[1].to_vector<int>() == expected);
      CHECK(batch[0].shape() == Shape{2, 2});
    }
    iterator->finalize();
  }
}

TEST_CASE("Padding by key") {
  const std::vector<Example> batch = {{arange(1), arange(3)}, {arange(2), arange(2)}};
  const Padding padding(kKeys, {{"t", -1}, {"x", 7}});
  const Example rows = concat_examples(batch, std::nullopt, padding);
  CHECK(rows[0].to_vector<int>() == std::vector<int>{0, 7, 0, 1});
  CHECK(rows[1].to_vector<int>() == std::vector<int>{0, 1, 2, 0, 1, -1});
  CHECK_THROWS_AS(concat_examples(batch, std::nullopt, Padding(kKeys, {{"x", 7}})), TypeError);
  CHECK_THROWS_WITH_AS(Padding(kKeys, {{"y", 0}}), "Padding: there is no key 'y', only 'x' 't'", KeyError);
}

TEST_CASE("to_device sends arrays, or leaves them where they are") {
  const Example arrays{arange(3), Array()};
  CHECK(to_device(std::nullopt, arrays)[0].is_same(arrays[0]));
  const Example sent = to_device(Device(), arrays);
  CHECK(sent[0].to_vector<int>() == std::vector<int>{0, 1, 2});
  CHECK(!sent[1].is_defined());
}

TEST_CASE("slice and take give lists of examples as Python's indexing does") {
  const TupleDataset ten(arange(10));
  const auto values = [](const std::vector<Example>& examples) {
    std::vector<int> result;
    for (const Example& example : examples) result.push_back(example[0].item<int>());
    return result;
  };
  using V = std::vector<int>;
  // list(range(10))[start:stop:step] of Python.
  CHECK(values(ten.slice({})) == V{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(values(ten.slice({.start = 2, .stop = 5})) == V{2, 3, 4});
  CHECK(values(ten.slice({.start = -3})) == V{7, 8, 9});
  CHECK(values(ten.slice({.stop = -8})) == V{0, 1});
  CHECK(values(ten.slice({.step = 4})) == V{0, 4, 8});
  CHECK(values(ten.slice({.step = -3})) == V{9, 6, 3, 0});
  CHECK(values(ten.slice({.start = 3, .stop = 0, .step = -1})) == V{3, 2, 1});
  CHECK(values(ten.slice({.start = 3, .stop = -20, .step = -1})) == V{3, 2, 1, 0});
  CHECK(values(ten.slice({.start = 20, .step = -5})) == V{9, 4});
  CHECK(values(ten.slice({.start = 8, .stop = 100})) == V{8, 9});
  CHECK(values(ten.slice({.start = 5, .stop = 5})).empty());
  CHECK(values(ten.slice({.start = 1, .step = INT64_MAX})) == V{1});
  CHECK(values(ten.slice({.step = INT64_MIN})) == V{9});
  CHECK(values(TupleDataset(zeros({0})).slice({.step = -1})).empty());
  CHECK_THROWS_WITH_AS(ten.slice({.step = 0}), "Dataset::slice: step is 0: it must be another number", ValueError);

  CHECK(values(ten.take(std::vector<int64_t>{3, -1, 3})) == V{3, 9, 3});
  CHECK_THROWS_AS(ten.take(std::vector<int64_t>{10}), IndexError);
}

TEST_CASE("splits in a given order") {
  const TupleDataset five(arange(5));
  const auto values = [](const Dataset& dataset) {
    std::vector<int> result;
    for (int64_t i = 0; i < dataset.size(); ++i) result.push_back(dataset.get(i)[0].item<int>());
    return result;
  };
  using V = std::vector<int>;
  const auto parts = split_dataset_n(five, 2, {4, 2, 0, 1, 3});
  CHECK(values(parts[0]) == V{4, 2});
  CHECK(values(parts[1]) == V{0, 1});
  // chainer.datasets.get_cross_validation_datasets(range(5), 2, order=[4, 2, 0, 1, 3]) of Chainer 7.8.1: the sizes are
  // 2 and 3, and the last part of the order comes first.
  const auto folds = get_cross_validation_datasets(five, 2, {4, 2, 0, 1, 3});
  CHECK(values(folds[0].first) == V{4, 2});
  CHECK(values(folds[0].second) == V{0, 1, 3});
  CHECK(values(folds[1].first) == V{0, 1, 3});
  CHECK(values(folds[1].second) == V{4, 2});
  CHECK_THROWS_WITH_AS(get_cross_validation_datasets(five, 2, {0, 1}),
                       "get_cross_validation_datasets: the order has 2 entries, but the data set has 5 examples",
                       ValueError);
}
