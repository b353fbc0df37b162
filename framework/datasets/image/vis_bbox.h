#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/detection/box.h"

namespace kusari::datasets {

/// A color: red, green and blue of 0 .. 255.
using Rgb = std::array<uint8_t, 3>;

/// The colour that PASCAL VOC has for a label: black for 0, dark red for 1; for labels of 0 to 255, others modulo 256.
/// chainercv.visualizations.voc_colormap.
KUSARI_API Rgb voc_colormap(int64_t label);

struct VisBboxOptions {
  std::vector<std::string> label_names = {};  ///< of labels; without them captions have the labels' numbers
  std::vector<Rgb> colors = {};               ///< of labels, in turn; without them voc_colormap(label + 1)
  int64_t line_width = 0;                     ///< pixels; 0: what suits the image's size
  int64_t text_scale = 0;                     ///< a point of the letters, 5 x 8 points, in pixels; 0: what suits
};

/// A picture of an image with boxes, each with a caption at its upper left corner: its class, its score, or both,
/// "RBC: 0.87". Boxes may reach outside the image.
/// image: (3, H, W), or (1, H, W) or (H, W), grey; uint8, or floating with values 0 .. 255. label, score: of each box,
/// or none. Returns a new uint8 image (3, H, W). Letters are a bitmap font of ASCII, other characters filled boxes.
/// Throws TypeError for another dtype, ValueError for another shape, lists of other lengths, and labels that are
/// negative or that label_names lacks. chainercv.visualizations.vis_bbox.
KUSARI_API Array vis_bbox(const Array& image, std::span<const Box> bbox, std::span<const int32_t> label = {},
                          std::span<const float> score = {}, const VisBboxOptions& options = {});

/// The same of what a detector found.
KUSARI_API Array vis_bbox(const Array& image, const Detections& detections, const VisBboxOptions& options = {});

struct VisSegmentationOptions {
  std::vector<Rgb> colors = {};               ///< of labels, in turn; without them voc_colormap(label)
  double alpha = 1;                           ///< of the colours, in [0, 1]; 0: the image alone
  std::optional<Rgb> ignored = Rgb{0, 0, 0};  ///< the colour of label -1; none: the image's
};

/// A picture of the classes of an image's pixels. image: as vis_bbox takes it; label: (H, W) integers, -1 for those
/// without a class. Returns a new uint8 image (3, H, W). Throws as vis_bbox does, and for alpha out of range.
/// chainercv.visualizations.vis_semantic_segmentation.
KUSARI_API Array vis_semantic_segmentation(const Array& image, const Array& label,
                                           const VisSegmentationOptions& options = {});

}  // namespace kusari::datasets
