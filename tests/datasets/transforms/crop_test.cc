#include "kusari/framework/datasets/transforms/crop.h"

#include <set>
#include <utility>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/transforms/ten_crop.h"
#include "kusari/tests/datasets/transforms/images.h"

using namespace kusari;
using namespace kusari::transforms;
using namespace kusari::testing;
using datasets::ExampleRandom;

TEST_CASE("Crop and CenterCrop are views") {
  for_each_layout(3, 7, 6, [](const Array& image) {
    const Array part = Crop{{2, 1, {4, 3}}}(image);
    CHECK(part.shape() == Shape{3, 4, 3});
    CHECK(part.dtype() == image.dtype());
    CHECK(&part.storage() == &image.storage());
    CHECK(part.to_vector<int>() ==
          values_of(part.shape(), [](auto c, auto y, auto x) { return pattern(c, y + 2, x + 1); }));
    const Array middle = CenterCrop{{4, 3}}(image);
    CHECK(middle.to_vector<int>() ==
          values_of(middle.shape(), [](auto c, auto y, auto x) { return pattern(c, y + 1, x + 1); }));
    CHECK(CenterCrop{{7, 6}}(image).to_vector<int>() == image.to_vector<int>());
  });
}

TEST_CASE("RandomCrop: every place, the same one for the same stream") {
  const Array image = pixels(1, 4, 5, Dtype::uint8);
  std::set<std::pair<int64_t, int64_t>> places;
  for (int64_t i = 0; i < 400; ++i) {
    ExampleRandom random(1, 0, i), again(1, 0, i);
    const Window window = RandomCrop{{3, 2}}.window(image, random);
    places.emplace(window.top, window.left);
    CHECK(RandomCrop{{3, 2}}(image, again).to_vector<int>() == Crop{window}(image).to_vector<int>());
  }
  CHECK(places.size() == 2 * 4);
  CHECK(places.rbegin()->first == 1);
  CHECK(places.rbegin()->second == 3);
}

TEST_CASE("crops: errors") {
  const Array image = pixels(3, 4, 5, Dtype::uint8);
  ExampleRandom random(1);
  CHECK_THROWS_WITH_AS((RandomCrop{{5, 5}}(image, random)),
                       "transforms::RandomCrop: size is 5 x 5 but the image is only 4 x 5", ValueError);
  CHECK_THROWS_WITH_AS((CenterCrop{{4, 6}}(image)), "transforms::CenterCrop: size is 4 x 6 but the image is only 4 x 5",
                       ValueError);
  CHECK_THROWS_WITH_AS((Crop{{1, 2, {2, 4}}}(image)),
                       "transforms::Crop: a window of 2 x 4 at (1, 2) reaches outside an image of 4 x 5", ValueError);
  CHECK_THROWS_AS((Crop{{-1, 0, 2}}(image)), ValueError);
  CHECK_THROWS_AS((Crop{{INT64_MAX, 0, 2}}(image)), ValueError);
  CHECK_THROWS_WITH_AS((CenterCrop{0}(image)), "transforms::CenterCrop: size is 0 x 0, both sides must be at least 1",
                       ValueError);
  CHECK_THROWS_WITH_AS((CenterCrop{2}(zeros({4, 5}))),
                       "transforms::CenterCrop: the image has shape (4, 5): it must be (channels, height, width)",
                       TypeError);
  CHECK_THROWS_WITH_AS((CenterCrop{2}(zeros({3, 4, 5}, Dtype::float64))),
                       "transforms::CenterCrop: the image has dtype float64: it must be uint8 or float32", TypeError);
  CHECK_THROWS_AS((CenterCrop{2}(Array())), TypeError);
}

TEST_CASE("TenCrop: corners, middle, and mirrored") {
  for_each_layout(3, 6, 7, [](const Array& image) {
    const Array crops = TenCrop{{4, 3}}(image);
    CHECK(crops.shape() == Shape{10, 3, 4, 3});
    CHECK(crops.dtype() == image.dtype());
    CHECK(crops.is_channels_last());
    const int64_t places[5][2] = {{0, 0}, {0, 4}, {2, 0}, {2, 4}, {1, 2}};
    for (int64_t i = 0; i < 5; ++i) {
      CAPTURE(i);
      const auto [top, left] = places[i];
      CHECK(crops.at(i).to_vector<int>() ==
            values_of({3, 4, 3}, [&](auto c, auto y, auto x) { return pattern(c, top + y, left + x); }));
      CHECK(crops.at(5 + i).to_vector<int>() ==
            values_of({3, 4, 3}, [&](auto c, auto y, auto x) { return pattern(c, top + y, left + 2 - x); }));
    }
  });
  CHECK_THROWS_AS(TenCrop{8}(pixels(3, 6, 7, Dtype::uint8)), ValueError);
}
