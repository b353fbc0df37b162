#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/functions/detection/bbox_iou.h"
#include "kusari/framework/functions/detection/non_maximum_suppression.h"
#include "kusari/framework/functions/detection/soft_nms.h"

namespace kusari {
namespace {

namespace F = functions;
using Indices = std::vector<int64_t>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// n boxes with sides of 10 to 60 in an image of 100 x 100.
std::vector<Box> drawn_boxes(size_t n, uint64_t seed) {
  std::vector<Box> boxes;
  const auto uniform = [&](size_t i) { return static_cast<float>(philox_word(seed, i)) * 0x1p-32F; };
  for (size_t i = 0; i < n; ++i) {
    const float y = 90 * uniform(4 * i), x = 90 * uniform(4 * i + 1);
    boxes.push_back({y, x, y + 10 + 50 * uniform(4 * i + 2), x + 10 + 50 * uniform(4 * i + 3)});
  }
  return boxes;
}

std::vector<float> drawn_scores(size_t n, uint64_t seed) {
  std::vector<float> scores;
  for (size_t i = 0; i < n; ++i) scores.push_back(static_cast<float>(philox_word(seed, i) % 50) / 50);  // with ties
  return scores;
}

TEST_CASE("boxes are rows of an array") {
  const std::vector<Box> boxes = {{1, 2, 3, 4}, {5, 6, 7.5, 8}};
  const Array rows = bbox_array(boxes);
  CHECK(rows.shape() == Shape{2, 4});
  CHECK(rows.dtype() == Dtype::float32);
  CHECK(rows.to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6, 7.5, 8});
  CHECK(boxes_of(rows) == boxes);
  CHECK(boxes_of(bbox_array({})).empty());
  CHECK(boxes_of(array<int>({1, 2, 3, 4}, {1, 4})) == std::vector<Box>{{1, 2, 3, 4}});
  CHECK_THROWS_WITH_AS(boxes_of(zeros({4})), "boxes_of: bbox has shape (4,): it must be (boxes, 4)", TypeError);
  CHECK_THROWS_AS(boxes_of(zeros({2, 5})), TypeError);
  CHECK_THROWS_AS(boxes_of(Array()), TypeError);
}

TEST_CASE("bbox_iou") {
  const Box a{0, 0, 10, 20};
  CHECK(F::bbox_iou(a, a) == 1);
  CHECK(F::bbox_iou(a, {0, 10, 10, 30}) == 100.F / 300);
  CHECK(F::bbox_iou(a, {5, 5, 10, 10}) == 25.F / 200);  // within it
  CHECK(F::bbox_iou(a, {10, 0, 20, 20}) == 0);          // side by side
  CHECK(F::bbox_iou(a, {100, 100, 101, 101}) == 0);
  CHECK(F::bbox_iou({3, 3, 3, 3}, {3, 3, 3, 3}) == 0);  // empty
  const std::vector<Box> rows = {a, {0, 0, 5, 20}}, columns = {a, {5, 0, 10, 20}, {0, 0, 10, 10}};
  const std::vector<Box> none;
  CHECK(F::bbox_iou(rows, columns) == std::vector<float>{1, 0.5, 0.5, 0.5, 0, 50.F / 150});
  CHECK(F::bbox_iou(none, columns).empty());
}

TEST_CASE("non_maximum_suppression") {
  // IoU of the first with the second 0.6, with the third 0.25; of the second with the third 3 / 7.
  const std::vector<Box> boxes = {{0, 0, 10, 8}, {0, 2, 10, 10}, {0, 6, 10, 8}, {0, 90, 10, 98}};
  CHECK(F::non_maximum_suppression(boxes, 0.5) == Indices{0, 2, 3});
  CHECK(F::non_maximum_suppression(boxes, 0.7) == Indices{0, 1, 2, 3});
  const std::vector<float> score = {0.2F, 0.9F, 0.3F, 0.9F};
  CHECK(F::non_maximum_suppression(boxes, 0.5, score) == Indices{1, 3, 2});  // equal scores: the lower index first
  CHECK(F::non_maximum_suppression(boxes, 0.5, score, 2) == Indices{1, 3});
  CHECK(F::non_maximum_suppression(boxes, 0.5, score, 0).empty());
  CHECK(F::non_maximum_suppression(boxes, 0.5, std::vector<float>{1, kNan, 2, 3}) == Indices{3, 2, 0});
  CHECK(F::non_maximum_suppression(std::vector<Box>(), 0.5).empty());
  // An IoU of exactly `thresh` is enough.
  const std::vector<Box> halves = {{0, 0, 2, 2}, {0, 0, 1, 2}};
  CHECK(F::non_maximum_suppression(halves, 0.5) == Indices{0});
  CHECK(F::non_maximum_suppression(halves, std::nextafter(0.5F, 1.F)) == Indices{0, 1});

  CHECK_THROWS_WITH_AS(F::non_maximum_suppression(boxes, 0.5, std::vector<float>{1}),
                       "F::non_maximum_suppression: score has 1 numbers and bbox 4 boxes: there must be as many",
                       ValueError);
  CHECK_THROWS_AS(F::non_maximum_suppression(boxes, std::nan("")), ValueError);
  CHECK_THROWS_AS(F::non_maximum_suppression(boxes, 0.5, {}, -1), ValueError);
}

TEST_CASE("non_maximum_suppression: what stays is far from what stays, and all else is near it") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<Box> boxes = drawn_boxes(200, seed);
    const std::vector<float> score = drawn_scores(200, seed + 100);
    const Indices kept = F::non_maximum_suppression(boxes, 0.4, score);
    const auto precedes = [&](int64_t a, int64_t b) {
      const float first = score[static_cast<size_t>(a)], second = score[static_cast<size_t>(b)];
      return first > second || (first == second && a < b);
    };
    for (size_t k = 1; k < kept.size(); ++k) CHECK(precedes(kept[k - 1], kept[k]));
    for (int64_t i = 0; i < 200; ++i) {
      bool is_kept = false, is_dropped = false;
      for (const int64_t k : kept) {
        is_kept |= k == i;
        is_dropped |=
            precedes(k, i) && F::bbox_iou(boxes[static_cast<size_t>(k)], boxes[static_cast<size_t>(i)]) >= 0.4F;
      }
      CHECK(is_kept != is_dropped);
    }
  }
}

