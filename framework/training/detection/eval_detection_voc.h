#pragma once

#include <span>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/detection/box.h"
#include "kusari/framework/training/detection/eval_detection_coco.h"

namespace kusari::metrics {

struct VocEvaluationOptions {
  double iou_thresh = 0.5;     ///< a detection counts from this IoU on
  bool use_07_metric = false;  ///< the mean of the precision at 11 recalls, as in 2007, instead of the area
};

/// Average precisions of PASCAL VOC.
struct VocMetrics {
  std::vector<double> ap;  ///< of each class, by label; NaN where there is nothing to find
  double map;              ///< their mean without NaNs; NaN where all are
};

/// Compares detections with what is to be found, as PASCAL VOC does: boxes are a pixel larger than they say; each
/// detection belongs to the box with which its IoU is highest, and is a hit if that is enough, the box is not difficult
/// and no better detection has it; difficult boxes are neither to be found nor wrong. Of equal scores the earlier
/// image, and in it the lower index, goes first. IoU in float32, the rest in float64.
/// found, truth: of each image. Throws ValueError when lists have not the same length, for a negative label, a NaN as
/// score, and options out of range. chainercv.evaluations.eval_detection_voc.
KUSARI_API VocMetrics eval_detection_voc(std::span<const Detections> found, std::span<const GroundTruth> truth,
                                         const VocEvaluationOptions& options = {});

}  // namespace kusari::metrics
