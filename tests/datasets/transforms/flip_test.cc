#include "kusari/framework/datasets/transforms/flip.h"

#include <map>
#include <utility>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/datasets/transforms/images.h"

using namespace kusari;
using namespace kusari::transforms;
using namespace kusari::testing;
using datasets::ExampleRandom;

TEST_CASE("Flip mirrors either axis") {
  for (int64_t channels : {1, 2, 3, 4}) {
    CAPTURE(channels);
    for_each_layout(channels, 3, 5, [](const Array& image) {
      for (const auto& [horizontal, vertical] : {std::pair{true, false}, {false, true}, {true, true}}) {
        const Array flipped = Flip{horizontal, vertical}(image);
        CHECK(flipped.shape() == image.shape());
        CHECK(flipped.dtype() == image.dtype());
        CHECK(has_pixel_rows(flipped));
        CHECK(&flipped.storage() != &image.storage());
        CHECK(flipped.to_vector<int>() ==
              values_of(image.shape(), [&, h = horizontal, v = vertical](auto c, auto y, auto x) {
                return pattern(c, v ? 2 - y : y, h ? 4 - x : x);
              }));
      }
      CHECK((Flip{false, false}(image).is_same(image)));
    });
  }
  CHECK(Flip{}(pixels(3, 0, 4, Dtype::uint8)).shape() == Shape{3, 0, 4});
  CHECK(Flip{}(pixels(3, 4, 0, Dtype::float32)).shape() == Shape{3, 4, 0});
  CHECK_THROWS_AS(Flip{}(zeros({2, 2}, Dtype::uint8)), TypeError);
}

TEST_CASE("RandomFlip: each axis with probability 1/2") {
  const Array image = pixels(3, 2, 2, Dtype::uint8);
  std::map<std::vector<int>, int> counts;
  for (int64_t i = 0; i < 4000; ++i) {
    ExampleRandom random(2, 0, i);
    ++counts[RandomFlip{true, true}(image, random).to_vector<int>()];
    CHECK(RandomFlip{false, false}(image, random).is_same(image));
  }
  CHECK(counts.size() == 4);
  for (const auto& [values, count] : counts) CHECK(count == doctest::Approx(1000).epsilon(0.14));
  int flipped = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    ExampleRandom random(3, 0, i);
    flipped += RandomFlip{}(image, random).to_vector<int>() == Flip{}(image).to_vector<int>();
  }
  CHECK(flipped == doctest::Approx(500).epsilon(0.16));
}
