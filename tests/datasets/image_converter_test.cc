#include "kusari/framework/datasets/image_converter.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
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
