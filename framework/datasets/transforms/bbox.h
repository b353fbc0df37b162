#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/transforms/crop.h"
#include "kusari/framework/datasets/transforms/flip.h"
#include "kusari/framework/datasets/transforms/image.h"
#include "kusari/framework/functions/detection/box.h"

namespace kusari::datasets::transforms {

/// The boxes of an image of `size` after it was mirrored. chainercv.transforms.flip_bbox.
KUSARI_API std::vector<Box> flip_bbox(std::span<const Box> bbox, const Size& size, const Flip& flip);

/// The boxes of an image of size `from` after it was resized to `to`. Throws ValueError for a size below 1.
/// chainercv.transforms.resize_bbox.
KUSARI_API std::vector<Box> resize_bbox(std::span<const Box> bbox, const Size& from, const Size& to);

/// Moves boxes down and to the right. chainercv.transforms.translate_bbox.
KUSARI_API std::vector<Box> translate_bbox(std::span<const Box> bbox, double y_offset, double x_offset);

/// Boxes, and which of those that there were each is.
struct KeptBoxes {
  std::vector<Box> bbox;
  std::vector<int64_t> index;
};

/// The parts of boxes inside a window, as places in the window; those that are empty are left out.
/// allow_outside_center: false leaves out boxes whose centre is outside too. chainercv.transforms.crop_bbox.
KUSARI_API KeptBoxes crop_bbox(std::span<const Box> bbox, const Window& window, bool allow_outside_center = true);

/// An image with its boxes, which are moved together.
struct BoxedImage {
  Array image;
  std::vector<Box> bbox;
  std::vector<int64_t> index;  ///< which of the boxes at the beginning each is
};

namespace detail {
/// The window of an image, and what it leaves of the boxes.
KUSARI_API BoxedImage crop_boxed(const BoxedImage& boxed, const Window& window, bool allow_outside_center);
}  // namespace detail

}  // namespace kusari::datasets::transforms
