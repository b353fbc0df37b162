#include <cmath>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/detection/anchor_grid.h"

namespace kusari {
namespace {

namespace L = links;

void check_box(const Box& got, const Box& expected) {
  CHECK(got.y_min == doctest::Approx(expected.y_min).epsilon(1e-6));
  CHECK(got.x_min == doctest::Approx(expected.x_min).epsilon(1e-6));
  CHECK(got.y_max == doctest::Approx(expected.y_max).epsilon(1e-6));
  CHECK(got.x_max == doctest::Approx(expected.x_max).epsilon(1e-6));
}

TEST_CASE("AnchorGrid: the counts of the papers") {
  const L::AnchorGrid grid;
  CHECK(grid(512, 512).size() == 49104);
  CHECK(grid(300, 300).size() == 17451);
  CHECK(grid(800, 1344).size() == 201600);
  CHECK(L::AnchorGrid::torchvision()(800, 1344).size() == 201600);
  CHECK(L::AnchorGrid::ssd()(300, 300).size() == 8732);
  CHECK(L::AnchorGrid::rpn()(512, 512).size() == 3 * (128 * 128 + 64 * 64 + 32 * 32 + 16 * 16 + 8 * 8));
  CHECK(grid.level_counts(512, 512) == std::vector<int64_t>{9 * 4096, 9 * 1024, 9 * 256, 9 * 64, 9 * 16});
  CHECK(L::AnchorGrid::ssd().level_counts(300, 300) == std::vector<int64_t>{5776, 2166, 600, 150, 36, 4});
  CHECK(grid.levels() == 5);
  CHECK(grid.at_place(4) == 9);
  CHECK(L::AnchorGrid::ssd().at_place(1) == 6);
}

TEST_CASE("AnchorGrid: EfficientDet's anchors") {
  const std::vector<Box> boxes = L::AnchorGrid()(512, 512);
  check_box(boxes[0], {-12, -12, 20, 20});  // 32 x 32 around (4, 4)
  const auto root = static_cast<float>(std::sqrt(2.0));
  check_box(boxes[1], {4 - 16 / root, 4 - 16 * root, 4 + 16 / root, 4 + 16 * root});  // wide
  check_box(boxes[2], {4 - 16 * root, 4 - 16 / root, 4 + 16 * root, 4 + 16 / root});  // tall
  const auto octave = static_cast<float>(std::cbrt(2.0));
  check_box(boxes[3], {4 - 16 * octave, 4 - 16 * octave, 4 + 16 * octave, 4 + 16 * octave});
  check_box(boxes[9], {-12, -4, 20, 28});             // the next place of the row
  check_box(boxes[9 * 64], {-4, -12, 28, 20});        // the next row
  check_box(boxes[9 * 4096], {-24, -24, 40, 40});     // the next level: 64 x 64 around (8, 8)
  check_box(boxes[49104 - 9], {192, 192, 704, 704});  // 512 x 512 around (448, 448)
  // 300 pixels have 38 places of 300 / 38.
  const auto step = static_cast<float>(300.0 / 38);
  check_box(L::AnchorGrid()(300, 300)[9],
            {step / 2 - 2 * step, step * 1.5F - 2 * step, step / 2 + 2 * step, step * 1.5F + 2 * step});
}

TEST_CASE("AnchorGrid: torchvision's anchors") {
  // AnchorGenerator of torchvision 0.29.2 for an image of 200 x 333: sizes 32, 40, 50 at ratio 0.5, 1, 2 of height to
  // width.
  const std::vector<Box> boxes = L::AnchorGrid::torchvision()(200, 333);
  const std::vector<Box> expected = {{-11, -23, 11, 23}, {-14, -28, 14, 28}, {-18, -35, 18, 35},
                                     {-16, -16, 16, 16}, {-20, -20, 20, 20}, {-25, -25, 25, 25},
                                     {-23, -11, 23, 11}, {-28, -14, 28, 14}, {-35, -18, 35, 18}};
  for (size_t i = 0; i < expected.size(); ++i) CHECK(boxes[i] == expected[i]);
  // 333 pixels have 42 places, 7 apart; 200 have 25.
  CHECK(boxes[9] == Box{-11, -16, 11, 30});
  CHECK(boxes[9 * 42] == Box{-3, -23, 19, 23});
  CHECK(boxes.size() == 9 * (25 * 42 + 13 * 21 + 7 * 11 + 4 * 6 + 2 * 3));
}

TEST_CASE("AnchorGrid: ChainerCV's anchors") {
  const std::vector<Box> rpn = L::AnchorGrid::rpn()(64, 96);
  // Stride 4: width round(4 * sqrt(2)) = 6, height round(6 / 2) = 3, times 8.
  check_box(rpn[0], {2 - 12, 2 - 24, 2 + 12, 2 + 24});
  check_box(rpn[1], {2 - 16, 2 - 16, 2 + 16, 2 + 16});
  check_box(rpn[2], {2 - 24, 2 - 12, 2 + 24, 2 + 12});  // round(2.83) = 3, 6
  check_box(rpn[3], {2 - 12, 6 - 24, 2 + 12, 6 + 24});

  const std::vector<Box> ssd = L::AnchorGrid::ssd()(300, 300);
  const auto between = static_cast<float>(std::sqrt(30.0 * 60) / 2), root = static_cast<float>(std::sqrt(2.0));
  check_box(ssd[0], {4 - 15, 4 - 15, 4 + 15, 4 + 15});
  check_box(ssd[1], {4 - between, 4 - between, 4 + between, 4 + between});
  check_box(ssd[2], {4 - 15 / root, 4 - 15 * root, 4 + 15 / root, 4 + 15 * root});
  check_box(ssd[3], {4 - 15 * root, 4 - 15 / root, 4 + 15 * root, 4 + 15 / root});
  check_box(ssd[4], {4 - 15, 12 - 15, 4 + 15, 12 + 15});
  check_box(ssd[8728], {150 - 132, 150 - 132, 150 + 132, 150 + 132});
}

TEST_CASE("AnchorGrid: what it refuses") {
  CHECK_THROWS_WITH_AS(L::AnchorGrid({.levels = {3, 21}}), "L::AnchorGrid: levels[i] is 21: it must be in [0, 20]",
                       ValueError);
  CHECK_THROWS_AS(L::AnchorGrid({.levels = {}}), ValueError);
  CHECK_THROWS_AS(L::AnchorGrid({.ratios = {1, 0}}), ValueError);
  CHECK_THROWS_AS(L::AnchorGrid({.scale = INFINITY}), ValueError);
  CHECK_THROWS_AS(L::AnchorGrid({.octaves = 0}), ValueError);
  CHECK_THROWS_AS(L::AnchorGrid()(0, 5), ValueError);
  CHECK_THROWS_WITH_AS(L::AnchorGrid()(1 << 23, 1 << 23),
                       "L::AnchorGrid: an image of 8388608 x 8388608 has more than 2^22 anchors", ValueError);
  CHECK_THROWS_WITH_AS(L::AnchorGrid::ssd()(300, 301), "L::AnchorGrid: width is 301: it must be the grid's, 300",
                       ValueError);
  CHECK_THROWS_WITH_AS(L::AnchorGrid::ssd({.sizes = {30, 60}}),
                       "L::AnchorGrid::ssd: sizes has 2 entries: it must have 7 for the grids that there are",
                       ValueError);
  CHECK_THROWS_AS(L::AnchorGrid().at_place(5), IndexError);
  CHECK(L::AnchorGrid()(1, 1).size() == 5 * 9);
}

}  // namespace
}  // namespace kusari
