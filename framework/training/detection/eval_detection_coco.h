#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/detection/coco_annotations.h"
#include "kusari/framework/functions/detection/box.h"

namespace kusari::metrics {

/// What is to be found in an image: boxes and their classes. The other lists are as long, or empty.
struct GroundTruth {
  std::vector<Box> bbox;
  std::vector<int32_t> label;
  std::vector<uint8_t> difficult = {};  ///< for VOC: finding it is no success, missing it no failure; empty: none is
  std::vector<double> area = {};        ///< for COCO: pixels of the object; empty: those of the box
  std::vector<uint8_t> crowded = {};    ///< for COCO: the box is around many; empty: none is
};

using datasets::CocoAnnotation;
using datasets::CocoResult;

/// The numbers of COCO's challenge, each -1 where there is nothing to find. AP: the mean of the precision at 101
/// recalls; AR: the recall; both of the mean over classes, and over IoU 0.50, 0.55, .. 0.95 unless it says otherwise.
struct CocoMetrics {
  double ap, ap50, ap75, ap_small, ap_medium, ap_large;
  double ar1, ar10, ar100, ar_small, ar_medium, ar_large;  ///< 1, 10: with so many detections in an image; others: 100
  std::vector<double> class_ap;                            ///< `ap` of each class; NaN where there is nothing to find

  /// The twelve in the order in which COCO prints them.
  std::array<double, 12> stats() const {
    return {ap, ap50, ap75, ap_small, ap_medium, ap_large, ar1, ar10, ar100, ar_small, ar_medium, ar_large};
  }
};

/// Compares detections with COCO annotations, as pycocotools' COCOeval does for boxes, in float64.
/// images, categories: the ids that count, in any order and however often; entries with others are passed over.
/// class_ap is in the order of the ids of categories. Throws ValueError for a number that is not finite.
KUSARI_API CocoMetrics eval_detection_coco(std::span<const int64_t> images, std::span<const int64_t> categories,
                                           std::span<const CocoAnnotation> annotations,
                                           std::span<const CocoResult> results);

/// The same of boxes. found, truth: of each image. class_ap is by label. Throws ValueError when lists have not the same
/// length, and for a negative label. chainercv.evaluations.eval_detection_coco, which rounds boxes to two decimals.
KUSARI_API CocoMetrics eval_detection_coco(std::span<const Detections> found, std::span<const GroundTruth> truth);

}  // namespace kusari::metrics
