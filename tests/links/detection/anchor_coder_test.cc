#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/detection/bbox_iou.h"
#include "kusari/framework/links/detection/anchor_coder.h"

namespace kusari {
namespace {

namespace L = links;
using L::AnchorMatching;
using Labels = std::vector<int32_t>;

/// A row of three anchors of 16 x 16 at x = 0, 16 and 32, and y = 0, and three more below.
L::AnchorGrid small_grid() { return L::AnchorGrid({.levels = {4}, .scale = 1, .octaves = 1, .ratios = {1}}); }

L::AnchorCoder small_coder(AnchorMatching matching, L::AnchorCoderOptions options = {}) {
  options.matching = matching;
  return {small_grid(), 32, 48, options};
}

Labels labels(const L::AnchorCoder& coder, const std::vector<Box>& bbox, const Labels& label) {
  return coder.encode(bbox, label).label.to_vector<int32_t>();
}

std::vector<Box> drawn(size_t n, float side, uint64_t seed) {
  std::vector<Box> boxes;
  const auto uniform = [&](size_t i) { return static_cast<float>(philox_word(seed, i)) * 0x1p-32F; };
  for (size_t i = 0; i < n; ++i) {
    const float y = 0.9F * side * uniform(4 * i), x = 0.9F * side * uniform(4 * i + 1);
    boxes.push_back({y, x, y + 2 + 0.6F * side * uniform(4 * i + 2), x + 2 + 0.6F * side * uniform(4 * i + 3)});
  }
  return boxes;
}

/// The rules of the table, word by word, over the whole matrix of IoUs.
Labels expected_labels(const std::vector<Box>& anchors, const std::vector<Box>& bbox, AnchorMatching matching) {
  const size_t k = anchors.size(), r = bbox.size();
  const std::vector<float> iou = functions::bbox_iou(anchors, bbox);
  const auto at = [&](size_t i, size_t j) { return iou[i * r + j]; };
  const bool has_gap = matching == AnchorMatching::retinanet || matching == AnchorMatching::detectron;
  const float positive = 0.5F, negative = has_gap ? 0.4F : 0.5F;
  Labels result(k);
  std::vector<float> highest(k);
  std::vector<int32_t> own(k);
  for (size_t i = 0; i < k; ++i) {
    for (size_t j = 0; j < r; ++j) {
      if (at(i, j) > highest[i]) highest[i] = at(i, j), own[i] = static_cast<int32_t>(j);
    }
    result[i] = highest[i] >= positive ? own[i] : highest[i] < negative ? L::kBackgroundAnchor : L::kIgnoredAnchor;
  }
  if (matching == AnchorMatching::ssd) {
    std::vector<float> masked = iou;
    for (;;) {
      const auto best = static_cast<size_t>(std::max_element(masked.begin(), masked.end()) - masked.begin());
      if (masked.empty() || masked[best] <= 1e-6F) break;
      const size_t row = best / r, column = best % r;
      result[row] = static_cast<int32_t>(column);
      for (size_t j = 0; j < r; ++j) masked[row * r + j] = 0;
      for (size_t i = 0; i < k; ++i) masked[i * r + column] = 0;
    }
    return result;
  }
  std::vector<bool> is_forced(k);
  for (size_t j = 0; j < r; ++j) {
    float most = 0;
    for (size_t i = 0; i < k; ++i) most = std::max(most, at(i, j));
    if (most == 0) continue;
    for (size_t i = 0; i < k; ++i) {
      if (at(i, j) != most) continue;
      if (matching == AnchorMatching::efficientdet) {
        if (!is_forced[i]) result[i] = static_cast<int32_t>(j);
        is_forced[i] = true;
        break;
      }
      if (matching == AnchorMatching::retinanet || highest[i] >= negative) result[i] = own[i];
    }
  }
  return result;
}

TEST_CASE("AnchorCoder: the rules of matching") {
  const L::AnchorGrid grid({.levels = {3, 4, 5}, .octaves = 2});
  for (const AnchorMatching matching :
       {AnchorMatching::retinanet, AnchorMatching::detectron, AnchorMatching::efficientdet, AnchorMatching::ssd}) {
    CAPTURE(static_cast<int>(matching));
    const L::AnchorCoder coder(grid, 96, 96, {.matching = matching});
    for (uint64_t seed = 1; seed <= 25; ++seed) {
      const std::vector<Box> bbox = drawn(1 + seed % 12, 96, seed);
      Labels label(bbox.size());
      for (size_t j = 0; j < label.size(); ++j) label[j] = static_cast<int32_t>(j);
      const L::AnchorTargets targets = coder.encode(bbox, label);
      const Labels expected = expected_labels(coder.anchors(), bbox, matching);
      CHECK(targets.label.to_vector<int32_t>() == expected);
      if (matching != AnchorMatching::detectron) {
        CHECK(targets.positives == std::count_if(expected.begin(), expected.end(), [](int32_t t) { return t >= 0; }));
      }
    }
  }
}

TEST_CASE("AnchorCoder: matching where the rules differ") {
  // IoUs with the first anchor, alone: 0.25 (a box of 8 x 8), 0.45, 0.5.
  const std::vector<Box> quarter = {{0, 0, 8, 8}}, gap = {{0, 0, 7.2F, 16}}, half = {{0, 0, 8, 16}};
  const Labels none = {-1, -1, -1, -1, -1, -1}, first = {7, -1, -1, -1, -1, -1};
  for (const AnchorMatching matching : {AnchorMatching::retinanet, AnchorMatching::efficientdet, AnchorMatching::ssd}) {
    CHECK(labels(small_coder(matching), quarter, {7}) == first);
  }
  const L::AnchorTargets given_up = small_coder(AnchorMatching::detectron).encode(quarter, Labels{7});
  CHECK(given_up.label.to_vector<int32_t>() == none);
  CHECK(given_up.positives == 1);
  CHECK(labels(small_coder(AnchorMatching::detectron), gap, {7}) == first);
  CHECK(labels(small_coder(AnchorMatching::ssd), half, {7}) == first);

  // Another box takes the first anchor: what this one's 0.45 is worth without being forced.
  const std::vector<Box> both = {{0, 0, 16, 16}, {0, 0, 16, 7.2F}};
  CHECK(labels(small_coder(AnchorMatching::retinanet), both, {1, 2}) == Labels{1, -1, -1, -1, -1, -1});
  CHECK(labels(small_coder(AnchorMatching::efficientdet), both, {1, 2}) == Labels{1, -1, -1, -1, -1, -1});
  CHECK(labels(small_coder(AnchorMatching::efficientdet), {both[1], both[0]}, {2, 1}) ==
        Labels{2, -1, -1, -1, -1, -1});  // the first box wins

  // A box in the middle of four anchors, of IoU 1/7 each: all of them, the first, the first.
  const std::vector<Box> middle = {{8, 8, 24, 24}};
  CHECK(labels(small_coder(AnchorMatching::retinanet), middle, {3}) == Labels{3, 3, -1, 3, 3, -1});
  CHECK(labels(small_coder(AnchorMatching::efficientdet), middle, {3}) == Labels{3, -1, -1, -1, -1, -1});
  CHECK(labels(small_coder(AnchorMatching::ssd), middle, {3}) == Labels{3, -1, -1, -1, -1, -1});

  // Two boxes that want one anchor most: in SSD the other takes its second best.
  const std::vector<Box> pair = {{0, 1, 16, 17}, {0, 6, 16, 22}};
  CHECK(labels(small_coder(AnchorMatching::ssd), pair, {1, 2}) == Labels{1, 2, -1, -1, -1, -1});
}

TEST_CASE("AnchorCoder: boxes that no anchor touches, and images without boxes") {
  for (const AnchorMatching matching : {AnchorMatching::retinanet, AnchorMatching::detectron,
                                        AnchorMatching::efficientdet, AnchorMatching::ssd, AnchorMatching::rpn}) {
    const L::AnchorCoder coder = small_coder(matching);
    for (const std::vector<Box>& bbox : {std::vector<Box>{{500, 500, 510, 510}}, std::vector<Box>()}) {
      const L::AnchorTargets targets = coder.encode(bbox, Labels(bbox.size(), 1));
      CHECK(targets.positives == 0);
      Labels expected(6, L::kBackgroundAnchor);
      if (matching == AnchorMatching::rpn) expected = {-1, -1, -2, -2, -2, -2};  // x_max or y_max is the image's
      CHECK(targets.label.to_vector<int32_t>() == expected);
      CHECK(targets.loc.to_vector<float>() == std::vector<float>(24, 0));
    }
  }
  CHECK(small_coder(AnchorMatching::retinanet).encode(zeros({0, 4}), zeros({0}, Dtype::int32)).positives == 0);
}

TEST_CASE("AnchorCoder: region proposals") {
  const L::AnchorGrid grid({.levels = {2}, .scale = 2, .octaves = 1, .ratios = {1}});  // 8 x 8, every 4 pixels
  const auto encode = [&](int64_t samples, const std::vector<Box>& bbox) {
    const L::AnchorCoder coder(grid, 64, 64, {.matching = AnchorMatching::rpn, .samples = samples});
    return coder.encode(bbox, Labels(bbox.size(), 5));
  };
  const std::vector<Box> bbox = {{20, 20, 28, 28}, {40.5F, 40, 48.5F, 48}, {8, 8, 22, 22}};
  const Labels all = encode(0, bbox).label.to_vector<int32_t>();
  // 16 x 16 anchors, of which those at the border reach outside, and at the right and bottom touch it.
  CHECK(std::count(all.begin(), all.end(), 0) == encode(0, bbox).positives);
  CHECK(all[0] == L::kIgnoredAnchor);
  CHECK(all[16 + 14] == L::kBackgroundAnchor);  // x from 54 to 62
  CHECK(all[16 + 15] == L::kIgnoredAnchor);     // to 66
  const L::AnchorTargets few = encode(8, bbox);
  const Labels sampled = few.label.to_vector<int32_t>();
  CHECK(few.positives == std::count(sampled.begin(), sampled.end(), 0));
  CHECK(few.positives <= 2);
  CHECK(std::count(sampled.begin(), sampled.end(), -1) == 8 - few.positives);
  for (size_t i = 0; i < all.size(); ++i) {
    if (sampled[i] != L::kIgnoredAnchor) CHECK(sampled[i] == all[i]);
  }
  random::seed(3);
  const Labels once = encode(8, bbox).label.to_vector<int32_t>();
  random::seed(3);
  CHECK(encode(8, bbox).label.to_vector<int32_t>() == once);
  // torchvision's anchors that reach outside count.
  const L::AnchorCoder outside(grid, 64, 64, {.matching = AnchorMatching::rpn, .samples = 0, .ignore_outside = false});
  const Labels counted = labels(outside, bbox, Labels{5, 5, 5});
  CHECK(counted[0] == L::kBackgroundAnchor);
  CHECK(std::count(counted.begin(), counted.end(), 0) == encode(0, bbox).positives);
}

TEST_CASE("AnchorCoder: targets for regions that were proposed") {
  const std::vector<Box> regions = {{0, 0, 10, 10}, {0, 0, 10, 12}, {30, 30, 40, 40}, {0, 5, 10, 15}};
  const std::vector<Box> bbox = {{0, 0, 10, 10}, {50, 50, 60, 60}};
  const L::AnchorCoder coder(regions, 64, 64, {.matching = AnchorMatching::regions, .variance = {0.1, 0.2}});
  const L::AnchorTargets targets = coder.encode(bbox, Labels{7, 1});
  // A third of the last is in the first box; nothing is forced for the second.
  CHECK(targets.label.to_vector<int32_t>() == Labels{7, 7, -1, -1});
  CHECK(targets.positives == 2);
  const std::vector<float> loc = targets.loc.to_vector<float>();
  CHECK(loc[0] == 0);
  CHECK(loc[5] == doctest::Approx(-1.0 / 12 / 0.1));
  CHECK(loc[7] == doctest::Approx(std::log(10.0 / 12) / 0.2));
  const L::AnchorCoder few(regions, 64, 64, {.matching = AnchorMatching::regions, .samples = 2, .positive_share = 0.5});
  const Labels drawn_ones = labels(few, bbox, Labels{7, 1});
  CHECK(std::count(drawn_ones.begin(), drawn_ones.end(), 7) == 1);
  CHECK(std::count(drawn_ones.begin(), drawn_ones.end(), -1) == 1);
  CHECK(L::AnchorCoder(std::vector<Box>(), 64, 64).encode(bbox, Labels{7, 1}).label.size() == 0);
  CHECK_THROWS_WITH_AS(L::AnchorCoder(std::vector<Box>{{0, 0, 1, 1}, {3, 3, 3, 9}}, 64, 64),
                       "L::AnchorCoder: boxes[1] is (3, 3, 3, 9): it must be finite and not empty", ValueError);
}

TEST_CASE("AnchorCoder: classes with boxes of their own, small boxes, and levels that drop for themselves") {
  const L::AnchorCoder coder(std::vector<Box>{{0, 0, 10, 10}, {20, 20, 30, 30}}, 64, 64);
  // The background's codes, then those of two classes: the second is 5 lower for the first region.
  Array loc = zeros({2, 12});
  loc.at(0).at(8).fill(0.5);
  const Array conf = array<float>({0, 0, 1, 0, 2, 0}, {2, 3});
  const Detections found =
      coder.decode(loc, conf, {.scores = L::AnchorScores::softmax, .score_thresh = 0.3, .candidates = 0});
  CHECK(found.label == Labels{0, 1});
  CHECK(found.bbox == std::vector<Box>{{20, 20, 30, 30}, {5, 0, 15, 10}});
  CHECK_THROWS_AS(coder.decode(zeros({2, 8}), conf, {.scores = L::AnchorScores::softmax}), TypeError);

  const L::AnchorGrid grid({.levels = {4, 5}, .scale = 1, .octaves = 1, .ratios = {1}});
  const L::AnchorCoder levels(grid, 32, 32);  // four of 16 x 16, and one of 32 x 32
  Array same = zeros({5, 4});
  for (const int64_t i : {0, 1}) same.at(i).at(1).fill(i == 0 ? 0.5 : -0.5);  // both 16 x 16 around (8, 16)
  same.at(4).copy_from(array<float>({-0.25, 0, std::log(0.5F), std::log(0.5F)}, {4}));
  const float no = -9;
  const Array scores = array<float>({1, 2, no, no, 3}, {5, 1});
  CHECK(levels.decode(same, scores).score.size() == 1);
  CHECK(levels.decode(same, scores, {.nms_by_level = true}).score.size() == 2);
  CHECK(levels.decode(zeros({5, 4}), scores, {.min_size = 16.5}).score.size() == 1);
  CHECK(levels.decode(zeros({5, 4}), scores, {.min_size = 16, .nms_thresh = 1}).score.size() == 3);
}

TEST_CASE("AnchorCoder: an output that is no number hides no other of its anchor") {
  const L::AnchorCoder coder = small_coder(AnchorMatching::retinanet);
  const float none = std::numeric_limits<float>::quiet_NaN(), no = -9, yes = 2;
  const Array conf = array<float>({none, yes, yes, none, none, none, no, no, no, yes, yes, no}, {6, 2});
  for (const double threshold : {0.5, 0.05}) {
    const Detections found = coder.decode(zeros({6, 4}), conf, {.score_thresh = threshold, .nms_thresh = 1});
    CHECK(found.label == Labels{1, 0, 1, 0});
  }
}

TEST_CASE("AnchorCoder: codes") {
  const std::vector<Box> bbox = {{2, 4, 14, 28}};
  const L::AnchorCoder coder = small_coder(AnchorMatching::retinanet, {.positive = 0.3, .negative = 0.3});
  const std::vector<float> loc = coder.encode(bbox, Labels{0}).loc.to_vector<float>();
  // The second anchor: centre (8, 24), the box's (8, 16), 12 x 24.
  CHECK(loc[4] == doctest::Approx(0));
  CHECK(loc[5] == doctest::Approx(-8.0 / 16));
  CHECK(loc[6] == doctest::Approx(std::log(12.0 / 16)));
  CHECK(loc[7] == doctest::Approx(std::log(24.0 / 16)));
  const L::AnchorCoder ssd =
      small_coder(AnchorMatching::retinanet, {.positive = 0.3, .negative = 0.3, .variance = {0.1, 0.2}});
  const Array divided = ssd.encode(bbox, Labels{0}).loc;
  CHECK(divided.to_vector<float>()[5] == doctest::Approx(-5));
  CHECK(divided.to_vector<float>()[7] == doctest::Approx(std::log(1.5) / 0.2));
  for (const Box& box : {coder.decode(coder.encode(bbox, Labels{0}).loc)[1], ssd.decode(divided)[1]}) {
    CHECK(box.y_min == doctest::Approx(2));
    CHECK(box.x_min == doctest::Approx(4));
    CHECK(box.y_max == doctest::Approx(14));
    CHECK(box.x_max == doctest::Approx(28));
  }
  // No code makes an infinite box: 16 * 1000 / 16 pixels at most.
  for (const L::AnchorCoder& any : {coder, ssd}) {
    const Box huge = any.decode(full({6, 4}, 1e30, Dtype::float32))[0];
    CHECK(huge.height() <= 2e30F);
    const Box largest = any.decode(array<float>({0, 0, 1e30F, 99}, {1, 4}).broadcast_to({6, 4}))[0];
    CHECK(largest.height() == doctest::Approx(1000));
    CHECK(largest.width() == doctest::Approx(1000));
  }
}

TEST_CASE("AnchorCoder: from outputs to boxes") {
  const L::AnchorCoder coder = small_coder(AnchorMatching::retinanet);
  const auto logit = [](double p) { return static_cast<float>(std::log(p / (1 - p))); };
  const float no = -20;
  const Array loc = zeros({6, 4});
  const Array conf = array<float>({logit(0.9), logit(0.3),  //
                                   no, logit(0.8),          //
                                   no, no,                  //
                                   logit(0.04), no,         //
                                   no, no,                  //
                                   logit(0.9), std::numeric_limits<float>::quiet_NaN()},
                                  {6, 2});
  const Detections all = coder.decode(loc, conf);
  CHECK(all.label == Labels{0, 0, 1, 1});  // equal scores: the lower anchor first; 0.04 is too little
  CHECK(all.bbox == std::vector<Box>{{0, 0, 16, 16}, {16, 32, 32, 48}, {0, 16, 16, 32}, {0, 0, 16, 16}});
  CHECK(all.score[0] == doctest::Approx(0.9));
  CHECK(all.score[3] == doctest::Approx(0.3));
  CHECK(coder.decode(loc, conf, {.score_thresh = 0.01}).label.size() == 5);
  CHECK(coder.decode(loc, conf, {.score_thresh = 0}).label.size() == 11);
  CHECK(coder.decode(loc, conf, {.best_class_only = true}).label == Labels{0, 0, 1});
  CHECK(coder.decode(loc, conf, {.candidates = 2}).label == Labels{0, 0});
  CHECK(coder.decode(loc, conf, {.limit = 3}).label == Labels{0, 0, 1});

  // Two anchors say the same box of the same class: one stays; of different classes both do.
  Array moved = zeros({6, 4});
  moved.at(1).at(1).fill(-1);
  const Array same = array<float>({2, no, 3, no, no, no, no, no, no, no, no, no}, {6, 2});
  CHECK(coder.decode(moved, same).score.size() == 1);
  CHECK(coder.decode(moved, array<float>({2, no, no, 3, no, no, no, no, no, no, no, no}, {6, 2})).label ==
        Labels{1, 0});
  const Detections soft = coder.decode(moved, same, {.soft_nms = functions::SoftNmsOptions{}});
  CHECK(soft.score.size() == 2);
  CHECK(soft.score[0] == doctest::Approx(1 / (1 + std::exp(-3.0))));
  CHECK(soft.score[1] == doctest::Approx(std::exp(-2.0) / (1 + std::exp(-2.0))));

  // Boxes end at the image; what lies outside is dropped.
  Array outside = zeros({6, 4});
  outside.at(0).at(0).fill(-0.5);
  outside.at(1).at(0).fill(-5);
  const Detections clipped = coder.decode(outside, conf, {.score_thresh = 0.5});
  CHECK(clipped.bbox == std::vector<Box>{{0, 0, 8, 16}, {16, 32, 32, 48}});

  // SSD: the background's number first.
  const Array three = array<float>({0, 1, 2, 5, 0, 0, 5, 0, 0, 5, 0, 0, 5, 0, 0, 5, 0, 0}, {6, 3});
  const Detections ssd = coder.decode(loc, three, {.scores = L::AnchorScores::softmax, .score_thresh = 0.1});
  CHECK(ssd.label == Labels{1, 0});
  CHECK(ssd.score[0] == doctest::Approx(std::exp(2.0) / (1 + std::exp(1.0) + std::exp(2.0))));
  CHECK(coder.decode(loc.astype(Dtype::float16), conf.astype(Dtype::float16)).label == all.label);
}

TEST_CASE("AnchorCoder: what it refuses") {
  const L::AnchorCoder coder = small_coder(AnchorMatching::retinanet);
  CHECK_THROWS_WITH_AS(coder.encode(std::vector<Box>{{0, 0, 1, 1}, {5, 2, 5, 9}}, Labels{0, 0}),
                       "L::AnchorCoder::encode: bbox[1] is (5, 2, 5, 9): it must be finite and not empty", ValueError);
  CHECK_THROWS_AS(coder.encode(std::vector<Box>{{0, 0, NAN, 1}}, Labels{0}), ValueError);
  CHECK_THROWS_AS(coder.encode(std::vector<Box>{{0, 0, 1, 1}}, Labels{}), ValueError);
  CHECK_THROWS_AS(coder.encode(std::vector<Box>{{0, 0, 1, 1}}, Labels{-1}), ValueError);
  CHECK_THROWS_AS(coder.encode(zeros({1, 4}), zeros({1})), TypeError);
  CHECK_THROWS_WITH_AS(coder.decode(zeros({5, 4})),
                       "L::AnchorCoder::decode: loc has shape (5, 4): it must be (anchors, 4) for 6 anchors",
                       TypeError);
  CHECK_THROWS_AS(coder.decode(zeros({6, 3})), TypeError);
  CHECK_THROWS_AS(coder.decode(zeros({6, 4}), zeros({6, 1}), {.scores = L::AnchorScores::softmax}), TypeError);
  CHECK_THROWS_AS(coder.decode(zeros({6, 4}), zeros({6, 1}), {.limit = -1}), ValueError);
  CHECK_THROWS_WITH_AS(small_coder(AnchorMatching::ssd, {.positive = 1.5}),
                       "L::AnchorCoder: positive is 1.5: it must be in (0, 1]", ValueError);
  CHECK_THROWS_AS(small_coder(AnchorMatching::ssd, {.negative = 0.6}), ValueError);
  CHECK_THROWS_AS(small_coder(AnchorMatching::ssd, {.variance = {0, 1}}), ValueError);
  CHECK_THROWS_AS(L::AnchorCoder(small_grid(), 0, 5), ValueError);
}

}  // namespace
}  // namespace kusari
