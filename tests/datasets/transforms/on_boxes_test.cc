#include "kusari/framework/datasets/transforms/on_boxes.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/transforms/normalize.h"
#include "kusari/framework/datasets/transforms/pad.h"
#include "kusari/framework/datasets/transforms/random_box_crop.h"
#include "kusari/framework/datasets/transforms/random_distort.h"
#include "kusari/framework/datasets/transforms/random_expand.h"
#include "kusari/framework/datasets/transforms/resize_contain.h"
#include "kusari/framework/functions/detection/bbox_iou.h"
#include "kusari/tests/datasets/transforms/images.h"

using namespace kusari;
using namespace kusari::transforms;
using namespace kusari::testing;
using datasets::Example;
using datasets::ExampleRandom;
using Boxes = std::vector<Box>;

namespace {

/// A black image with a white rectangle at its box, and the box.
BoxedImage marked(int64_t height, int64_t width, const Box& box) {
  const Array image = empty_image(3, {height, width}, Dtype::uint8);
  image.fill(0);
  image.slice(1, std::lround(box.y_min), std::lround(box.height()))
      .slice(2, std::lround(box.x_min), std::lround(box.width()))
      .fill(255);
  return {image, {box}, {0}};
}

/// Where the pixels above 127 lie.
Box white_part(const Array& image) {
  Box found{1e9F, 1e9F, -1, -1};
  const std::vector<int> values = image.at(0).to_vector<int>();
  for (int64_t y = 0; y < image.shape(1); ++y) {
    for (int64_t x = 0; x < image.shape(2); ++x) {
      if (values[static_cast<size_t>(y * image.shape(2) + x)] <= 127) continue;
      const auto top = static_cast<float>(y), left = static_cast<float>(x);
      found = {std::min(found.y_min, top), std::min(found.x_min, left), std::max(found.y_max, top + 1),
               std::max(found.x_max, left + 1)};
    }
  }
  return found;
}

void check_near(const Box& a, const Box& b, float pixels) {
  CHECK(std::abs(a.y_min - b.y_min) <= pixels);
  CHECK(std::abs(a.x_min - b.x_min) <= pixels);
  CHECK(std::abs(a.y_max - b.y_max) <= pixels);
  CHECK(std::abs(a.x_max - b.x_max) <= pixels);
}

/// Many random streams: the box lies where the white rectangle is.
template <class... Steps>
void check_moves_together(float pixels, const Steps&... steps) {
  for (int64_t i = 0; i < 40; ++i) {
    const BoxedImage before = marked(60, 80, {20, 30, 44, 62});
    ExampleRandom random(5, 0, i);
    const Example after = on_boxes(steps...)({before.image, bbox_array(before.bbox), array<int>({4})}, random);
    if (after[1].shape(0) == 0) continue;
    check_near(boxes_of(after[1])[0], white_part(after[0]), pixels);
    CHECK(after[2].to_vector<int>() == std::vector<int>{4});
  }
}

}  // namespace

TEST_CASE("flip_bbox, resize_bbox, translate_bbox, crop_bbox") {
  const Boxes boxes = {{1, 2, 4, 8}, {0, 0, 10, 20}};
  CHECK(flip_bbox(boxes, {10, 20}, {.horizontal = true}) == Boxes{{1, 12, 4, 18}, {0, 0, 10, 20}});
  CHECK(flip_bbox(boxes, {10, 20}, {.horizontal = false, .vertical = true}) == Boxes{{6, 2, 9, 8}, {0, 0, 10, 20}});
  CHECK(flip_bbox(boxes, {10, 20}, {true, true})[0] == Box{6, 12, 9, 18});
  CHECK(resize_bbox(boxes, {10, 20}, {20, 10}) == Boxes{{2, 1, 8, 4}, {0, 0, 20, 10}});
  CHECK(translate_bbox(boxes, 3, -1) == Boxes{{4, 1, 7, 7}, {3, -1, 13, 19}});
  const KeptBoxes kept = crop_bbox(boxes, {3, 5, {4, 6}});
  CHECK(kept.bbox == Boxes{{0, 0, 1, 3}, {0, 0, 4, 6}});
  CHECK(kept.index == std::vector<int64_t>{0, 1});
  // The first one's centre is (2.5, 5).
  CHECK(crop_bbox(boxes, {3, 5, {4, 6}}, false).index == std::vector<int64_t>{1});
  CHECK(crop_bbox(boxes, {4, 8, {1, 1}}).index == std::vector<int64_t>{1});  // it touches the first
  CHECK_THROWS_AS(resize_bbox(boxes, {0, 20}, {20, 10}), ValueError);
}

