#include "kusari/framework/links/detection/anchor_matching.h"

#include <algorithm>
#include <utility>

#include "kusari/framework/core/random.h"

namespace kusari::links::detail {
namespace {

constexpr float kLeastPair = 1e-6F;  // SSD pairs no box and anchor with less

/// Of each anchor the box with which its IoU is highest, and of each box that highest IoU, the first anchor of it, and
/// all anchors of it.
struct BestMatches {
  std::vector<float> anchor_iou;
  std::vector<int32_t> anchor_box;
  std::vector<float> box_iou;
  std::vector<size_t> box_anchor;
  std::vector<std::vector<size_t>> ties;
};

BestMatches best_matches(const AnchorColumns& anchors, std::span<const Box> bbox, const std::vector<bool>& inside) {
  BestMatches best{std::vector<float>(anchors.size(), 0), std::vector<int32_t>(anchors.size(), 0),
                   std::vector<float>(bbox.size(), 0), std::vector<size_t>(bbox.size(), 0),
                   std::vector<std::vector<size_t>>(bbox.size())};
  std::vector<float> iou(anchors.size());
  for (size_t j = 0; j < bbox.size(); ++j) {
    anchors.iou(bbox[j], iou);
    float highest = 0;
    std::vector<size_t>& ties = best.ties[j];
    for (size_t i = 0; i < iou.size(); ++i) {
      if (!(iou[i] > 0)) continue;
      if (iou[i] > best.anchor_iou[i]) {
        best.anchor_iou[i] = iou[i];
        best.anchor_box[i] = static_cast<int32_t>(j);
      }
      if (iou[i] < highest || !(inside.empty() || inside[i])) continue;
      if (iou[i] > highest) ties.clear();
      highest = iou[i];
      ties.push_back(i);
    }
    best.box_iou[j] = highest;
    if (!ties.empty()) best.box_anchor[j] = ties.front();
  }
  return best;
}

/// Pairs off the anchor and the box with the highest IoU of all that are left, of equals the first anchor, then box.
void pair_off(const AnchorColumns& anchors, std::span<const Box> bbox, BestMatches& best,
              std::vector<int32_t>& matched) {
  std::vector<bool> taken(anchors.size());
  std::vector<size_t> left(bbox.size());
  for (size_t j = 0; j < left.size(); ++j) left[j] = j;
  std::vector<float> iou(anchors.size());
  while (!left.empty()) {
    const auto chosen = std::min_element(left.begin(), left.end(), [&](size_t a, size_t b) {
      if (best.box_iou[a] != best.box_iou[b]) return best.box_iou[a] > best.box_iou[b];
      return std::pair(best.box_anchor[a], a) < std::pair(best.box_anchor[b], b);
    });
    if (best.box_iou[*chosen] <= kLeastPair) return;
    const size_t anchor = best.box_anchor[*chosen];
    matched[anchor] = static_cast<int32_t>(*chosen);
    taken[anchor] = true;
    left.erase(chosen);
    for (const size_t j : left) {
      if (best.box_anchor[j] != anchor) continue;
      anchors.iou(bbox[j], iou);  // its anchor is gone: the next best
      best.box_iou[j] = 0;
      for (size_t i = 0; i < iou.size(); ++i) {
        if (!taken[i] && iou[i] > best.box_iou[j]) {
          best.box_iou[j] = iou[i];
          best.box_anchor[j] = i;
        }
      }
    }
  }
}

/// Leaves `keep` of these anchors, drawn at random, and ignores the others.
void ignore_surplus(std::vector<int32_t>& box, const std::vector<size_t>& anchors, int64_t keep) {
  const auto count = static_cast<int64_t>(anchors.size());
  if (count <= keep) return;
  const std::vector<int64_t> order = random::permutation(count);
  for (int64_t k = keep; k < count; ++k) {
    box[anchors[static_cast<size_t>(order[static_cast<size_t>(k)])]] = kIgnoredAnchor;
  }
}

void sample(std::vector<int32_t>& box, const MatchRule& rule) {
  if (rule.samples == 0) return;
  std::vector<size_t> positive, background;
  for (size_t i = 0; i < box.size(); ++i) {
    if (box[i] >= 0) positive.push_back(i);
    if (box[i] == kBackgroundAnchor) background.push_back(i);
  }
  const auto most = static_cast<int64_t>(static_cast<double>(rule.samples) * rule.positive_share);
  ignore_surplus(box, positive, most);
  ignore_surplus(box, background, rule.samples - std::min(most, static_cast<int64_t>(positive.size())));
}

}  // namespace

AnchorColumns::AnchorColumns(std::span<const Box> anchors) {
  for (std::vector<float>* const column : {&y_min_, &x_min_, &y_max_, &x_max_, &area_}) column->reserve(anchors.size());
  for (const Box& anchor : anchors) {
    y_min_.push_back(anchor.y_min);
    x_min_.push_back(anchor.x_min);
    y_max_.push_back(anchor.y_max);
    x_max_.push_back(anchor.x_max);
    area_.push_back(anchor.area());
  }
}

void AnchorColumns::iou(const Box& box, std::span<float> result) const {
  const float* const y_min = y_min_.data();
  const float* const x_min = x_min_.data();
  const float* const y_max = y_max_.data();
  const float* const x_max = x_max_.data();
  const float* const areas = area_.data();
  float* const to = result.data();
  const float area = box.area();
  const size_t count = result.size();
#pragma omp simd
  for (size_t i = 0; i < count; ++i) {
    const float height = std::min(box.y_max, y_max[i]) - std::max(box.y_min, y_min[i]);
    const float width = std::min(box.x_max, x_max[i]) - std::max(box.x_min, x_min[i]);
    const float shared = std::max(height, 0.F) * std::max(width, 0.F);
    to[i] = shared / (area + areas[i] - shared);  // anchors and boxes are not empty
  }
}

AnchorMatch match_anchors(const AnchorColumns& anchors, std::span<const Box> bbox, const MatchRule& rule,
                          const std::vector<bool>& inside) {
  BestMatches best = best_matches(anchors, bbox, inside);
  AnchorMatch match;
  match.box.resize(anchors.size());
  for (size_t i = 0; i < anchors.size(); ++i) {
    const float iou = best.anchor_iou[i];
    const bool is_positive = !bbox.empty() && iou >= rule.positive;
    match.box[i] = is_positive ? best.anchor_box[i] : iou < rule.negative ? kBackgroundAnchor : kIgnoredAnchor;
  }
  int64_t given_up = 0;
  switch (rule.matching) {
    case AnchorMatching::retinanet:
    case AnchorMatching::rpn:
      for (const std::vector<size_t>& ties : best.ties) {
        for (const size_t i : ties) match.box[i] = best.anchor_box[i];
      }
      break;
    case AnchorMatching::detectron: {
      std::vector<bool> counted(anchors.size());
      for (const std::vector<size_t>& ties : best.ties) {
        for (const size_t i : ties) {
          if (best.anchor_iou[i] >= rule.negative) {
            match.box[i] = best.anchor_box[i];
          } else if (!counted[i]) {
            counted[i] = true;
            ++given_up;
          }
        }
      }
      break;
    }
    case AnchorMatching::efficientdet:
      for (size_t j = bbox.size(); j-- > 0;) {  // the first box writes last
        if (best.box_iou[j] > 0) match.box[best.box_anchor[j]] = static_cast<int32_t>(j);
      }
      break;
    case AnchorMatching::ssd:
      pair_off(anchors, bbox, best, match.box);
      break;
    case AnchorMatching::regions:
      break;
  }
  for (size_t i = 0; i < inside.size(); ++i) {
    if (!inside[i]) match.box[i] = kIgnoredAnchor;
  }
  if (rule.matching == AnchorMatching::rpn || rule.matching == AnchorMatching::regions) sample(match.box, rule);
  match.positives = given_up + std::count_if(match.box.begin(), match.box.end(), [](int32_t box) { return box >= 0; });
  return match;
}

}  // namespace kusari::links::detail
