#include "kusari/framework/datasets/transforms/random_sized_crop.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/datasets/transforms/images.h"

using namespace kusari;
using namespace kusari::transforms;
using namespace kusari::testing;
using datasets::ExampleRandom;

TEST_CASE("RandomSizedCrop: area and shape of the part") {
  const Array image = pixels(3, 300, 400, Dtype::uint8);
  const RandomSizedCrop transform{.size = 224, .scale = {0.1, 0.4}, .aspect_ratio = {0.5, 2}};
  double area = 0, ratio = 0, place = 0;
  std::vector<double> areas;
  constexpr int kDraws = 2000;
  for (int64_t i = 0; i < kDraws; ++i) {
    ExampleRandom random(1, 0, i);
    const Window window = transform.window(image, random);
    const auto [height, width] = window.size;
    REQUIRE(window.top + height <= 300);
    REQUIRE(window.left + width <= 400);
    const double share = static_cast<double>(height * width) / 120000.0;
    const double log_ratio = std::log(static_cast<double>(width) / static_cast<double>(height));
    REQUIRE(share >= 0.1 * 0.98);
    REQUIRE(share <= 0.4 * 1.02);
    REQUIRE(std::abs(log_ratio) <= std::log(2) + 0.02);
    area += share / kDraws;
    ratio += log_ratio / kDraws;
    place += static_cast<double>(window.top) / static_cast<double>(300 - height) / kDraws;
  }
  CHECK(area == doctest::Approx(0.25).epsilon(0.05));
  CHECK(ratio == doctest::Approx(0).epsilon(0.05));
  CHECK(place == doctest::Approx(0.5).epsilon(0.05));
}

TEST_CASE("RandomSizedCrop: result, reproducible") {
  for_each_layout(3, 20, 30, [](const Array& image) {
    const RandomSizedCrop transform{.size = {8, 6}};
    ExampleRandom random(3, 1, 4), same(3, 1, 4), third(3, 1, 4);
    const Array y = transform(image, random);
    CHECK(y.shape() == Shape{3, 8, 6});
    CHECK(y.dtype() == image.dtype());
    CHECK(has_pixel_rows(y));
    CHECK(y.to_vector<float>() == transform(image, same).to_vector<float>());
    CHECK(y.to_vector<float>() == Resize{{8, 6}}(Crop{transform.window(image, third)}(image)).to_vector<float>());
  });
}

TEST_CASE("RandomSizedCrop falls back to the middle") {
  ExampleRandom random(1);
  // No part of a strip has that shape and most of its area.
  const Window window = RandomSizedCrop{.size = 8, .scale = {0.9, 1}}.window(pixels(1, 10, 100, Dtype::uint8), random);
  CHECK(window.size == Size(10, 13));
  CHECK(window.left == 43);
  const Window upright = RandomSizedCrop{.size = 8, .scale = {0.9, 1}}.window(pixels(1, 100, 10, Dtype::uint8), random);
  CHECK(upright.size == Size(13, 10));
  CHECK(RandomSizedCrop{.size = 3}(pixels(3, 1, 1, Dtype::uint8), random).shape() == Shape{3, 3, 3});
}

TEST_CASE("RandomSizedCrop: errors") {
  ExampleRandom random(1);
  const Array image = pixels(3, 4, 5, Dtype::uint8);
  CHECK_THROWS_WITH_AS((RandomSizedCrop{.size = 2, .scale = {0.5, 0.2}}(image, random)),
                       "transforms::RandomSizedCrop: scale is 0.5 .. 0.2: it must ascend from a positive number",
                       ValueError);
  CHECK_THROWS_AS((RandomSizedCrop{.size = 2, .aspect_ratio = {0, 1}}(image, random)), ValueError);
  CHECK_THROWS_AS((RandomSizedCrop{.size = 0}(image, random)), ValueError);
  CHECK_THROWS_WITH_AS((RandomSizedCrop{.size = 2}(pixels(3, 0, 5, Dtype::uint8), random)),
                       "transforms::RandomSizedCrop: the image has size 0 x 5: it has no pixels", ValueError);
}