TEST_CASE("on_boxes moves images and boxes by the same numbers") {
  check_moves_together(0, RandomFlip{true, true});
  check_moves_together(0, Flip{}, RandomExpand{});
  check_moves_together(1, Resize{{90, 40}});
  check_moves_together(1, Scale{45});
  check_moves_together(0, RandomCrop{{50, 60}}, RandomFlip{});
  check_moves_together(0, CenterCrop{{30, 30}}, Crop{{2, 2, 20}});
  check_moves_together(0, RandomBoxCrop{});
  check_moves_together(1, ResizeContain{{100, 90}, {7}, Interpolation::bilinear, true});
  check_moves_together(1, ResizeContain{{40, 30}});
  check_moves_together(2, RandomSizedCrop{40, {0.3, 1}});
  check_moves_together(2, RandomExpand{2}, RandomBoxCrop{}, Resize{64}, RandomFlip{});
}

TEST_CASE("on_boxes drops the rows of boxes that are gone") {
  const Example example = {pixels(3, 20, 20, Dtype::uint8),
                           bbox_array(Boxes{{0, 0, 5, 5}, {12, 12, 18, 18}, {8, 2, 14, 14}}), array<int>({1, 2, 3}),
                           array<float>({1, 1, 2, 2, 3, 3}, {3, 2})};
  ExampleRandom random(1);
  const Example after = on_boxes(Crop{{10, 10, 10}}, Normalize{})(example, random);
  CHECK(boxes_of(after[1]) == Boxes{{2, 2, 8, 8}, {0, 0, 4, 4}});
  CHECK(after[2].to_vector<int>() == std::vector<int>{2, 3});
  CHECK(after[3].to_vector<float>() == std::vector<float>{2, 2, 3, 3});
  CHECK(after[0].dtype() == Dtype::float32);
  const Example none = on_boxes(Crop{{5, 15, 3}})(example, random);
  CHECK(none[1].shape() == Shape{0, 4});
  CHECK(none[2].shape() == Shape{0});

  CHECK_THROWS_WITH_AS(on_boxes(Pad{2})(example, random),
                       "transforms::on_boxes: a transform made an image of 24 x 24 of one of 20 x 20, but does not say "
                       "where the boxes are then",
                       TypeError);
  CHECK_THROWS_AS(on_boxes(Flip{})({example[0]}, random), ValueError);
  CHECK_THROWS_WITH_AS(
      on_boxes(Flip{})({example[0], example[1], array<int>({1})}, random),
      "transforms::on_boxes: component 2 of an example with 3 boxes has shape (1,): it must have a row "
      "for each",
      ValueError);
}

TEST_CASE("RandomExpand") {
  const Array image = pixels(3, 4, 5, Dtype::uint8);
  std::set<int64_t> heights;
  for (int64_t i = 0; i < 50; ++i) {
    ExampleRandom random(1, 0, i);
    const BoxedImage after = RandomExpand{3, {10, 20, 30}}(BoxedImage{image, {{0, 0, 4, 5}}, {0}}, random);
    const auto top = static_cast<int64_t>(after.bbox[0].y_min), left = static_cast<int64_t>(after.bbox[0].x_min);
    CHECK(after.image.slice(1, top, 4).slice(2, left, 5).to_vector<int>() == image.to_vector<int>());
    CHECK(after.image.shape(1) <= 12);
    heights.insert(after.image.shape(1));
    if (top > 0) CHECK(after.image.at(2).at(0).at(0).item<int>() == 30);
    ExampleRandom never(1, 0, i);
    CHECK(RandomExpand{3, {0}, 0}(image, never).is_same(image));
  }
  CHECK(heights.size() >= 6);
  ExampleRandom random(1);
  CHECK_THROWS_AS((RandomExpand{0.5}(image, random)), ValueError);
  CHECK_THROWS_AS((RandomExpand{2, {1, 2}}(image, random)), ValueError);
  CHECK_THROWS_WITH_AS((RandomExpand{2, {-1}, 1}(image, random)),
                       "transforms::RandomExpand: fill is -1: it must be in [0, 255] for images of uint8", ValueError);
}

