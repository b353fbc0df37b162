#include "kusari/framework/datasets/convert.h"

#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/tests/datasets/transforms/images.h"

using namespace kusari;
using namespace kusari::datasets;

namespace {

using Ints = std::vector<int>;

Array row(std::initializer_list<float> values) { return array<float>(values); }

}  // namespace

TEST_CASE("concat_examples stacks each component") {
  const TupleDataset dataset(arange(12).reshape({4, 3}), arange(4, Dtype::int32));
  const std::vector<Example> batch{dataset[3], dataset[0], dataset[3]};
  const Example result = concat_examples(batch);
  REQUIRE(result.size() == 2);
  CHECK(result[0].shape() == Shape{3, 3});
  CHECK(result[0].dtype() == Dtype::float32);
  CHECK(result[0].to_vector<int>() == Ints{9, 10, 11, 0, 1, 2, 9, 10, 11});
  CHECK(result[1].shape() == Shape{3});
  CHECK(result[1].dtype() == Dtype::int32);
  CHECK(result[1].to_vector<int>() == Ints{3, 0, 3});
  result[0].fill(7);  // new arrays: the data set keeps its values
  CHECK(dataset[3][0].to_vector<int>() == Ints{9, 10, 11});
}

TEST_CASE("concat_examples takes rows of any layout") {
  const Array image = arange(12).reshape({2, 3, 2});
  const std::vector<Example> batch{
      {image.transpose({2, 0, 1})}, {arange(12).reshape({2, 2, 3})}, {row({5}).broadcast_to({2, 2, 3})}};
  CHECK(concat_examples(batch)[0].to_vector<int>() == Ints{0, 2, 4, 6, 8,  10, 1, 3, 5, 7, 9, 11, 0, 1, 2, 3, 4, 5,
                                                           6, 7, 8, 9, 10, 11, 5, 5, 5, 5, 5, 5,  5, 5, 5, 5, 5, 5});
}

TEST_CASE("concat_examples: many large rows on several threads") {
  const Array x = arange(300 * 5000).reshape({300, 5000});
  const TupleDataset dataset(x);
  std::vector<Example> batch;
  for (int64_t i = 0; i < 300; ++i) batch.push_back(dataset[299 - i]);
  const Array result = concat_examples(batch)[0];
  for (int64_t i : {0, 1, 150, 299}) {
    CHECK(result.at(i).at(0).item<float>() == static_cast<float>((299 - i) * 5000));
    CHECK(result.at(i).at(4999).item<float>() == static_cast<float>((299 - i) * 5000 + 4999));
  }
}

TEST_CASE("concat_examples casts floating arrays to config.dtype and nothing else") {
  const auto guard = using_config(&Config::dtype, mixed16);
  const std::vector<Example> batch{{row({0.5f, 1}), arange(2, Dtype::int32), arange(2, Dtype::uint8)},
                                   {row({2, 3}), arange(2, Dtype::int32), arange(2, Dtype::uint8)}};
  const Example result = concat_examples(batch);
  CHECK(result[0].dtype() == Dtype::float16);
  CHECK(result[0].to_vector<float>() == std::vector<float>{0.5f, 1, 2, 3});
  CHECK(result[1].dtype() == Dtype::int32);
  CHECK(result[2].dtype() == Dtype::uint8);
}

TEST_CASE("concat_examples pads to the largest of the batch") {
  const std::vector<Example> batch{{row({1}), array<int32_t>({1, 2, 3, 4}, {2, 2})},
                                   {row({2, 3, 4}), array<int32_t>({5, 6, 7}, {1, 3})},
                                   {row({}), array<int32_t>({8}, {1, 1})}};
  Example result = concat_examples(batch, Device(), -1);
  CHECK(result[0].shape() == Shape{3, 3});
  CHECK(result[0].to_vector<int>() == Ints{1, -1, -1, 2, 3, 4, -1, -1, -1});
  CHECK(result[1].shape() == Shape{3, 2, 3});
  CHECK(result[1].to_vector<int>() == Ints{1, 2, -1, 3, 4, -1, 5, 6, 7, -1, -1, -1, 8, -1, -1, -1, -1, -1});
  result = concat_examples(batch, Device(), std::vector<std::optional<Scalar>>{0, -9});
  CHECK(result[0].to_vector<int>() == Ints{1, 0, 0, 2, 3, 4, 0, 0, 0});
  CHECK(result[1].at(2).to_vector<int>() == Ints{8, -9, -9, -9, -9, -9});
}