TEST_CASE("class_wise_suppression is non_maximum_suppression of each class") {
  const std::vector<Box> boxes = drawn_boxes(300, 7);
  const std::vector<float> score = drawn_scores(300, 8);
  std::vector<int32_t> label;
  for (size_t i = 0; i < boxes.size(); ++i) label.push_back(static_cast<int32_t>(philox_word(9, i) % 4) - 1);
  const Indices kept = F::class_wise_suppression(boxes, label, 0.4, score);
  for (size_t k = 1; k < kept.size(); ++k) {
    CHECK(score[static_cast<size_t>(kept[k - 1])] >= score[static_cast<size_t>(kept[k])]);
  }
  for (int32_t c = -1; c < 3; ++c) {
    Indices members, expected, got;
    std::vector<Box> own;
    std::vector<float> own_score;
    for (size_t i = 0; i < boxes.size(); ++i) {
      if (label[i] != c) continue;
      members.push_back(static_cast<int64_t>(i));
      own.push_back(boxes[i]);
      own_score.push_back(score[i]);
    }
    for (const int64_t k : F::non_maximum_suppression(own, 0.4, own_score)) {
      expected.push_back(members[static_cast<size_t>(k)]);
    }
    for (const int64_t k : kept) {
      if (label[static_cast<size_t>(k)] == c) got.push_back(k);
    }
    CHECK(got == expected);
  }
  CHECK(F::class_wise_suppression(boxes, label, 0.4, score, 5) == Indices(kept.begin(), kept.begin() + 5));
  CHECK_THROWS_AS(F::class_wise_suppression(boxes, std::vector<int32_t>(3), 0.4), ValueError);
}

TEST_CASE("soft_nms") {
  const std::vector<Box> boxes = {{0, 0, 10, 8}, {0, 2, 10, 10}, {0, 90, 10, 98}};  // IoU of the first two: 0.6
  const std::vector<float> score = {0.8F, 0.9F, 0.5F};
  const float decayed = 0.8F * static_cast<float>(std::exp(-0.36 / 0.5));  // 0.389
  const F::SoftNmsResult gaussian = F::soft_nms(boxes, score);
  CHECK(gaussian.index == Indices{1, 2, 0});
  CHECK(gaussian.score[0] == 0.9F);
  CHECK(gaussian.score[1] == 0.5F);
  CHECK(gaussian.score[2] == doctest::Approx(decayed));
  const F::SoftNmsResult linear = F::soft_nms(boxes, score, {.decay = F::SoftNmsDecay::linear});
  CHECK(linear.score[2] == doctest::Approx(0.8 * 0.4));
  CHECK(F::soft_nms(boxes, score, {.decay = F::SoftNmsDecay::linear, .thresh = 0.7}).score ==
        std::vector<float>{0.9F, 0.8F, 0.5F});
  CHECK(F::soft_nms(boxes, score, {.score_thresh = 0.45}).index == Indices{1, 2});
  CHECK(F::soft_nms(boxes, score, {.limit = 1}).index == Indices{1});
  // Of equal scores the lower index first; three boxes on each other decay twice.
  const std::vector<Box> same(3, boxes[0]);
  const F::SoftNmsResult stacked = F::soft_nms(same, std::vector<float>{0.5F, 0.5F, 0.5F});
  CHECK(stacked.index == Indices{0, 1, 2});
  CHECK(stacked.score[2] == doctest::Approx(0.5 * std::exp(-4.0)));
  CHECK(F::soft_nms(boxes, std::vector<float>{kNan, 0.9F, kNan}).index == Indices{1});
  CHECK(F::soft_nms(std::vector<Box>(), std::vector<float>()).index.empty());

  CHECK_THROWS_AS(F::soft_nms(boxes, std::vector<float>{1}), ValueError);
  CHECK_THROWS_WITH_AS(F::soft_nms(boxes, score, {.sigma = 0}),
                       "F::soft_nms: sigma is 0: it must be positive and finite", ValueError);
  CHECK_THROWS_AS(F::soft_nms(boxes, score, {.limit = -1}), ValueError);
}

}  // namespace
}  // namespace kusari