TEST_CASE("ResizeContain") {
  const auto place = [](const ResizeContain& contain, const Size& image) {
    const Window w = contain.place(image);
    return std::vector<int64_t>{w.top, w.left, w.size.height, w.size.width};
  };
  CHECK(place({100}, {50, 60}) == std::vector<int64_t>{25, 20, 50, 60});  // smaller images keep their size
  CHECK(place({100}, {200, 400}) == std::vector<int64_t>{25, 0, 50, 100});
  const ResizeContain efficientdet{.size = 512, .enlarge = true, .centre = false};
  CHECK(place(efficientdet, {480, 640}) == std::vector<int64_t>{0, 0, 384, 512});
  CHECK(place(efficientdet, {100, 50}) == std::vector<int64_t>{0, 0, 512, 256});
  CHECK(place({10}, {1000, 1}) == std::vector<int64_t>{0, 4, 10, 1});
  const Array image = pixels(3, 4, 6, Dtype::float32);
  const Array inside = ResizeContain{{8, 6}, {0.5}}(image);
  CHECK(inside.slice(1, 2, 4).to_vector<float>() == image.to_vector<float>());
  CHECK(inside.at(1).at(0).at(0).item<float>() == 0.5F);
  CHECK_THROWS_AS((ResizeContain{0}(image)), ValueError);
}

TEST_CASE("RandomDistort") {
  const Array image = pixels(3, 9, 7, Dtype::uint8);
  std::set<std::vector<int>> seen;
  for (int64_t i = 0; i < 100; ++i) {
    ExampleRandom random(2, 0, i);
    seen.insert(RandomDistort{}(image, random).to_vector<int>());
    // Without any range nothing changes: RGB to HSV and back.
    ExampleRandom again(2, 0, i);
    CHECK(RandomDistort{0, 1, 1, 1, 1, 0}(image, again).to_vector<int>() == image.to_vector<int>());
  }
  CHECK(seen.size() > 80);
  // No saturation: grey as bright as the brightest channel, or the image where it was not drawn.
  const Array red = array<float>({200, 0, 0}, {3, 1, 1});
  std::set<std::vector<int>> results;
  for (int64_t i = 0; i < 40; ++i) {
    ExampleRandom random(3, 0, i);
    results.insert(RandomDistort{0, 1, 1, 0, 0, 0}(red, random).to_vector<int>());
  }
  CHECK(results == std::set<std::vector<int>>{{200, 0, 0}, {200, 200, 200}});
  ExampleRandom random(1);
  CHECK_THROWS_AS(RandomDistort{}(pixels(1, 2, 2, Dtype::uint8), random), ValueError);
  CHECK_THROWS_AS((RandomDistort{.contrast_low = 2}(image, random)), ValueError);
}

TEST_CASE("RandomBoxCrop") {
  const BoxedImage boxed{pixels(3, 50, 60, Dtype::uint8), {{10, 10, 40, 30}, {20, 35, 30, 50}}, {0, 1}};
  std::set<int64_t> heights;
  for (int64_t i = 0; i < 100; ++i) {
    ExampleRandom random(4, 0, i), again(4, 0, i);
    const RandomBoxCrop crop{.constraints = {{0.05, 1}}};
    const Window window = crop.window(boxed, random);
    const Box shown{static_cast<float>(window.top), static_cast<float>(window.left),
                    static_cast<float>(window.top + window.size.height),
                    static_cast<float>(window.left + window.size.width)};
    for (const Box& box : boxed.bbox) CHECK(functions::bbox_iou(box, shown) >= 0.05F - 1e-6F);
    heights.insert(window.size.height);
    CHECK(crop(boxed, again).image.shape(1) == window.size.height);
  }
  CHECK(heights.size() > 10);
  ExampleRandom random(1);
  const BoxedImage empty{boxed.image, {}, {}};
  CHECK(RandomBoxCrop{}(empty, random).image.is_same(boxed.image));
  CHECK_THROWS_AS(RandomBoxCrop{.min_scale = 0}(boxed, random), ValueError);
}
