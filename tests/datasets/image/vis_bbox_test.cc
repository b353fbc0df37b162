#include "kusari/framework/datasets/image/vis_bbox.h"

#include <cmath>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/image/decode.h"
#include "kusari/framework/datasets/image/save_png.h"

using namespace kusari;
using datasets::Rgb;
using datasets::vis_bbox;

namespace {

Rgb pixel(const Array& image, int64_t y, int64_t x) {
  Rgb color{};
  for (int64_t c = 0; c < 3; ++c) color[static_cast<size_t>(c)] = image.at(c).at(y).at(x).item<uint8_t>();
  return color;
}

const Rgb kRed = {255, 0, 0}, kGreen = {0, 255, 0}, kGrey = {50, 50, 50};

/// The rows of a picture's part as text, '#' where a pixel is of that colour.
std::vector<std::string> shape_of(const Array& image, int64_t top, int64_t left, int64_t height, int64_t width,
                                  const Rgb& color) {
  std::vector<std::string> rows;
  for (int64_t y = top; y < top + height; ++y) {
    rows.emplace_back();
    for (int64_t x = left; x < left + width; ++x) rows.back() += pixel(image, y, x) == color ? '#' : '.';
  }
  return rows;
}

}  // namespace

TEST_CASE("voc_colormap") {
  CHECK(datasets::voc_colormap(0) == Rgb{0, 0, 0});
  CHECK(datasets::voc_colormap(1) == Rgb{128, 0, 0});
  CHECK(datasets::voc_colormap(2) == Rgb{0, 128, 0});
  CHECK(datasets::voc_colormap(15) == Rgb{192, 128, 128});  // person
  CHECK(datasets::voc_colormap(20) == Rgb{0, 64, 128});     // tvmonitor
  CHECK(datasets::voc_colormap(255) == Rgb{224, 224, 192});
  CHECK(datasets::voc_colormap(-1) == datasets::voc_colormap(255));
}

TEST_CASE("vis_bbox draws lines") {
  const Array image = full({3, 20, 30}, 50, Dtype::uint8);
  const std::vector<Box> boxes = {{4, 5, 12, 20}};
  const Array picture = vis_bbox(image, boxes, {}, {}, {.colors = {kRed}, .line_width = 2});
  CHECK(picture.shape() == image.shape());
  CHECK(picture.dtype() == Dtype::uint8);
  for (int64_t y = 0; y < 20; ++y) {
    for (int64_t x = 0; x < 30; ++x) {
      const bool is_inside = y >= 4 && y < 12 && x >= 5 && x < 20, is_hole = y >= 6 && y < 10 && x >= 7 && x < 18;
      CHECK(pixel(picture, y, x) == (is_inside && !is_hole ? kRed : kGrey));
    }
  }
  CHECK(pixel(image, 4, 5) == kGrey);  // the argument stays
  // Grey and floating images, other layouts, boxes outside.
  const std::vector<Box> far = {{-5, -5, 8, 8}, {1e20F, 0, 1e30F, 5}, {NAN, NAN, NAN, NAN}};
  for (const Array& other : {full({1, 20, 30}, 50, Dtype::float32), full({20, 30}, 50, Dtype::uint8)}) {
    const Array drawn = vis_bbox(other, far, {}, {}, {.colors = {kGreen}, .line_width = 1});
    CHECK(pixel(drawn, 7, 3) == kGreen);
    CHECK(pixel(drawn, 3, 7) == kGreen);
    CHECK(pixel(drawn, 3, 3) == kGrey);
    CHECK(pixel(drawn, 19, 29) == kGrey);
  }
  CHECK(vis_bbox(zeros({3, 0, 0}, Dtype::uint8), boxes).size() == 0);
}

