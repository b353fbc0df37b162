#include "kusari/framework/links/detection/anchor_coder.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/links/detection/anchor_matching.h"
#include "kusari/framework/links/detection/anchor_scores.h"

namespace kusari::links {
namespace {

const char* const kAnchorCoder = "L::AnchorCoder";
const char* const kEncode = "L::AnchorCoder::encode";
const char* const kDecode = "L::AnchorCoder::decode";

struct Centre {
  float y, x, height, width;
};

Centre centre_of(const Box& box) {
  const float height = box.height(), width = box.width();
  return {box.y_min + height / 2, box.x_min + width / 2, height, width};
}

detail::MatchRule rule_of(const AnchorCoderOptions& options) {
  const AnchorMatching matching = options.matching;
  const double positive = options.positive.value_or(matching == AnchorMatching::rpn ? 0.7 : 0.5);
  double negative = positive;
  if (matching == AnchorMatching::rpn) negative = 0.3;
  if (matching == AnchorMatching::retinanet || matching == AnchorMatching::detectron) negative = 0.4;
  negative = options.negative.value_or(std::min(negative, positive));
  argument::require(positive > 0 && positive <= 1, kAnchorCoder, "positive", positive, "be in (0, 1]");
  argument::require(negative >= 0 && negative <= positive, kAnchorCoder, "negative", negative, "be in [0, positive]");
  argument::not_negative(kAnchorCoder, "samples", options.samples);
  argument::require(options.positive_share >= 0 && options.positive_share <= 1, kAnchorCoder, "positive_share",
                    options.positive_share, "be in [0, 1]");
  return {matching, static_cast<float>(positive), static_cast<float>(negative), options.samples,
          options.positive_share};
}

void check_bbox(const char* call, const char* name, const Box& box, size_t i) {
  const bool is_finite = std::isfinite(box.y_min) && std::isfinite(box.x_min) && std::isfinite(box.y_max) &&
                         std::isfinite(box.x_max) && std::isfinite(box.area());
  if (is_finite && box.height() > 0 && box.width() > 0) return;
  throw ValueError(std::string(call) + ": " + name + "[" + std::to_string(i) + "] is (" + argument::text_of(box.y_min) +
                   ", " + argument::text_of(box.x_min) + ", " + argument::text_of(box.y_max) + ", " +
                   argument::text_of(box.x_max) + "): it must be finite and not empty");
}

std::vector<Box> checked_boxes(std::vector<Box> boxes) {
  for (size_t i = 0; i < boxes.size(); ++i) check_bbox(kAnchorCoder, "boxes", boxes[i], i);
  return boxes;
}

/// (K, columns) floating, as float32 on the host.
Array host_matrix(const Array& array, const char* name, int64_t rows, const char* form) {
  if (!array.is_defined()) throw TypeError(std::string(kDecode) + ": " + name + " is an undefined array");
  if (!array.is_floating()) {
    throw TypeError(std::string(kDecode) + ": " + name + " has dtype " + kusari::name(array.dtype()) +
                    ": it must be floating");
  }
  if (array.ndim() != 2 || array.shape(0) != rows) {
    throw TypeError(std::string(kDecode) + ": " + name + " has shape " + to_string(array.shape()) + ": it must be " +
                    form + " for " + std::to_string(rows) + " anchors");
  }
  return array.astype(Dtype::float32).to_device(Device()).contiguous();
}

}  // namespace

struct AnchorCoder::State {
  State(std::vector<Box> boxes, std::vector<int64_t> counts, int64_t rows, int64_t columns,
        const AnchorCoderOptions& options)
      : anchors{std::move(boxes)},
        columns_of_anchors{anchors},
        rule{rule_of(options)},
        centre_variance{static_cast<float>(options.variance[0])},
        size_variance{static_cast<float>(options.variance[1])},
        level_counts{std::move(counts)},
        height{rows},
        width{columns} {
    for (const double variance : options.variance) argument::finite_positive(kAnchorCoder, "variance[i]", variance);
    if (rule.matching != AnchorMatching::rpn || !options.ignore_outside) return;
    for (const Box& anchor : anchors) {
      inside.push_back(anchor.y_min >= 0 && anchor.x_min >= 0 && anchor.y_max < static_cast<float>(height) &&
                       anchor.x_max < static_cast<float>(width));
    }
  }

