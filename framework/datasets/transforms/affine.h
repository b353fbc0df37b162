#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/transforms/image.h"

namespace kusari::datasets::transforms {

/// Moves pixels: the one at (x, y), 0 .. W and 0 .. H counted from the upper left corner, shows what was at
/// (xx * x + xy * y + x0, yx * x + yy * y + y0), or `fill` where that is outside. The nearest pixel is taken, with
/// coordinates in units of 2^-16 where there is xy or yx, to the bit as Pillow's Image.transform(size, AFFINE, (xx, xy,
/// x0, yx, yy, y0)). `Affine{.xy = 0.3}` shears, `Affine{.x0 = 5}` moves to the left. Returns an image of the same
/// size. Throws ValueError for factors beyond 2^15, distances beyond 2^31, and a fill that a uint8 image cannot hold.
struct KUSARI_API Affine {
  double xx = 1;    ///< columns of the source for each column
  double xy = 0;    ///< for each row
  double x0 = 0;    ///< pixels
  double yx = 0;    ///< rows of the source for each column
  double yy = 1;    ///< for each row
  double y0 = 0;    ///< pixels
  double fill = 0;  ///< value of pixels from outside
  Array operator()(const Array& image) const;
};

/// Turns an image around its middle, counterclockwise, with the nearest pixels; corners are cut off, and `fill` is
/// where there is nothing. Throws ValueError for an angle that is not finite, and as Affine does. Pillow's
/// Image.rotate.
struct KUSARI_API Rotate {
  double degrees = 0;  ///< counterclockwise
  double fill = 0;     ///< value of pixels from outside
  Array operator()(const Array& image) const;
};

}  // namespace kusari::datasets::transforms
