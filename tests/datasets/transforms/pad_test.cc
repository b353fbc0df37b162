#include "kusari/framework/datasets/transforms/pad.h"

#include <cmath>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/datasets/transforms/images.h"

using namespace kusari;
using namespace kusari::transforms;
using namespace kusari::testing;

TEST_CASE("Pad with a constant") {
  for_each_layout(3, 4, 5, [](const Array& image) {
    const Array padded = Pad{.margins = {1, 2, 3, 0}, .value = 7}(image);
    CHECK(padded.shape() == Shape{3, 7, 8});
    CHECK(padded.dtype() == image.dtype());
    CHECK(has_pixel_rows(padded));
    CHECK(padded.to_vector<int>() == values_of(padded.shape(), [](auto c, auto y, auto x) {
            return y < 1 || y >= 5 || x < 3 ? 7 : pattern(c, y - 1, x - 3);
          }));
    CHECK(Pad{0}(image).to_vector<int>() == image.to_vector<int>());
  });
  CHECK(Pad{1}(pixels(2, 0, 3, Dtype::float32)).to_vector<int>() == std::vector<int>(2 * 2 * 5, 0));
}

TEST_CASE("Pad with the edge, and mirrored") {
  for_each_layout(2, 3, 4, [](const Array& image) {
    // numpy.pad(range(3), (4, 2), mode) and numpy.pad(range(4), (1, 5), mode).
    const int rows_edge[] = {0, 0, 0, 0, 0, 1, 2, 2, 2}, columns_edge[] = {0, 0, 1, 2, 3, 3, 3, 3, 3, 3};
    const int rows_reflect[] = {0, 1, 2, 1, 0, 1, 2, 1, 0}, columns_reflect[] = {1, 0, 1, 2, 3, 2, 1, 0, 1, 2};
    const Margins margins(4, 2, 1, 5);
    const Array edge = Pad{margins, PadMode::edge}(image), reflect = Pad{margins, PadMode::reflect}(image);
    CHECK(edge.to_vector<int>() ==
          values_of({2, 9, 10}, [&](auto c, auto y, auto x) { return pattern(c, rows_edge[y], columns_edge[x]); }));
    CHECK(reflect.to_vector<int>() == values_of({2, 9, 10}, [&](auto c, auto y, auto x) {
            return pattern(c, rows_reflect[y], columns_reflect[x]);
          }));
    CHECK(has_pixel_rows(reflect));
  });
  CHECK(Pad{2, PadMode::reflect}(pixels(1, 1, 1, Dtype::uint8)).to_vector<int>() == std::vector<int>(25, 0));
}

TEST_CASE("Pad: errors") {
  const Array image = pixels(3, 4, 5, Dtype::uint8);
  CHECK_THROWS_WITH_AS((Pad{Margins{1, -1, 0, 0}}(image)),
                       "transforms::Pad: margins are 1, -1, 0, 0 (top, bottom, left, right): none may be negative",
                       ValueError);
  CHECK_THROWS_WITH_AS((Pad{1, PadMode::edge}(pixels(3, 0, 5, Dtype::uint8))),
                       "transforms::Pad: an image of 0 x 5 has no pixels to repeat", ValueError);
  CHECK_THROWS_AS(Pad{1}(zeros({3, 4, 5}, Dtype::int32)), TypeError);
  CHECK_THROWS_WITH_AS((Pad{.margins = 1, .value = 300}(image)),
                       "transforms::Pad: value is 300: it must be in [0, 255] for images of uint8", ValueError);
  for (const double value : {-1.0, 1e12, std::nan("")}) {
    CHECK_THROWS_AS((Pad{.margins = 1, .value = value}(image)), ValueError);
    CHECK_NOTHROW(Pad{1, PadMode::edge, value}(image));
    CHECK_NOTHROW(Pad{.margins = 1, .value = value}(pixels(3, 4, 5, Dtype::float32)));
  }
}