  Box decoded(size_t i, const float* code) const {
    const float most = std::log(1000.F / 16);  // Detectron's
    const Centre anchor = centre_of(anchors[i]);
    const float y = anchor.y + code[0] * centre_variance * anchor.height;
    const float x = anchor.x + code[1] * centre_variance * anchor.width;
    const float h = anchor.height * std::exp(std::min(code[2] * size_variance, most));
    const float w = anchor.width * std::exp(std::min(code[3] * size_variance, most));
    return {y - h / 2, x - w / 2, y + h / 2, x + w / 2};
  }

  std::vector<Box> anchors;
  detail::AnchorColumns columns_of_anchors;
  detail::MatchRule rule;
  float centre_variance, size_variance;
  std::vector<int64_t> level_counts;
  int64_t height, width;
  std::vector<bool> inside;  // of rpn with ignore_outside
};

AnchorCoder::AnchorCoder(const AnchorGrid& grid, int64_t height, int64_t width, const AnchorCoderOptions& options)
    : state_{std::make_shared<const State>(grid(height, width), grid.level_counts(height, width), height, width,
                                           options)} {}

AnchorCoder::AnchorCoder(std::vector<Box> boxes, int64_t height, int64_t width, const AnchorCoderOptions& options) {
  argument::positive(kAnchorCoder, "height", height);
  argument::positive(kAnchorCoder, "width", width);
  const auto count = static_cast<int64_t>(boxes.size());
  state_ = std::make_shared<const State>(checked_boxes(std::move(boxes)), std::vector<int64_t>{count}, height, width,
                                         options);
}

const std::vector<Box>& AnchorCoder::anchors() const noexcept { return state_->anchors; }
int64_t AnchorCoder::height() const noexcept { return state_->height; }
int64_t AnchorCoder::width() const noexcept { return state_->width; }
std::array<double, 2> AnchorCoder::variance() const noexcept {
  return {state_->centre_variance, state_->size_variance};
}
const std::vector<int64_t>& AnchorCoder::level_counts() const noexcept { return state_->level_counts; }

AnchorTargets AnchorCoder::encode(std::span<const Box> bbox, std::span<const int32_t> label) const {
  if (bbox.size() != label.size()) {
    throw ValueError(std::string(kEncode) + ": label has " + std::to_string(label.size()) + " numbers and bbox " +
                     std::to_string(bbox.size()) + " boxes: there must be as many");
  }
  for (size_t i = 0; i < bbox.size(); ++i) {
    check_bbox(kEncode, "bbox", bbox[i], i);
    argument::not_negative(kEncode, "label[i]", label[i]);
  }
  const State& state = *state_;
  const auto count = static_cast<int64_t>(state.anchors.size());
  const detail::AnchorMatch match = detail::match_anchors(state.columns_of_anchors, bbox, state.rule, state.inside);
  const AnchorTargets targets{zeros({count, 4}), empty({count}, Dtype::int32), match.positives};
  float* const loc = targets.loc.data<float>();
  int32_t* const labels = targets.label.data<int32_t>();
  for (size_t i = 0; i < state.anchors.size(); ++i) {
    labels[i] = match.box[i];
    if (match.box[i] < 0) continue;
    const auto j = static_cast<size_t>(match.box[i]);
    labels[i] = state.rule.matching == AnchorMatching::rpn ? 0 : label[j];
    const Centre anchor = centre_of(state.anchors[i]), box = centre_of(bbox[j]);
    float* const code = loc + i * 4;
    code[0] = (box.y - anchor.y) / anchor.height / state.centre_variance;
    code[1] = (box.x - anchor.x) / anchor.width / state.centre_variance;
    code[2] = std::log(box.height / anchor.height) / state.size_variance;
    code[3] = std::log(box.width / anchor.width) / state.size_variance;
  }
  return targets;
}

AnchorTargets AnchorCoder::encode(const Array& bbox, const Array& label) const {
  if (!label.is_defined()) throw TypeError(std::string(kEncode) + ": label is an undefined array");
  if (label.ndim() != 1 || is_floating(label.dtype())) {
    throw TypeError(std::string(kEncode) + ": label has shape " + to_string(label.shape()) + " and dtype " +
                    name(label.dtype()) + ": it must be (boxes) integers");
  }
  return encode(boxes_of(bbox), label.to_vector<int32_t>());
}

std::vector<Box> AnchorCoder::decode(const Array& loc) const {
  const auto count = static_cast<int64_t>(state_->anchors.size());
  const Array codes = host_matrix(loc, "loc", count, "(anchors, 4)");
  if (codes.shape(1) != 4) {
    throw TypeError(std::string(kDecode) + ": loc has shape " + to_string(loc.shape()) + ": it must be (anchors, 4)");
  }
  std::vector<Box> boxes;
  boxes.reserve(state_->anchors.size());
  for (size_t i = 0; i < state_->anchors.size(); ++i) {
    boxes.push_back(state_->decoded(i, codes.data<float>() + 4 * i));
  }
  return boxes;
}

Detections AnchorCoder::decode(const Array& loc, const Array& conf, const AnchorDecodeOptions& options) const {
  argument::not_nan(kDecode, "score_thresh", options.score_thresh);
  argument::not_negative(kDecode, "candidates", options.candidates);
  argument::not_negative(kDecode, "limit", options.limit);
  argument::not_nan(kDecode, "nms_thresh", options.nms_thresh);
  argument::finite_not_negative(kDecode, "min_size", options.min_size);
  argument::finite_not_negative(kDecode, "height", options.height);
  argument::finite_not_negative(kDecode, "width", options.width);
  const auto count = static_cast<int64_t>(state_->anchors.size());
  const Array codes = host_matrix(loc, "loc", count, "(anchors, 4)");
  const Array outputs = host_matrix(conf, "conf", count, "(anchors, classes)");
  const bool is_softmax = options.scores == AnchorScores::softmax;
  const bool is_shared = codes.shape(1) == 4;
  if (!(is_shared || codes.shape(1) == 4 * outputs.shape(1)) || outputs.shape(1) < (is_softmax ? 2 : 1)) {
    throw TypeError(std::string(kDecode) + ": loc has shape " + to_string(loc.shape()) + " and conf " +
                    to_string(conf.shape()) + ": they must be (anchors, 4) and (anchors, classes)");
  }

  Detections found;
  std::vector<int32_t> groups;  // within which boxes drop others
  int32_t level = -1;
  int64_t level_end = 0;
  const auto min_size = static_cast<float>(options.min_size);
  const auto bottom = static_cast<float>(options.height > 0 ? options.height : static_cast<double>(height()));
  const auto right = static_cast<float>(options.width > 0 ? options.width : static_cast<double>(width()));
  for (const detail::ScoredAnchor& candidate : detail::best_scores(outputs, state_->level_counts, options)) {
    const auto i = static_cast<size_t>(candidate.anchor);
    const int64_t own = is_shared ? 0 : candidate.label + (is_softmax ? 1 : 0);
    Box box = state_->decoded(i, codes.data<float>() + candidate.anchor * codes.shape(1) + 4 * own);
    box = {std::clamp(box.y_min, 0.F, bottom), std::clamp(box.x_min, 0.F, right), std::clamp(box.y_max, 0.F, bottom),
           std::clamp(box.x_max, 0.F, right)};
    if (!(box.height() > 0 && box.width() > 0)) continue;  // outside the image, or NaN
    if (box.height() < min_size || box.width() < min_size) continue;
    while (candidate.anchor >= level_end) level_end += state_->level_counts[static_cast<size_t>(++level)];
    found.bbox.push_back(box);
    found.label.push_back(candidate.label);
    found.score.push_back(candidate.score);
    groups.push_back(options.nms_by_level ? level : candidate.label);
  }
  return detail::suppressed(found, groups, options);
}

}  // namespace kusari::links
