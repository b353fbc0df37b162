#include "kusari/framework/datasets/image_converter.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/collated.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/tests/datasets/transforms/images.h"

using namespace kusari;
using namespace kusari::datasets;
using namespace kusari::testing;

namespace {

std::vector<Example> batch_of(int64_t n, int64_t channels, Dtype dtype = Dtype::uint8) {
  std::vector<Example> batch;
  for (int64_t i = 0; i < n; ++i) {
    const Array image = i % 2 == 0 ? pixels(channels, 4, 6, dtype) : window(channels, 4, 6, dtype);
    image.slice(0, 0, 1).fill(static_cast<int>(i));
    batch.push_back({image, array<int32_t>({static_cast<int32_t>(i)}, Shape{})});
  }
  return batch;
}

}  // namespace

TEST_CASE("image_converter normalizes 8-bit images at the batch") {
  for (int64_t channels : {1, 3, 4}) {
    CAPTURE(channels);
    const auto batch = batch_of(5, channels);
    const Example result = image_converter({.mean = {20}, .deviation = {4}})(batch, Device());
    CHECK(result[0].shape() == Shape{5, channels, 4, 6});
    CHECK(result[0].dtype() == Dtype::float32);
    CHECK(result[0].is_channels_last());
    for (int64_t i = 0; i < 5; ++i) {
      std::vector<float> expected = batch[static_cast<size_t>(i)][0].to_vector<float>();
      for (float& value : expected) value = (value - 20) / 4;
      CHECK(result[0].at(i).to_vector<float>() == expected);
    }
    CHECK(result[1].dtype() == Dtype::int32);
    CHECK(result[1].to_vector<int>() == std::vector<int>{0, 1, 2, 3, 4});
  }
}

TEST_CASE("image_converter: mean of each channel, config.dtype, the debugging layout") {
  const auto batch = batch_of(3, 3);
  const auto convert = image_converter({.mean = {0, 50, 100}, .deviation = {1, 2, 4}});
  std::vector<float> expected;
  for (const Example& example : batch) {
    for (int64_t c = 0; c < 3; ++c) {
      for (float value : example[0].slice(0, c, 1).to_vector<float>()) {
        expected.push_back((value - 50 * static_cast<float>(c)) / static_cast<float>(1 << c));
      }
    }
  }
  CHECK(convert(batch, Device())[0].to_vector<float>() == expected);
  {
    const auto guard = using_config(&Config::channels_last, false);
    const Example result = convert(batch, Device());
    CHECK(result[0].is_contiguous());
    CHECK(result[0].to_vector<float>() == expected);
  }
  const auto guard = using_config(&Config::dtype, mixed16);
  const Example half = convert(batch, Device());
  CHECK(half[0].dtype() == Dtype::float16);
  CHECK(half[0].is_channels_last());
  CHECK(half[0].to_vector<float>() == array(expected).astype(Dtype::float16).to_vector<float>());
}

TEST_CASE("image_converter leaves other components alone") {
  const std::vector<Example> batch(2, Example{pixels(3, 2, 2, Dtype::float32), arange(3, Dtype::uint8)});
  const Example result = image_converter({.mean = {1}})(batch, Device());
  CHECK(result[0].to_vector<float>() == concat_examples(batch)[0].to_vector<float>());
  CHECK(result[1].dtype() == Dtype::uint8);
  CHECK_THROWS_AS(image_converter()({}, Device()), ValueError);
  CHECK_THROWS_AS(image_converter({.mean = {1, 2}})(batch_of(2, 3), Device()), ValueError);
}

TEST_CASE("image_converter: the ways to give options") {
  const auto batch = batch_of(2, 3);
  const transforms::Normalize normalize{.mean = {5}, .deviation = {2}};
  const std::vector<float> expected =
      image_converter({.mean = {5}, .deviation = {2}})(batch, Device())[0].to_vector<float>();
  CHECK(image_converter(normalize)(batch, Device())[0].to_vector<float>() == expected);
  CHECK(image_converter(transforms::Normalize{{5}, {2}})(batch, Device())[0].to_vector<float>() == expected);
  CHECK_THROWS_WITH_AS(image_converter({.deviation = {1, 0}}), "image_converter: a deviation is 0, it must not be",
                       ValueError);
  CHECK_THROWS_WITH_AS(image_converter({.deviation = {1, 2}})(batch, Device()),
                       "image_converter: deviation has 2 numbers but the batch has shape (2, 3, 4, 6): it must have 1 "
                       "or one for each channel",
                       ValueError);
}

