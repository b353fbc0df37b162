#pragma once

#include <string>

#include "kusari/framework/links/detection/faster_rcnn.h"
#include "kusari/framework/onnx/export/detection_nodes.h"

namespace kusari::onnx::exporting {

/// What a trace of FasterRCNN's first look has for results, in this order: codes (N, K, 4), scores (N, K, 1), and the
/// maps that the second look sees.
Variables first_look(const links::FasterRCNN& model, const Variable& x);

/// Nodes behind those of first_look() that do what FasterRCNN does with it: propose regions, look at them again, find
/// boxes. For each image its bbox, label, score and image_index.
std::vector<Names> find_in_regions(const DetectionNodes& nodes, const links::FasterRCNN& model, int64_t height,
                                   int64_t width);

}  // namespace kusari::onnx::exporting
