#pragma once

#include <span>

#include "kusari/framework/training/detection/eval_detection_coco.h"

namespace kusari::metrics::detail {

/// Throws ValueError, naming `call` and the image, unless the lists of each image have one length, and labels are not
/// negative nor scores NaN.
void check_lists(const char* call, std::span<const Detections> found, std::span<const GroundTruth> truth);

}  // namespace kusari::metrics::detail
