#include "kusari/framework/datasets/pack_sequences.h"

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/rnn/packed_sequence.h"

namespace kusari::datasets {

TEST_CASE("sequences of a batch are packed, numbers stacked") {
  const auto words = [](std::vector<int32_t> ids) { return array(ids); };
  const auto number = [](int32_t label) { return array(std::vector<int32_t>{label}, {}); };
  const std::vector<Example> batch = {{words({1, 2}), number(7), ones({1, 3})},
                                      {words({3, 4, 5}), number(8), zeros({2, 3})},
                                      {words({}), number(9), full({1, 3}, 5, Dtype::float32)}};
  const Example arrays = pack_sequences(batch, Device());
  REQUIRE(arrays.size() == 5);
  CHECK(arrays[0].to_vector<int32_t>() == std::vector<int32_t>{3, 1, 4, 2, 5});
  CHECK(arrays[1].to_vector<int64_t>() == std::vector<int64_t>{2, 3, 0});
  CHECK(arrays[2].to_vector<int32_t>() == std::vector<int32_t>{7, 8, 9});
  CHECK(arrays[3].shape() == Shape{4, 3});
  CHECK(arrays[3].to_vector<float>() == std::vector<float>{0, 0, 0, 1, 1, 1, 5, 5, 5, 0, 0, 0});
  const PackedSequence packed = PackedSequence::from_lengths(Variable(arrays[0], false), arrays[1]);
  CHECK(packed.lengths() == std::vector<int64_t>{2, 3, 0});
  const auto lists = F::unpack_sequence(packed);
  CHECK(lists[0].to_vector<int32_t>() == std::vector<int32_t>{1, 2});
  CHECK(lists[1].to_vector<int32_t>() == std::vector<int32_t>{3, 4, 5});
  CHECK(lists[2].size() == 0);
}

TEST_CASE("batches that cannot be packed") {
  CHECK_THROWS_WITH_AS(pack_sequences({}, Device()), doctest::Contains("the batch is empty"), ValueError);
  CHECK_THROWS_WITH_AS(pack_sequences(std::vector<Example>{{ones({2, 3})}, {ones({2, 4})}}, Device()),
                       doctest::Contains("example 1, component 0 has shape (2, 4)"), TypeError);
  CHECK_THROWS_AS(pack_sequences(std::vector<Example>{{ones({2})}, {ones({2}, Dtype::float64)}}, Device()), TypeError);
  CHECK_THROWS_AS(pack_sequences(std::vector<Example>{{ones({2})}, {ones({})}}, Device()), TypeError);
  CHECK_THROWS_AS(pack_sequences(std::vector<Example>{{ones({2})}, {Array()}}, Device()), TypeError);
  CHECK_THROWS_WITH_AS(pack_sequences(std::vector<Example>{{ones({2})}, {ones({2}), ones({2})}}, Device()),
                       doctest::Contains("example 1 has 2 components but example 0 has 1"), TypeError);
  const Variable data(ones({3, 2}), false);
  CHECK_THROWS_WITH_AS(PackedSequence::from_lengths(data, array(std::vector<int64_t>{2, 2})),
                       doctest::Contains("one is 2"), ValueError);
  CHECK_THROWS_AS(PackedSequence::from_lengths(data, array(std::vector<int64_t>{-1, 4})), ValueError);
  CHECK_THROWS_AS(PackedSequence::from_lengths(data, array(std::vector<int64_t>{2})), ValueError);
  CHECK_THROWS_WITH_AS(PackedSequence::from_lengths(data, array(std::vector<float>{3})),
                       doctest::Contains("it must be a vector of integers"), TypeError);
}

}  // namespace kusari::datasets