TEST_CASE("image_converter sends bytes and computes at the end") {
  const auto batch = batch_of(3, 3);
  const Converter convert = image_converter({.deviation = {2}, .random_flip = true});
  const Example uploaded = convert.upload(batch, Device());
  CHECK(uploaded[0].dtype() == Dtype::uint8);
  CHECK(uploaded[0].to_vector<int>() == concat_examples(batch)[0].to_vector<int>());
  const Example result = convert.finish(uploaded);
  REQUIRE(result.size() == 2);
  CHECK(result[0].dtype() == Dtype::float32);
}

TEST_CASE("image_converter takes batches that lie together without a copy") {
  const Array images = empty_channels_last({4, 3, 2, 2}, Dtype::uint8);
  images.copy_from(arange(48, Dtype::uint8).reshape({4, 3, 2, 2}));
  const Array whole = mark_collated(images);
  std::vector<Example> batch;
  for (int64_t i = 0; i < 4; ++i) batch.push_back({whole.at(i)});
  const Converter convert = image_converter({.deviation = {2}});
  const Example uploaded = convert.upload(batch, Device());
  CHECK(uploaded[0].raw_data() == whole.raw_data());
  std::vector<float> halves = whole.to_vector<float>();
  for (float& value : halves) value /= 2;
  CHECK(convert.finish(uploaded)[0].to_vector<float>() == halves);
}

TEST_CASE("image_converter: more channels than one launch takes") {
  std::vector<double> mean, deviation;
  for (int c = 0; c < 37; ++c) {
    mean.push_back(c);
    deviation.push_back(c % 2 == 0 ? 2 : 4);
  }
  const std::vector<Example> batch(2, Example{pixels(37, 3, 5, Dtype::uint8)});
  const Array result = image_converter({.mean = mean, .deviation = deviation})(batch, Device())[0];
  const std::vector<float> given = batch[0][0].to_vector<float>();
  std::vector<float> expected;
  for (int n = 0; n < 2; ++n) {
    for (size_t i = 0; i < given.size(); ++i) {
      expected.push_back((given[i] - static_cast<float>(mean[i / 15])) / static_cast<float>(deviation[i / 15]));
    }
  }
  CHECK(result.to_vector<float>() == expected);
}

TEST_CASE("image_converter mirrors the examples that their streams pick, all images of one alike") {
  constexpr int64_t kExamples = 40;
  std::vector<Example> batch;
  for (int64_t i = 0; i < kExamples; ++i) {
    batch.push_back({pixels(3, 2, 5, Dtype::uint8), planes(1, 3, 4, Dtype::uint8), planes(1, 1, 2, Dtype::float32)});
  }
  const Converter convert = image_converter({.random_flip = true});
  const auto drawn = [&](uint64_t seed) {
    const ExampleRandomScope scope(seed, 7);
    return convert(batch, Device());
  };
  const Example result = drawn(1);
  std::vector<bool> expected;
  {
    const ExampleRandomScope scope(1, 7);
    for (int64_t i = 0; i < kExamples; ++i) expected.push_back(ExampleRandomScope::stream(i).chance(0.5));
  }
  int64_t flipped = 0;
  for (int64_t i = 0; i < kExamples; ++i) {
    const bool flip = expected[static_cast<size_t>(i)];
    flipped += flip ? 1 : 0;
    for (size_t k : {0, 1}) {
      const Array image = batch[static_cast<size_t>(i)][k];
      const Array mirrored = image.slice(2, image.shape()[2] - 1, image.shape()[2], -1);
      CHECK(result[k].at(i).to_vector<int>() == (flip ? mirrored : image).to_vector<int>());
    }
    CHECK(result[2].at(i).to_vector<int>() == batch[0][2].to_vector<int>());
  }
  CHECK(flipped > kExamples / 4);
  CHECK(flipped < 3 * kExamples / 4);
  CHECK(drawn(1)[0].to_vector<int>() == result[0].to_vector<int>());
  CHECK(drawn(2)[0].to_vector<int>() != result[0].to_vector<int>());
}
