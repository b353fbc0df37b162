#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/transforms/image.h"

/// Less (factors below 1) or more of a property of an image than it has: y = z + factor * (x - z), z being the image
/// without the property, cut to 0 .. 255, and for bytes rounded as Pillow's ImageEnhance does, downwards. float32
/// images have values 0 .. 255, too, and are not rounded. A factor that is negative or not finite throws ValueError.
namespace kusari::datasets::transforms {

/// z is black. ImageEnhance.Brightness.
struct KUSARI_API Brightness {
  double factor = 1;  ///< 0 leaves nothing of the property, 1 changes nothing
  Array operator()(const Array& image) const;
};

/// z is the grey image, 0.299 R + 0.587 G + 0.114 B. A grey image stays as it is. Throws ValueError unless there are 1
/// or 3 channels. ImageEnhance.Color.
struct KUSARI_API Color {
  double factor = 1;  ///< 0 leaves nothing of the property, 1 changes nothing
  Array operator()(const Array& image) const;
};

/// z is the mean of the grey image everywhere. Throws ValueError unless there are 1 or 3 channels.
/// ImageEnhance.Contrast.
struct KUSARI_API Contrast {
  double factor = 1;  ///< 0 leaves nothing of the property, 1 changes nothing
  Array operator()(const Array& image) const;
};

/// z is the smoothed image: a pixel counts 5 times, its 8 neighbours once. Outermost pixels stay.
/// ImageEnhance.Sharpness.
struct KUSARI_API Sharpness {
  double factor = 1;  ///< 0 leaves nothing of the property, 1 changes nothing
  Array operator()(const Array& image) const;
};

}  // namespace kusari::datasets::transforms
