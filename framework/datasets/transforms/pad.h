#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/transforms/image.h"

namespace kusari::datasets::transforms {

/// Rows and columns added at each side; one number for all sides.
struct Margins {
  int64_t top;
  int64_t bottom;
  int64_t left;
  int64_t right;
  constexpr Margins(int64_t all) noexcept : top{all}, bottom{all}, left{all}, right{all} {}
  constexpr Margins(int64_t above, int64_t below, int64_t before, int64_t after) noexcept
      : top{above}, bottom{below}, left{before}, right{after} {}
};

/// What new pixels hold: a constant; the nearest pixel of the image; or the image mirrored at its outermost pixels,
/// which are not repeated (numpy.pad's modes of these names).
enum class PadMode { constant, edge, reflect };

/// Adds rows and columns around an image. `value` fills them in mode constant, converted to the image's dtype.
/// Returns a new image of (C, H + top + bottom, W + left + right).
/// Throws ValueError for a negative margin, a value outside of [0, 255] for an image of uint8, and for modes edge and
/// reflect of an empty image.
struct KUSARI_API Pad {
  Margins margins;
  PadMode mode = PadMode::constant;
  double value = 0;
  Array operator()(const Array& image) const;
};

}  // namespace kusari::datasets::transforms
