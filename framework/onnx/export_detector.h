#pragma once

#include <string>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/detection/detector.h"
#include "kusari/framework/onnx/export_model.h"

namespace kusari::onnx {

/// Writes a detector with what finds boxes in its outputs as an ONNX model: decoding, thresholds and NonMaxSuppression,
/// by `model.decoding`. x: (N, 3, H, W), prepared as Detector::batch_of does; the model takes images of this number and
/// size. Its outputs are those of all images one after another, of each image the best first:
///
/// bbox (R, 4) float32, (y_min, x_min, y_max, x_max) in pixels of x; label (R) int64; score (R) float32;
/// image_index (R) int64: the image's place in x.
///
/// They are what `model.find` finds in images that fill x, but for boxes whose scores are equal. options.output_names
/// has other names for the four. Throws as export_model does; and ValueError for dynamic_batch, train, and decoding
/// that ONNX has no operators for: soft_nms and nms_by_level. Of FasterRCNN both looks are written, with what proposes
/// regions between them, by model.proposals; the regions go through RoiAlign, map by map.
KUSARI_API void export_detector(const links::Detector& model, const Variable& x, const std::string& path,
                                const ExportOptions& options = {});

}  // namespace kusari::onnx