TEST_CASE("concat_examples: the cases of padding") {
  using Values = std::vector<std::optional<Scalar>>;
  const auto ints = [](std::initializer_list<int32_t> values) { return array<int32_t>(values); };
  const Array scalar = array<int32_t>({5}, Shape{}), none = zeros({0}, Dtype::int32);
  struct Case {
    const char* what;
    std::vector<Array> rows;
    Padding padding;
    Shape shape;
    std::vector<double> expected;
  };
  const std::vector<Case> cases = {
      {"numbers stack to a vector", {scalar, scalar}, {}, {2}, {5, 5}},
      {"numbers with a padding that nothing needs", {scalar, scalar}, 9, {2}, {5, 5}},
      {"one example", {ints({1, 2})}, 0, {1, 2}, {1, 2}},
      {"equal sizes", {ints({1, 2}), ints({3, 4})}, 9, {2, 2}, {1, 2, 3, 4}},
      {"rows without elements", {none, none}, {}, {2, 0}, {}},
      {"an empty row among others", {none, ints({1, 2})}, -1, {2, 2}, {-1, -1, 1, 2}},
      {"no row is as large as the batch",
       {ints({1, 2, 3}).reshape({1, 3}), ints({4, 5}).reshape({2, 1})},
       0,
       {2, 2, 3},
       {1, 2, 3, 0, 0, 0, 4, 0, 0, 5, 0, 0}},
      {"the value takes the dtype", {ints({1}), ints({2, 3})}, 1.7, {2, 2}, {1, 1, 2, 3}},
      {"an integer beside floating rows", {row({0.5f}), row({1, 2})}, 7, {2, 2}, {0.5, 7, 1, 2}},
      {"a fraction beside floating rows", {row({0.5f}), row({1, 2})}, 0.25, {2, 2}, {0.5, 0.25, 1, 2}},
      {"infinity",
       {row({0.5f}), row({1, 2})},
       -std::numeric_limits<double>::infinity(),
       {2, 2},
       {0.5, -std::numeric_limits<double>::infinity(), 1, 2}},
      {"bool", {array<bool>({true}), array<bool>({true, false})}, true, {2, 2}, {1, 1, 1, 0}},
      {"one value for each component", {ints({1}), ints({2, 3})}, Values{8, std::nullopt}, {2, 2}, {1, 8, 2, 3}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    std::vector<Example> batch;
    for (const Array& array : c.rows) batch.push_back({array});
    const Array result = concat_examples(batch, Device(), c.padding)[0];
    CHECK(result.shape() == c.shape);
    CHECK(result.dtype() == c.rows[0].dtype());
    CHECK(result.to_vector<double>() == c.expected);
  }
  // Where a component has no value, its rows must be equal.
  const std::vector<Example> ragged{{ints({1}), ints({1})}, {ints({2, 3}), ints({2, 3})}};
  CHECK_THROWS_AS(concat_examples(ragged, Device(), Values{8, std::nullopt}), TypeError);
  CHECK_THROWS_AS(concat_examples(ragged, Device(), Values{std::nullopt, 8}), TypeError);
}

TEST_CASE("concat_examples makes a channels-last batch of images") {
  for (Dtype dtype : {Dtype::uint8, Dtype::float32}) {
    for (int64_t channels : {1, 2, 3}) {
      CAPTURE(channels);
      // Whole images, windows of larger ones, and one whose memory is (C, H, W).
      const Array whole = testing::pixels(channels, 5, 4, dtype), part = testing::window(channels, 5, 4, dtype);
      for (const std::vector<Example>& batch : {std::vector<Example>{{whole}, {part}, {whole}},
                                                {{part}, {testing::planes(channels, 5, 4, dtype)}, {whole}}}) {
        const Array result = concat_examples(batch)[0];
        CHECK(result.shape() == Shape{3, channels, 5, 4});
        CHECK(result.dtype() == dtype);
        CHECK(result.is_channels_last());
        for (int64_t i = 0; i < 3; ++i) CHECK(result.at(i).to_vector<int>() == whole.to_vector<int>());
        const auto guard = using_config(&Config::channels_last, false);
        CHECK(concat_examples(batch)[0].is_contiguous());
        CHECK(concat_examples(batch)[0].to_vector<int>() == result.to_vector<int>());
      }
    }
  }
  const std::vector<Example> empty(2, Example{testing::pixels(3, 0, 4, Dtype::uint8)});
  CHECK(concat_examples(empty)[0].shape() == Shape{2, 3, 0, 4});
}

TEST_CASE("concat_examples: many large images on several threads, and padded ones") {
  std::vector<Example> batch;
  for (int64_t i = 0; i < 40; ++i) {
    batch.push_back({testing::pixels(3, 100, 120, Dtype::uint8)});
    batch.back()[0].slice(0, 1, 1).fill(static_cast<int>(i));
  }
  const Array stacked = concat_examples(batch)[0];
  CHECK(stacked.is_channels_last());
  for (int64_t i : {0, 7, 39}) {
    CHECK(stacked.at(i).to_vector<int>() == batch[static_cast<size_t>(i)][0].to_vector<int>());
  }
  batch = {{testing::pixels(2, 1, 3, Dtype::uint8)}, {testing::window(2, 2, 2, Dtype::uint8)}};
  const Array padded = concat_examples(batch, Device(), 7)[0];
  CHECK(padded.shape() == Shape{2, 2, 2, 3});
  CHECK(padded.is_channels_last());
  const auto p = testing::pattern;
  CHECK(padded.to_vector<int>() == Ints{p(0, 0, 0), p(0, 0, 1), p(0, 0, 2), 7,          7,          7,  //
                                        p(1, 0, 0), p(1, 0, 1), p(1, 0, 2), 7,          7,          7,  //
                                        p(0, 0, 0), p(0, 0, 1), 7,          p(0, 1, 0), p(0, 1, 1), 7,
                                        p(1, 0, 0), p(1, 0, 1), 7,          p(1, 1, 0), p(1, 1, 1), 7});
}

TEST_CASE("concat_examples pads images whose numbers of channels differ") {
  const Array rgb = testing::pixels(3, 2, 2, Dtype::uint8);
  const Array grey = array<uint8_t>({1, 2, 3, 4}).reshape({1, 2, 2});
  for (const bool grey_first : {false, true}) {
    CAPTURE(grey_first);
    std::vector<Example> batch{{rgb}, {grey}};
    if (grey_first) std::swap(batch[0], batch[1]);
    const Array padded = concat_examples(batch, std::nullopt, Padding(0))[0];
    CHECK(padded.shape() == Shape{2, 3, 2, 2});
    CHECK(padded.at(grey_first ? 1 : 0).to_vector<int>() == rgb.to_vector<int>());
    CHECK(padded.at(grey_first ? 0 : 1).to_vector<int>() == Ints{1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0});
  }
}

TEST_CASE("concat_examples: errors name the example and the component") {
  CHECK_THROWS_WITH_AS(concat_examples({}), "concat_examples: the batch is empty", ValueError);
  const Array two = row({1, 2}), three = row({1, 2, 3});
  using Batch = std::vector<Example>;
  CHECK_THROWS_WITH_AS(concat_examples(Batch{{two, two}, {two}}),
                       "concat_examples: example 1 has 1 components but example 0 has 2", TypeError);
  CHECK_THROWS_WITH_AS(
      concat_examples(Batch{{two, two}, {two, two}, {two, three}}),
      "concat_examples: example 2, component 1 has shape (3,) but example 0 has shape (2,): give a padding to "
      "combine different shapes",
      TypeError);
  CHECK_THROWS_WITH_AS(
      concat_examples(Batch{{two}, {two.reshape({2, 1})}}, Device(), 0),
      "concat_examples: example 1, component 0 has shape (2, 1) but example 0 has shape (2,): padding needs "
      "equal numbers of axes",
      TypeError);
  CHECK_THROWS_WITH_AS(concat_examples(Batch{{two}, {array<int32_t>({1, 2})}}),
                       "concat_examples: example 1, component 0 has dtype int32 but example 0 has float32", TypeError);
  CHECK_THROWS_AS(concat_examples(Batch{{two}, {Array()}}), TypeError);
  // A padding for the first component alone.
  CHECK_THROWS_AS(concat_examples(Batch{{two, two}, {three, three}}, Device(), std::vector<std::optional<Scalar>>{0}),
                  TypeError);
}

TEST_CASE("Converter: a function, or one that sends and one that computes") {
  const std::vector<Example> batch{{row({1, 2})}, {row({3, 4})}};
  const Converter nothing;
  CHECK_FALSE(nothing);
  CHECK_THROWS_AS(nothing(batch, Device()), StateError);
  CHECK_FALSE(Converter(std::function<Example(std::span<const Example>, const Device&)>()));

  const Converter whole = [](std::span<const Example> examples, Device device) {
    return concat_examples(examples, device);
  };
  REQUIRE(whole);
  CHECK(whole.upload(batch, Device())[0].to_vector<int>() == Ints{1, 2, 3, 4});
  CHECK(whole.finish(whole.upload(batch, Device()))[0].to_vector<int>() == Ints{1, 2, 3, 4});

  const Converter sums(
      [](std::span<const Example> examples, const Device& device) {
        Example uploaded = concat_examples(examples, device);
        uploaded.push_back(array<float>({5, 6}));
        return uploaded;
      },
      [](Example uploaded) {
        uploaded[0].copy_from(uploaded[1]);
        uploaded.pop_back();
        return uploaded;
      });
  CHECK(sums.upload(batch, Device()).size() == 2);
  CHECK(sums(batch, Device()).size() == 1);
  CHECK(sums(batch, Device())[0].to_vector<int>() == Ints{5, 6, 5, 6});
}

TEST_CASE("concat_converter sends what it was given and casts at the end") {
  const auto guard = using_config(&Config::dtype, mixed16);
  const std::vector<Example> batch{{row({1, 2}), arange(1, Dtype::int32)}, {row({3}), arange(2, Dtype::int32)}};
  const Converter convert = concat_converter(-1);
  const Example uploaded = convert.upload(batch, Device());
  CHECK(uploaded[0].dtype() == Dtype::float32);
  const Example result = convert.finish(uploaded);
  CHECK(result[0].dtype() == Dtype::float16);
  CHECK(result[0].to_vector<int>() == Ints{1, 2, 3, -1});
  CHECK(result[1].dtype() == Dtype::int32);
  CHECK(result[1].to_vector<int>() == Ints{0, -1, 0, 1});
  CHECK_THROWS_AS(concat_converter()(batch, Device()), TypeError);
}
