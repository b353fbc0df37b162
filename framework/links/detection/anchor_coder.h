#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/functions/detection/box.h"
#include "kusari/framework/functions/detection/soft_nms.h"
#include "kusari/framework/links/detection/anchor_grid.h"

namespace kusari::links {

/// Which anchors are trained to find which box. Everywhere an anchor belongs to the box with which its IoU is highest
/// (of equals the first) if that is at least `positive`, and a box without any overlap forces nothing.
enum class AnchorMatching : uint8_t {
  /// torchvision's RetinaNet: below 0.5 ignored, below 0.4 background; of each box all anchors that tie for its best
  /// IoU are positive too, for their own best box.
  retinanet,
  /// Detectron's RetinaNet: the same, but forced anchors below 0.4 become background again; they stay in `positives`.
  detectron,
  /// EfficientDet: below 0.5 background; of each box the first best anchor is its own; the first box wins.
  efficientdet,
  /// SSD: below 0.5 background; before that anchors and boxes pair off, each time the pair with the highest IoU.
  ssd,
  /// Region proposals: from 0.7, background below 0.3; the ties of the best are positive; anchors that reach outside
  /// the image are ignored; `samples` are drawn, and the others ignored. All boxes are class 0.
  rpn,
  /// What looks at regions that were proposed: below 0.5 background; `samples` are drawn, and the others ignored.
  regions,
};

struct AnchorCoderOptions {
  AnchorMatching matching = AnchorMatching::retinanet;
  std::optional<double> positive = std::nullopt;  ///< IoU from which on anchors are positive; the rule's if not given
  std::optional<double> negative = std::nullopt;  ///< IoU below which they are background; the rule's if not given
  std::array<double, 2> variance = {1, 1};        ///< of centres and of sizes: codes are divided by them
  int64_t samples = 256;                          ///< of rpn and regions: positive and background anchors; 0: all
  double positive_share = 0.25;                   ///< of rpn and regions: the most of `samples` that are positive
  bool ignore_outside = true;  ///< of rpn: anchors that reach outside the image do not count; torchvision's do
};

/// What an image's anchors are trained to say.
struct AnchorTargets {
  Array loc;          ///< (K, 4) float32: codes of boxes, 0 where none belongs to the anchor
  Array label;        ///< (K) int32: the class of the anchor's box, kBackgroundAnchor, kIgnoredAnchor
  int64_t positives;  ///< anchors that count as positive in a loss's normalizer
};

/// Labels of anchors without an object, and of those that count for nothing.
inline constexpr int32_t kBackgroundAnchor = -1;
inline constexpr int32_t kIgnoredAnchor = -2;

/// How a network's numbers become scores.
enum class AnchorScores : uint8_t {
  sigmoid,  ///< one number for each class
  softmax,  ///< the background's, then one for each class, as SSD has them
};

struct AnchorDecodeOptions {
  AnchorScores scores = AnchorScores::sigmoid;
  double score_thresh = 0.05;    ///< boxes with lower scores are dropped
  int64_t candidates = 1000;     ///< of each level only so many boxes and classes with the best scores go on; 0: all
  bool best_class_only = false;  ///< of each anchor only its best class
  double min_size = 0;           ///< boxes whose height or width is less, within the image, are dropped
  double nms_thresh = 0.5;       ///< within each class
  bool nms_by_level = false;     ///< boxes drop those of their own level alone, whatever their classes
  std::optional<functions::SoftNmsOptions> soft_nms = std::nullopt;  ///< instead of nms_thresh
  int64_t limit = 100;                                               ///< boxes of an image; 0: all
  double height = 0;  ///< the part of the picture, from its upper left, that the image fills: boxes end there; 0: all
  double width = 0;
};

/// Turns boxes into what a detector's outputs should be, and outputs into boxes. For an anchor with centre (ay, ax) and
/// size (ah, aw), and variances v:
/// loc = ((y - ay) / ah / v0, (x - ax) / aw / v0, log(h / ah) / v1, log(w / aw) / v1), in float32.
/// Copies share the anchors; several threads may use one at once.
class KUSARI_API AnchorCoder {
 public:
  /// For images of one size. Throws ValueError for options out of range, and as the grid does.
  AnchorCoder(const AnchorGrid& grid, int64_t height, int64_t width, const AnchorCoderOptions& options = {});
  /// For these boxes, one level of them, as those that are proposed for one image. Throws ValueError for a box that is
  /// empty or not finite, naming it, and for options out of range.
  AnchorCoder(std::vector<Box> boxes, int64_t height, int64_t width, const AnchorCoderOptions& options = {});

  /// All K of them.
  const std::vector<Box>& anchors() const noexcept;
  int64_t height() const noexcept;
  int64_t width() const noexcept;
  /// Of centres and of sizes.
  std::array<double, 2> variance() const noexcept;
  /// How many anchors each level has, one after another.
  const std::vector<int64_t>& level_counts() const noexcept;

  /// bbox: boxes of one image, label: their classes, not negative. Without boxes all anchors are background. Boxes
  /// that do not count in training, such as crowds, are the caller's to leave out.
  /// Throws ValueError when there are not as many labels, for a negative one, and for a box that is empty or not
  /// finite, naming it. Matchings rpn and regions draw from kusari::random, where there are more anchors than samples.
  AnchorTargets encode(std::span<const Box> bbox, std::span<const int32_t> label) const;
  /// bbox: (R, 4), label: (R) integers. TypeError for other shapes.
  AnchorTargets encode(const Array& bbox, const Array& label) const;

  /// The boxes that codes stand for. loc: (K, 4), floating. Codes of sizes count no more than log(1000 / 16), times
  /// v1, so that no box is infinite; the boxes may reach outside the image. Throws TypeError for another shape.
  std::vector<Box> decode(const Array& loc) const;
  /// What a network has found in an image: boxes within it, with their classes and scores, best first (of equal scores
  /// the lower anchor, then class). conf: (K, C), as it leaves the network, or (K, 1 + C) with softmax. loc: (K, 4), or
  /// four for each column of conf, (K, 4 C): then each class has its own. Codes and numbers that are NaN are passed
  /// over. Throws TypeError for other shapes, ValueError for options out of
  /// range.
  Detections decode(const Array& loc, const Array& conf, const AnchorDecodeOptions& options = {}) const;

 private:
  struct State;
  Shared<const State> state_;
};

}  // namespace kusari::links
