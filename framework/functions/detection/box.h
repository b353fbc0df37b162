#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari {

/// A rectangle in an image, in pixels: from (y_min, x_min) to (y_max, x_max), with y downwards, and without a pixel
/// more at the end. A row of a `bbox` array, (R, 4) float32, as ChainerCV has them.
struct Box {
  float y_min = 0;
  float x_min = 0;
  float y_max = 0;
  float x_max = 0;

  float height() const noexcept { return y_max - y_min; }
  float width() const noexcept { return x_max - x_min; }
  float area() const noexcept { return height() * width(); }
  friend bool operator==(const Box&, const Box&) noexcept = default;
};

/// What a detector finds in an image: boxes, the class of each (0, 1, ..) and how sure it is, in the same order.
struct Detections {
  std::vector<Box> bbox;
  std::vector<int32_t> label;
  std::vector<float> score;
};

/// The boxes as an array (R, 4) float32.
KUSARI_API Array bbox_array(std::span<const Box> bbox);
/// The rows of an array (R, 4) of any dtype, on any device. An array of another shape throws TypeError.
KUSARI_API std::vector<Box> boxes_of(const Array& bbox);

}  // namespace kusari
