#include "kusari/framework/datasets/transforms/enhance.h"

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

/// z + factor * (x - z), cut, by doubles: `without` is z at (channel, row, column).
template <class Without>
void check_enhanced(const Array& image, const Array& y, double factor, const Without& without) {
  REQUIRE(y.shape() == image.shape());
  CHECK(y.dtype() == image.dtype());
  CHECK(has_pixel_rows(y));
  const std::vector<double> x = image.to_vector<double>(), got = y.to_vector<double>();
  const bool is_bytes = image.dtype() == Dtype::uint8;
  size_t i = 0;
  for (int64_t c = 0; c < image.shape()[0]; ++c) {
    for (int64_t row = 0; row < image.shape()[1]; ++row) {
      for (int64_t column = 0; column < image.shape()[2]; ++column, ++i) {
        const double z = without(c, row, column);
        const double exact = std::clamp(z + factor * (x[i] - z), 0.0, 255.0);
        // Bytes are rounded down, after a sum in float that may be a whole number from either side.
        const double slack = 1e-3;
        CHECK(got[i] <= exact + slack);
        CHECK(got[i] > exact - (is_bytes ? 1 + slack : slack));
      }
    }
  }
}

double grey(const Array& image, int64_t y, int64_t x) {
  const std::vector<double> pixel = image.slice(1, y, 1).slice(2, x, 1).to_vector<double>();
  if (pixel.size() == 1) return pixel[0];
  const double value = 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2];
  return image.dtype() == Dtype::uint8 ? std::nearbyint(value) : value;
}

constexpr double kFactors[] = {0, 0.37, 1, 1.9, 40};

}  // namespace

TEST_CASE("enhanced images are those of Pillow's ImageEnhance, to the bit") {
  // Pillow 13.0.0: ImageEnhance.Brightness(x).enhance(factor), and so on.
  struct Case {
    double factor;
    int64_t brightness[2], color[2], contrast[2], sharpness[2];  // RGB, grey
  };
  const Case cases[] = {
      {0, {0, 0}, {105014631, 25847292}, {104700042, 25708641}, {105021776, 25871435}},
      {0.37, {38344644, 9435617}, {104564071, 25847292}, {104299619, 25635819}, {104849248, 25819898}},
      {1.9, {191903759, 47215581}, {104622919, 25847292}, {105440694, 25997364}, {104853068, 25787798}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.factor);
    for (const int grey_image : {0, 1}) {
      const Array x = halved_pixels(grey_image == 1 ? 1 : 3, Dtype::uint8);
      CHECK(weighted_sum(Brightness{c.factor}(x)) == c.brightness[grey_image]);
      CHECK(weighted_sum(Color{c.factor}(x)) == c.color[grey_image]);
      CHECK(weighted_sum(Contrast{c.factor}(x)) == c.contrast[grey_image]);
      CHECK(weighted_sum(Sharpness{c.factor}(x)) == c.sharpness[grey_image]);
    }
  }
}

TEST_CASE("enhanced images follow the formula") {
  for (const int64_t channels : {1, 3}) {
    for_each_layout(channels, 6, 5, [&](const Array& image) {
      const std::vector<int> before = image.to_vector<int>();
      double mean = 0;
      for (int64_t y = 0; y < 6; ++y) {
        for (int64_t x = 0; x < 5; ++x) mean += grey(image, y, x) / 30;
      }
      if (image.dtype() == Dtype::uint8) mean = std::floor(mean + 0.5);
      const auto smooth = [&](int64_t c, int64_t y, int64_t x) {
        double sum = 4 * pattern(c, y, x);
        if (y == 0 || x == 0 || y == 5 || x == 4) return static_cast<double>(pattern(c, y, x));
        for (int64_t h = y - 1; h <= y + 1; ++h) {
          for (int64_t w = x - 1; w <= x + 1; ++w) sum += pattern(c, h, w);
        }
        return image.dtype() == Dtype::uint8 ? std::floor(sum / 13 + 0.5) : sum / 13;
      };
      for (const double factor : kFactors) {
        CAPTURE(factor);
        check_enhanced(image, Brightness{factor}(image), factor, [](auto, auto, auto) { return 0; });
        check_enhanced(image, Color{factor}(image), factor, [&](auto, auto y, auto x) { return grey(image, y, x); });
        check_enhanced(image, Contrast{factor}(image), factor, [&](auto, auto, auto) { return mean; });
        check_enhanced(image, Sharpness{factor}(image), factor, smooth);
      }
      CHECK(image.to_vector<int>() == before);
      CHECK(Sharpness{1}(image).to_vector<float>() == image.to_vector<float>());
    });
  }
}

TEST_CASE("enhanced images: small ones, channels and factors") {
  for (const Dtype dtype : {Dtype::uint8, Dtype::float32}) {
    const Array small = pixels(4, 2, 9, dtype);
    CHECK(Sharpness{0}(small).to_vector<int>() == small.to_vector<int>());
    CHECK(Brightness{0}(small).to_vector<int>() == std::vector<int>(72, 0));
    CHECK_THROWS_WITH_AS(Color{2}(small), "transforms::Color: the image has 4 channels: it must have 1 or 3",
                         ValueError);
    CHECK_THROWS_AS(Contrast{2}(small), ValueError);
    for (const Shape& shape : {Shape{3, 0, 4}, Shape{3, 2, 0}}) {
      const Array none = zeros(shape, dtype);
      CHECK(Brightness{2}(none).shape() == shape);
      CHECK(Color{2}(none).shape() == shape);
      CHECK(Contrast{2}(none).shape() == shape);
      CHECK(Sharpness{2}(none).shape() == shape);
    }
    const Array image = pixels(3, 4, 4, dtype);
    CHECK_THROWS_WITH_AS(Brightness{-1}(image),
                         "transforms::Brightness: factor is -1: it must be finite and not negative", ValueError);
    CHECK_THROWS_AS(Sharpness{std::numeric_limits<double>::infinity()}(image), ValueError);
    const std::vector<int> bright = Brightness{1e300}(image).to_vector<int>(), given = image.to_vector<int>();
    for (size_t i = 0; i < bright.size(); ++i) CHECK(bright[i] == (given[i] > 0 ? 255 : 0));
  }
}
