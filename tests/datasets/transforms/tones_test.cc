#include "kusari/framework/datasets/transforms/tones.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/datasets/transforms/images.h"

using namespace kusari;
using namespace kusari::transforms;
using namespace kusari::testing;

namespace {

std::vector<int> channel_of(const Array& image, int64_t c) { return image.slice(0, c, 1).to_vector<int>(); }

/// ImageOps.equalize of one channel, by its documented formula: lut[i] = (step / 2 + pixels below i) / step.
std::vector<int> equalized(const std::vector<int>& values) {
  const int largest = *std::max_element(values.begin(), values.end());
  const auto count_of = [&](auto condition) { return std::count_if(values.begin(), values.end(), condition); };
  const auto step = count_of([&](int v) { return v != largest; }) / 255;
  std::vector<int> result = values;
  if (step == 0) return result;
  for (int& value : result) {
    const auto below = count_of([&](int v) { return v < value; });
    value = static_cast<int>(std::min<int64_t>((step / 2 + below) / step, 255));
  }
  return result;
}

}  // namespace

TEST_CASE("tones are those of Pillow's ImageOps, to the bit") {
  // Pillow 13.0.0: ImageOps.autocontrast(x), equalize(x), posterize(x, bits), solarize(x, threshold).
  const Array rgb = halved_pixels(3, Dtype::uint8), grey = halved_pixels(1, Dtype::uint8);
  CHECK(weighted_sum(AutoContrast{}(rgb)) == 129972109);
  CHECK(weighted_sum(AutoContrast{}(grey)) == 31835635);
  CHECK(weighted_sum(Equalize{}(rgb)) == 167935782);
  CHECK(weighted_sum(Equalize{}(grey)) == 41527503);
  CHECK(weighted_sum(Posterize{3}(rgb)) == 88876288);
  CHECK(weighted_sum(Posterize{7}(grey)) == 25722260);
  CHECK(weighted_sum(Solarize{100.5}(rgb)) == 99671223);
  CHECK(weighted_sum(Solarize{100.5}(grey)) == 24505916);
}

TEST_CASE("AutoContrast stretches each channel") {
  for_each_layout(2, 5, 7, [](const Array& image) {
    image.slice(0, 1, 1).fill(9);
    const Array y = AutoContrast{}(image);
    CHECK(y.shape() == image.shape());
    CHECK(y.dtype() == image.dtype());
    CHECK(has_pixel_rows(y));
    const std::vector<double> x = image.slice(0, 0, 1).to_vector<double>(), got = y.slice(0, 0, 1).to_vector<double>();
    const double low = *std::min_element(x.begin(), x.end()), high = *std::max_element(x.begin(), x.end());
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = (x[i] - low) * 255 / (high - low);
      // Rounded down, where the exact value may be a whole number from either side.
      CHECK(got[i] <= exact + 1e-4);
      CHECK(got[i] > exact - (image.dtype() == Dtype::uint8 ? 1 + 1e-9 : 1e-4));
    }
    CHECK(channel_of(y, 1) == std::vector<int>(35, 9));  // of one value
  });
}

TEST_CASE("Equalize flattens the histogram of each channel") {
  for_each_layout(3, 40, 33, [](const Array& image) {
    const std::vector<int> before = image.to_vector<int>();
    const Array y = Equalize{}(image);
    CHECK(image.to_vector<int>() == before);
    CHECK(y.dtype() == image.dtype());
    for (int64_t c = 0; c < 3; ++c) CHECK(channel_of(y, c) == equalized(channel_of(image, c)));
  });
  const Array few = pixels(1, 3, 4, Dtype::uint8), one = full({1, 30, 30}, 7, Dtype::uint8);
  CHECK(Equalize{}(few).to_vector<int>() == few.to_vector<int>());
  CHECK(Equalize{}(one).to_vector<int>() == one.to_vector<int>());
  // Values between and beyond the bytes are those that are nearest.
  const Array x = pixels(1, 30, 30, Dtype::float32);
  const Array moved = (x + 0.25F).astype(Dtype::float32);
  CHECK(Equalize{}(moved).to_vector<float>() == Equalize{}(x).to_vector<float>());
}

TEST_CASE("Posterize keeps upper bits") {
  for_each_layout(3, 9, 7, [](const Array& image) {
    for (const int bits : {1, 4, 7, 8}) {
      const int step = 1 << (8 - bits);
      const auto expected = [&](auto c, auto y, auto x) { return pattern(c, y, x) / step * step; };
      CHECK(Posterize{bits}(image).to_vector<int>() == values_of(image.shape(), expected));
    }
  });
  const double nan = std::nan("");
  const Array odd = array<float>({-3.F, 63.4F, 63.6F, 300.F, static_cast<float>(nan), 16.F}, {1, 2, 3});
  CHECK(Posterize{2}(odd).to_vector<float>() == std::vector<float>{0, 0, 64, 192, 0, 0});
  CHECK_THROWS_WITH_AS(Posterize{0}(odd), "transforms::Posterize: bits is 0: it must be in [1, 8]", ValueError);
  CHECK_THROWS_AS(Posterize{9}(odd), ValueError);
}

TEST_CASE("Solarize inverts what is bright") {
  for_each_layout(3, 9, 7, [](const Array& image) {
    for (const double threshold : {0.0, 100.0, 100.5, 256.0, -std::numeric_limits<double>::infinity()}) {
      const auto expected = [&](auto c, auto y, auto x) {
        return pattern(c, y, x) < threshold ? pattern(c, y, x) : 255 - pattern(c, y, x);
      };
      CHECK(Solarize{threshold}(image).to_vector<int>() == values_of(image.shape(), expected));
    }
  });
  CHECK_THROWS_AS(Solarize{std::nan("")}(pixels(1, 2, 2, Dtype::uint8)), ValueError);
}

TEST_CASE("tones: images of no pixels, and what is no image") {
  for (const Dtype dtype : {Dtype::uint8, Dtype::float32}) {
    for (const Shape& shape : {Shape{3, 0, 4}, Shape{0, 2, 4}, Shape{3, 2, 0}}) {
      const Array none = zeros(shape, dtype);
      CHECK(AutoContrast{}(none).shape() == shape);
      CHECK(Equalize{}(none).shape() == shape);
      CHECK(Posterize{}(none).shape() == shape);
      CHECK(Solarize{}(none).shape() == shape);
    }
  }
  CHECK_THROWS_WITH_AS(Equalize{}(zeros({2, 2})),
                       "transforms::Equalize: the image has shape (2, 2): it must be (channels, height, width)",
                       TypeError);
}