TEST_CASE("vis_bbox writes captions") {
  const Array image = zeros({3, 60, 90}, Dtype::uint8);
  const std::vector<Box> boxes = {{30, 10, 50, 80}};
  const datasets::VisBboxOptions options{
      .label_names = {"RBC", "x"}, .colors = {kRed}, .line_width = 1, .text_scale = 1};
  const Array picture = vis_bbox(image, boxes, std::vector<int32_t>{0}, std::vector<float>{0.874F}, options);
  // "RBC: 0.87", 9 letters of 6 x 9 points, white on red above the box.
  CHECK(shape_of(picture, 21, 10, 9, 19, {255, 255, 255}) ==
        std::vector<std::string>{"...................", ".####..####...###..", ".#...#.#...#.#...#.",
                                 ".#...#.#...#.#.....", ".####..####..#.....", ".#.#...#...#.#.....",
                                 ".#..#..#...#.#...#.", ".#...#.####...###..", "..................."});
  CHECK(pixel(picture, 21, 10 + 9 * 6) == kRed);
  CHECK(pixel(picture, 21, 10 + 9 * 6 + 1) == Rgb{0, 0, 0});
  CHECK(pixel(picture, 20, 12) == Rgb{0, 0, 0});
  // On a bright colour black letters; without names the number; below the line where there is no room above.
  const std::vector<Box> top = {{0, 80, 20, 90}};
  const Array bright =
      vis_bbox(image, top, std::vector<int32_t>{1}, {}, {.colors = {kGreen}, .line_width = 1, .text_scale = 1});
  CHECK(shape_of(bright, 1, 80, 9, 7, {0, 0, 0}) == std::vector<std::string>{".......", "...#...", "..##...", "...#...",
                                                                             "...#...", "...#...", "...#...", "..###..",
                                                                             "......."});
  const Array detected = vis_bbox(image, Detections{boxes, {0}, {0.874F}}, options);
  CHECK(detected.to_vector<int>() == picture.to_vector<int>());

  CHECK_THROWS_WITH_AS(vis_bbox(image, boxes, std::vector<int32_t>{2}, {}, options),
                       "vis_bbox: label has 2: it must not be negative, and less than the number of label_names",
                       ValueError);
  CHECK_THROWS_AS(vis_bbox(image, boxes, std::vector<int32_t>{0, 0}), ValueError);
  CHECK_THROWS_AS(vis_bbox(image, boxes, {}, std::vector<float>{0, 0}), ValueError);
  CHECK_THROWS_AS(vis_bbox(zeros({2, 5, 5}), boxes), ValueError);
  CHECK_THROWS_AS(vis_bbox(zeros({3, 5, 5}, Dtype::int32), boxes), TypeError);
  CHECK_THROWS_AS(vis_bbox(Array(), boxes), TypeError);
}

TEST_CASE("vis_semantic_segmentation") {
  const Array image = full({3, 2, 2}, 100, Dtype::uint8), label = array<int>({0, 1, 2, -1}, {2, 2});
  const Array picture = datasets::vis_semantic_segmentation(image, label, {.alpha = 0.5});
  CHECK(pixel(picture, 0, 0) == Rgb{50, 50, 50});
  CHECK(pixel(picture, 0, 1) == Rgb{114, 50, 50});
  CHECK(pixel(picture, 1, 1) == Rgb{50, 50, 50});
  const Array whole = datasets::vis_semantic_segmentation(image, label, {.colors = {kRed, kGreen}, .ignored = {}});
  CHECK(pixel(whole, 0, 0) == kRed);
  CHECK(pixel(whole, 1, 0) == kRed);  // in turn
  CHECK(pixel(whole, 1, 1) == Rgb{100, 100, 100});
  CHECK_THROWS_AS(datasets::vis_semantic_segmentation(image, zeros({2, 2})), TypeError);
  CHECK_THROWS_AS(datasets::vis_semantic_segmentation(image, zeros({2, 3}, Dtype::int32)), ValueError);
  CHECK_THROWS_AS(datasets::vis_semantic_segmentation(image, label, {.alpha = 2}), ValueError);
  CHECK_THROWS_AS(datasets::vis_semantic_segmentation(image, array<int>({0, 0, 0, -2}, {2, 2})), ValueError);
}

#ifdef KUSARI_WITH_PNG
TEST_CASE("encode_png") {
  const Array image = vis_bbox(zeros({3, 9, 11}, Dtype::uint8), std::vector<Box>{{1, 1, 5, 8}});
  const std::string bytes = datasets::encode_png(image);
  const std::vector<uint8_t> content(bytes.begin(), bytes.end());
  CHECK(datasets::decode_image(content).to_vector<int>() == image.to_vector<int>());
  CHECK_THROWS_WITH_AS(datasets::encode_png(zeros({2, 2, 2})),
                       "encode_png: image has shape (2, 2, 2): it must be (H, W), (1, H, W) or (3, H, W), not empty",
                       ValueError);
}
#endif
