#include "kusari/framework/datasets/transforms/resize.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/datasets/transforms/images.h"

using namespace kusari;
using namespace kusari::transforms;
using namespace kusari::testing;

namespace {

double filter(double x, Interpolation kind) {
  if (kind == Interpolation::box) return x > -0.5 && x <= 0.5 ? 1 : 0;
  x = std::abs(x);
  if (kind == Interpolation::bilinear) return std::max(0.0, 1 - x);
  if (x < 1) return 1.5 * x * x * x - 2.5 * x * x + 1;
  return x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
}

/// Place i of an axis resampled from `from` to `to` places, by the filter's definition: the old places weighted with
/// the filter at their distance from the new centre, in units of a new place when the axis shrinks.
double resampled(const std::function<double(int64_t)>& old, int64_t i, int64_t from, int64_t to, Interpolation kind) {
  const double ratio = static_cast<double>(from) / static_cast<double>(to), unit = std::max(1.0, ratio);
  const double center = (static_cast<double>(i) + 0.5) * ratio;
  double sum = 0, weights = 0;
  for (int64_t k = 0; k < from; ++k) {
    const double distance = (static_cast<double>(k) + 0.5 - center) / unit;
    const double weight = filter(distance, kind);
    sum += weight * old(k);
    weights += weight;
  }
  return sum / weights;
}

/// Along x, rounded as 8 bits or not, then along y.
double expected(const Array& image, const Size& size, int64_t c, int64_t y, int64_t x, Interpolation kind) {
  const int64_t height = image.shape()[1], width = image.shape()[2];
  const auto rounded = [&](double value) {
    return image.dtype() == Dtype::uint8 ? std::clamp(std::floor(value + 0.5), 0.0, 255.0) : value;
  };
  return rounded(resampled(
      [&](int64_t row) {
        return rounded(
            resampled([&](int64_t column) { return double(pattern(c, row, column)); }, x, width, size.width, kind));
      },
      y, height, size.height, kind));
}

}  // namespace

TEST_CASE("Resize: bilinear, box and bicubic, larger and smaller") {
  for (const auto& [from, to] : {std::pair<Size, Size>{{7, 9}, {3, 4}},
                                 {{5, 4}, {9, 10}},
                                 {{6, 8}, {3, 8}},
                                 {{6, 8}, {6, 4}},
                                 {{4, 9}, {7, 2}},
                                 {{1, 1}, {3, 2}},
                                 {{8, 6}, {1, 1}}}) {
    const Size size = to;
    CAPTURE(to_string(from));
    CAPTURE(to_string(size));
    for (int64_t channels : {1, 2, 3}) {
      for (Interpolation kind : {Interpolation::bilinear, Interpolation::box, Interpolation::bicubic}) {
        for_each_layout(channels, from.height, from.width, [&](const Array& image) {
          const Array y = Resize{size, kind}(image);
          CHECK(y.shape() == Shape{image.shape()[0], size.height, size.width});
          CHECK(y.dtype() == image.dtype());
          CHECK(has_pixel_rows(y));
          const std::vector<float> values = y.to_vector<float>();
          size_t i = 0;
          for (int64_t c = 0; c < image.shape()[0]; ++c) {
            for (int64_t row = 0; row < size.height; ++row) {
              for (int64_t x = 0; x < size.width; ++x, ++i) {
                // Values exactly between two integers may fall to either side.
                const double tolerance = image.dtype() == Dtype::uint8 ? 1.0 : 1e-3;
                CHECK(std::abs(values[i] - expected(image, size, c, row, x, kind)) <= tolerance);
              }
            }
          }
        });
      }
    }
  }
}

TEST_CASE("Resize: 8-bit values are rounded, not cut off") {
  // Means of 2 x 2 pixels, each axis rounded half up: 0 1 | 1 1 -> 1, 1 -> 1; 10 11 | 10 10 -> 11, 10 -> 11 (10.5).
  const Array image = array<uint8_t>({0, 1, 10, 11, 1, 1, 10, 10}, {1, 2, 4});
  CHECK(Resize{{1, 2}, Interpolation::box}(image).to_vector<int>() == std::vector<int>{1, 11});
  // A constant image stays what it is, the brightest one too.
  const Array white = full({3, 11, 13}, 255, Dtype::uint8);
  for (const Size size : {Size(4, 5), Size(30, 29), Size(1, 1)}) {
    for (int value : Resize{size}(white).to_vector<int>()) CHECK(value == 255);
  }
}

