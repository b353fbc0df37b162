#include "kusari/framework/datasets/transforms/scale_jitter.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/transforms/on_boxes.h"

using namespace kusari;
using namespace kusari::transforms;
using datasets::Example;
using datasets::ExampleRandom;

namespace {

/// Black, with a white rectangle from (20, 30) to (44, 62).
Array marked_image() {
  const Array image = empty_image(3, {60, 80}, Dtype::uint8);
  image.fill(0);
  image.slice(1, 20, 24).slice(2, 30, 32).fill(255);
  return image;
}

}  // namespace

TEST_CASE("ScaleJitter moves boxes with images of one size") {
  float smallest = 1e9F, largest = 0;
  int64_t lost = 0, cut = 0;
  for (int64_t i = 0; i < 200; ++i) {
    ExampleRandom random(5, 0, i);
    const Example after = on_boxes(ScaleJitter{.size = {48, 56}, .min_scale = 0.3, .max_scale = 3, .fill = {7}})(
        {marked_image(), bbox_array(std::vector<Box>{{20, 30, 44, 62}}), array<int>({4})}, random);
    CHECK(after[0].shape() == Shape{3, 48, 56});
    CHECK(after[0].dtype() == Dtype::uint8);
    const std::vector<int> values = after[0].at(0).to_vector<int>();
    const auto is_white = [&](int64_t y, int64_t x) { return values[static_cast<size_t>(y * 56 + x)] > 127; };
    const std::vector<Box> bbox = boxes_of(after[1]);
    if (bbox.empty()) {
      ++lost;
      CHECK(after[2].size() == 0);
      continue;
    }
    const Box& box = bbox[0];
    Box white{1e9F, 1e9F, -1, -1};
    for (int64_t y = 0; y < 48; ++y) {
      for (int64_t x = 0; x < 56; ++x) {
        if (!is_white(y, x)) continue;
        const auto top = static_cast<float>(y), left = static_cast<float>(x);
        white = {std::min(white.y_min, top), std::min(white.x_min, left), std::max(white.y_max, top + 1),
                 std::max(white.x_max, left + 1)};
      }
    }
    if (box.height() > 2 && box.width() > 2) {
      CHECK(std::abs(white.y_min - box.y_min) <= 1.1F);
      CHECK(std::abs(white.x_min - box.x_min) <= 1.1F);
      CHECK(std::abs(white.y_max - box.y_max) <= 1.1F);
      CHECK(std::abs(white.x_max - box.x_max) <= 1.1F);
    }
    cut += box.y_min == 0 || box.x_min == 0 || box.y_max == 48 || box.x_max == 56;
    smallest = std::min(smallest, box.height());
    largest = std::max(largest, box.height());
  }
  // Just fitting the scale is 0.7: from 24 * 0.7 * 0.3 to 24 * 0.7 * 3, of which 48 are seen.
  CHECK(smallest < 7);
  CHECK(largest > 40);
  CHECK(lost > 0);
  CHECK(cut > 10);
}

TEST_CASE("ScaleJitter without jitter fills below and to the right, and what it refuses") {
  ExampleRandom random(1);
  const Array image =
      ScaleJitter{.size = 40, .min_scale = 1, .max_scale = 1, .fill = {1, 2, 3}}(marked_image(), random);
  CHECK(image.shape() == Shape{3, 40, 40});
  for (int64_t c = 0; c < 3; ++c) {
    CHECK(image.at(c).at(29).at(0).item<int>() == 0);
    CHECK(image.at(c).at(30).at(0).item<int>() == c + 1);
  }
  const auto refuse = [&](const ScaleJitter& step) { CHECK_THROWS_AS(step(marked_image(), random), ValueError); };
  refuse({.size = 40, .min_scale = 0});
  refuse({.size = 40, .min_scale = 2, .max_scale = 1});
  refuse({.size = 40, .max_scale = NAN});
  refuse({.size = 0});
  refuse({.size = 40, .fill = {1, 2}});
  refuse({.size = 80, .min_scale = 0.5, .max_scale = 0.5, .fill = {256}});
}
