#include "kusari/framework/datasets/transforms/normalize.h"

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/datasets/transforms/images.h"

using namespace kusari;
using namespace kusari::transforms;
using namespace kusari::testing;

TEST_CASE("Normalize: one number, or one for each channel") {
  // 300 rows of 400 pixels: several threads.
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{4, 5}, {300, 400}, {0, 3}}) {
    CAPTURE(height);
    for_each_layout(3, height, width, [](const Array& image) {
      const double mean[] = {10, 20.5, 30}, deviation[] = {2, 4, 8};
      const Array y = Normalize{{10, 20.5, 30}, {2, 4, 8}}(image);
      CHECK(y.dtype() == Dtype::float32);
      CHECK(y.shape() == image.shape());
      CHECK(has_pixel_rows(y));
      std::vector<float> expected;
      for (int64_t c = 0; c < 3; ++c) {
        for (int value : image.slice(0, c, 1).to_vector<int>()) {
          expected.push_back(static_cast<float>((value - mean[c]) / deviation[c]));
        }
      }
      CHECK(y.to_vector<float>() == expected);
      const std::vector<float> values = image.to_vector<float>();
      CHECK(Normalize{}(image).to_vector<float>() == values);
      expected = values;
      for (float& value : expected) value = (value - 1) / 255;
      CHECK(Normalize{{1}, {255}}(image).to_vector<float>() == expected);
    });
  }
}

TEST_CASE("SubtractMean: a mean for every pixel") {
  for_each_layout(3, 4, 5, [](const Array& image) {
    const Array mean = arange(60).reshape({3, 4, 5});
    const Array y = SubtractMean{mean, 4}(image);
    CHECK(y.dtype() == Dtype::float32);
    CHECK(has_pixel_rows(y));
    std::vector<float> expected = image.to_vector<float>();
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = (expected[i] - static_cast<float>(i)) / 4;
    CHECK(y.to_vector<float>() == expected);
  });
}

TEST_CASE("Normalize and SubtractMean: errors") {
  const Array image = pixels(3, 4, 5, Dtype::uint8);
  CHECK_THROWS_WITH_AS((Normalize{{1, 2}}(image)),
                       "transforms::Normalize: mean has 2 numbers but the image has shape (3, 4, 5): it must have 1 or "
                       "one for each channel",
                       ValueError);
  CHECK_THROWS_AS((Normalize{{1}, {}}(image)), ValueError);
  CHECK_THROWS_WITH_AS((Normalize{{1}, {1, 0, 1}}(image)), "transforms::Normalize: a deviation is 0, it must not be",
                       ValueError);
  CHECK_THROWS_WITH_AS((SubtractMean{zeros({3, 4, 4})}(image)),
                       "transforms::SubtractMean: the image has shape (3, 4, 5) but mean is float32 of shape "
                       "(3, 4, 4): it must be float32 of the same shape",
                       TypeError);
  CHECK_THROWS_AS((SubtractMean{zeros({3, 4, 5}, Dtype::float64)}(image)), TypeError);
  CHECK_THROWS_AS((SubtractMean{Array()}(image)), TypeError);
}