TEST_CASE("Resize: bicubic stays within 8 bits beside an edge") {
  const Array image = array<uint8_t>({0, 0, 0, 255, 255, 255}, {1, 1, 6});
  // The weights at distances 1/4, 3/4, 5/4 and 7/4 are 111, 29, -9 and -3 of 128.
  CHECK(Resize{{1, 12}, Interpolation::bicubic}(image).to_vector<int>() ==
        std::vector<int>{0, 0, 0, 0, 0, 52, 203, 255, 255, 255, 255, 255});
  const std::vector<float> exact =
      Resize{{1, 12}, Interpolation::bicubic}(image.astype(Dtype::float32)).to_vector<float>();
  CHECK(exact[4] == doctest::Approx(255 * -9 / 128.0));
  CHECK(exact[7] == doctest::Approx(255 * (1 + 9 / 128.0)));
}

TEST_CASE("Resize: doubling and halving by hand") {
  const Array image = array<float>({0, 4, 8, 16}, {1, 1, 4});
  // Triangles of two new pixels' width around 0.5, 2.5: weights 3 3 1 and 1 3 3 1 of eighths, cut at the edges.
  CHECK(Resize{{1, 2}}(image).to_vector<float>()[0] == doctest::Approx((3 * 0 + 3 * 4 + 8) / 7.0));
  CHECK(Resize{{1, 2}}(image).to_vector<float>()[1] == doctest::Approx((4 + 3 * 8 + 3 * 16) / 7.0));
  const std::vector<float> doubled = Resize{{1, 8}}(image).to_vector<float>();
  const float by_hand[] = {0, 1, 3, 5, 7, 10, 14, 16};
  for (size_t i = 0; i < 8; ++i) CHECK(doubled[i] == doctest::Approx(by_hand[i]));
}

TEST_CASE("Resize: nearest") {
  for_each_layout(3, 4, 6, [](const Array& image) {
    const Array small = Resize{{3, 2}, Interpolation::nearest}(image);
    // floor((i + 1/2) 4/3) and floor((i + 1/2) 3).
    const int64_t rows[] = {0, 2, 3}, columns[] = {1, 4};
    CHECK(small.to_vector<int>() ==
          values_of({3, 3, 2}, [&](auto c, auto y, auto x) { return pattern(c, rows[y], columns[x]); }));
    const Array large = Resize{{8, 18}, Interpolation::nearest}(image);
    CHECK(large.to_vector<int>() ==
          values_of({3, 8, 18}, [](auto c, auto y, auto x) { return pattern(c, y / 2, x / 3); }));
    CHECK(has_pixel_rows(large));
    CHECK((Resize{{4, 6}}(image).is_same(image)));
  });
}

TEST_CASE("Scale: the shorter side") {
  CHECK(Scale{4}(pixels(3, 8, 11, Dtype::uint8)).shape() == Shape{3, 4, 5});
  CHECK(Scale{4}(pixels(3, 11, 8, Dtype::uint8)).shape() == Shape{3, 5, 4});
  CHECK(Scale{10}(pixels(3, 5, 5, Dtype::float32)).shape() == Shape{3, 10, 10});
  const Array image = pixels(3, 6, 9, Dtype::uint8);
  CHECK(Scale{6}(image).is_same(image));
  CHECK(Scale{3}(image).to_vector<int>() == Resize{{3, 4}}(image).to_vector<int>());
  CHECK(Scale{3, Interpolation::nearest}(image).to_vector<int>() ==
        Resize{{3, 4}, Interpolation::nearest}(image).to_vector<int>());
}

TEST_CASE("Resize and Scale: errors") {
  const Array image = pixels(3, 4, 5, Dtype::uint8);
  CHECK_THROWS_WITH_AS((Resize{{0, 3}}(image)), "transforms::Resize: size is 0 x 3, both sides must be at least 1",
                       ValueError);
  CHECK_THROWS_WITH_AS((Resize{2}(pixels(3, 0, 5, Dtype::uint8))),
                       "transforms::Resize: the image has shape (3, 0, 5): it has no pixels", ValueError);
  CHECK_THROWS_AS((Scale{2}(pixels(3, 0, 5, Dtype::uint8))), ValueError);
  CHECK_THROWS_AS((Scale{0}(image)), ValueError);
  CHECK_THROWS_AS((Resize{2}(zeros({4, 5}))), TypeError);
}
