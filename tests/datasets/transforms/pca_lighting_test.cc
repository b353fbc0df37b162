#include "kusari/framework/datasets/transforms/pca_lighting.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/datasets/transforms/images.h"

using namespace kusari;
using namespace kusari::transforms;
using namespace kusari::testing;
using datasets::ExampleRandom;

namespace {

// Krizhevsky et al. 2012 as in fb.resnet.torch.
constexpr double kValues[3] = {0.2175, 0.0188, 0.0045};
constexpr double kVectors[3][3] = {{-0.5675, 0.7192, 0.4009}, {-0.5808, -0.0045, -0.8140}, {-0.5836, -0.6948, 0.4203}};

}  // namespace

TEST_CASE("PcaLighting adds one colour to all pixels") {
  for_each_layout(3, 4, 5, [](const Array& image) {
    ExampleRandom random(1, 2, 3), same(1, 2, 3);
    double color[3] = {0, 0, 0};
    for (int k = 0; k < 3; ++k) {
      const double a = same.normal(0, 40);
      for (int c = 0; c < 3; ++c) color[c] += a * kValues[k] * kVectors[c][k];
    }
    const Array y = PcaLighting{40}(image, random);
    CHECK(y.dtype() == image.dtype());
    CHECK(has_pixel_rows(y));
    const std::vector<float> values = y.to_vector<float>(), old = image.to_vector<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      const double exact = old[i] + color[i / 20];
      if (image.dtype() == Dtype::uint8) {
        CHECK(values[i] == std::clamp(std::round(exact), 0.0, 255.0));
      } else {
        CHECK(values[i] == doctest::Approx(exact).epsilon(1e-5));
      }
    }
  });
}

TEST_CASE("PcaLighting clips 8-bit images and has the colours' covariance") {
  const Array black = zeros({3, 1, 1}), dark = zeros({3, 1, 1}, Dtype::uint8),
              bright = full({3, 1, 1}, 255, Dtype::uint8);
  double covariance[3][3] = {};
  constexpr int kDraws = 20000;
  for (int64_t i = 0; i < kDraws; ++i) {
    ExampleRandom random(4, 0, i), other(4, 0, i), third(4, 0, i);
    const std::vector<float> color = PcaLighting{100}(black, random).to_vector<float>();
    const std::vector<float> clipped = PcaLighting{100}(dark, other).to_vector<float>();
    const std::vector<float> above = PcaLighting{100}(bright, third).to_vector<float>();
    for (size_t a = 0; a < 3; ++a) {
      REQUIRE(clipped[a] == std::clamp(std::round(color[a]), 0.0f, 255.0f));
      REQUIRE(above[a] == std::clamp(std::round(255 + color[a]), 0.0f, 255.0f));
      for (size_t b = 0; b < 3; ++b) covariance[a][b] += double{color[a]} * double{color[b]} / kDraws;
    }
  }
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      double exact = 0;
      for (int k = 0; k < 3; ++k) exact += kVectors[a][k] * kVectors[b][k] * std::pow(100 * kValues[k], 2);
      CHECK(covariance[a][b] == doctest::Approx(exact).epsilon(0.06));
    }
  }
}

TEST_CASE("PcaLighting: errors") {
  ExampleRandom random(1);
  const Array image = pixels(3, 2, 2, Dtype::uint8);
  CHECK(PcaLighting{0}(image, random).is_same(image));
  CHECK_THROWS_WITH_AS(
      PcaLighting{1}(pixels(1, 2, 2, Dtype::uint8), random),
      "transforms::PcaLighting: the image has shape (1, 2, 2): it must have 3 channels, red, green and "
      "blue",
      ValueError);
  CHECK_THROWS_AS(PcaLighting{-1}(image, random), ValueError);
}
