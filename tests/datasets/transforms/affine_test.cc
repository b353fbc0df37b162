#include "kusari/framework/datasets/transforms/affine.h"

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

/// The pattern at the pixel in which (x, y) lies, or 7.
int at_place(int64_t c, double y, double x, int64_t height, int64_t width) {
  if (y < 0 || x < 0 || y >= static_cast<double>(height) || x >= static_cast<double>(width)) return 7;
  return pattern(c, static_cast<int64_t>(y), static_cast<int64_t>(x));
}

}  // namespace

TEST_CASE("moved pixels are those of Pillow, to the bit") {
  // Pillow 13.0.0: x.transform(x.size, AFFINE, (xx, xy, x0, yx, yy, y0), NEAREST, fillcolor=7), x.rotate(degrees,
  // NEAREST, fillcolor=7).
  struct Case {
    Affine map;
    int64_t rgb, grey;
  };
  const Case cases[] = {
      {{.xy = 0.3, .fill = 7}, 94549379, 22275727},
      {{.yx = -0.09, .fill = 7}, 100402728, 25851182},
      {{.x0 = 5, .fill = 7}, 89211849, 21866898},
      {{.y0 = -4, .fill = 7}, 89621759, 25379852},
      {{.xx = 0.7, .xy = 0.2, .x0 = -1.5, .yx = -0.1, .yy = 1.3, .y0 = 2.25, .fill = 7}, 80673420, 15280025},
  };
  const Array rgb = halved_pixels(3, Dtype::uint8), grey = halved_pixels(1, Dtype::uint8);
  for (const Case& c : cases) {
    CHECK(weighted_sum(c.map(rgb)) == c.rgb);
    CHECK(weighted_sum(c.map(grey)) == c.grey);
    CHECK(weighted_sum(c.map(halved_pixels(3, Dtype::float32))) == c.rgb);
  }
  struct Turn {
    double degrees;
    int64_t rgb, grey;
  };
  for (const Turn& c : {Turn{9, 98873101, 24411896}, Turn{-30, 90252245, 22120688}, Turn{90, 79833750, 19817777},
                        Turn{180, 105322528, 25738494}, Turn{411.7, 86378587, 21331314}}) {
    CAPTURE(c.degrees);
    CHECK(weighted_sum(Rotate{c.degrees, 7}(rgb)) == c.rgb);
    CHECK(weighted_sum(Rotate{c.degrees, 7}(grey)) == c.grey);
  }
}

TEST_CASE("Affine takes the pixel that the map names") {
  for_each_layout(3, 9, 12, [](const Array& image) {
    const std::vector<int> before = image.to_vector<int>();
    // Exact in units of 2^-16.
    for (const Affine& map : {Affine{.xy = 0.25, .fill = 7}, Affine{.x0 = 3, .fill = 7}, Affine{.y0 = -2.5, .fill = 7},
                              Affine{.xx = 0.5, .xy = -0.125, .x0 = 2, .yx = 0.75, .yy = 2, .y0 = -1, .fill = 7},
                              Affine{.xx = -1, .x0 = 12, .fill = 7}, Affine{.fill = 7},
                              Affine{.xx = 0, .xy = 1, .yx = 1, .yy = 0, .fill = 7}}) {
      const Array y = map(image);
      CHECK(y.dtype() == image.dtype());
      CHECK(has_pixel_rows(y));
      CHECK(y.to_vector<int>() == values_of(image.shape(), [&](auto c, auto row, auto column) {
              const double v = static_cast<double>(row) + 0.5, u = static_cast<double>(column) + 0.5;
              return at_place(c, map.yx * u + map.yy * v + map.y0, map.xx * u + map.xy * v + map.x0, 9, 12);
            }));
    }
    CHECK(image.to_vector<int>() == before);
  });
}

TEST_CASE("Rotate turns counterclockwise around the middle") {
  for_each_layout(2, 5, 5, [](const Array& image) {
    const auto turned = [&](double degrees) { return Rotate{degrees}(image).to_vector<int>(); };
    CHECK(turned(90) == values_of(image.shape(), [](auto c, auto y, auto x) { return pattern(c, x, 4 - y); }));
    CHECK(turned(-90) == values_of(image.shape(), [](auto c, auto y, auto x) { return pattern(c, 4 - x, y); }));
    CHECK(turned(180) == values_of(image.shape(), [](auto c, auto y, auto x) { return pattern(c, 4 - y, 4 - x); }));
    CHECK(turned(720) == image.to_vector<int>());
    CHECK(turned(450) == turned(90));
  });
  const std::vector<int> corner = Rotate{45, 7}(zeros({1, 8, 8}, Dtype::uint8)).to_vector<int>();
  CHECK(corner[0] == 7);
  CHECK(corner[27] == 0);
}

TEST_CASE("moved pixels: what cannot be") {
  const Array image = pixels(3, 4, 5, Dtype::uint8);
  CHECK_THROWS_WITH_AS((Affine{.xx = 1e6}(image)), "transforms::Affine: xx is 1e+06: it must be within -2^15 and 2^15",
                       ValueError);
  CHECK_THROWS_AS((Affine{.y0 = std::nan("")}(image)), ValueError);
  CHECK_THROWS_AS((Affine{.x0 = 1e10}(image)), ValueError);
  CHECK_THROWS_WITH_AS((Affine{.fill = 256}(image)),
                       "transforms::Affine: fill is 256: it must be in [0, 255] for images of uint8", ValueError);
  CHECK_THROWS_WITH_AS(Rotate{std::numeric_limits<double>::infinity()}(image),
                       "transforms::Rotate: degrees is inf: it must be finite", ValueError);
  CHECK_THROWS_AS((Rotate{1, -1}(image)), ValueError);
  CHECK(Rotate{30}(zeros({3, 0, 5}, Dtype::uint8)).shape() == Shape{3, 0, 5});
  CHECK((Affine{.x0 = 0x1p31, .fill = 7}(image)).to_vector<int>() == std::vector<int>(60, 7));
}
