#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/transforms/crop.h"

namespace kusari::datasets {

/// The channels that an image is read with.
enum class ImageMode {
  unchanged,  ///< the channels that the file has: 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA; palettes and CMYK become RGB
  grey,       ///< 1 channel, 0.299 R + 0.587 G + 0.114 B
  rgb,        ///< 3 channels; alpha is dropped, not blended
  rgba        ///< 4 channels; alpha is 255 where the file has none
};

struct DecodeOptions {
  ImageMode mode = ImageMode::rgb;
  int64_t min_side = 0;           ///< > 0: a JPEG (the window of one) may come at 1/2, 1/4 or 1/8 size as long as no
                                  ///< side falls below this
  bool apply_orientation = true;  ///< turn the image upright by its EXIF tag
  bool tolerate_damage = false;   ///< of a file that is cut off or corrupt give what can be decoded, the rest grey or
                                  ///< black, instead of throwing
  int64_t max_pixels = int64_t{1} << 28;  ///< width * height above which a file is refused
  /// Given the size of the upright image, the part of it that is wanted, which takes less time than the whole and gives
  /// the same pixels. Damage after that part is not found.
  Callable<transforms::Window(const transforms::Size&)> window = {};
};

/// The image in the bytes of a JPEG or PNG file, told apart by their signature: uint8 (C, H, W) with the channels
/// innermost in memory, 0 .. 255. PNG samples of 16 bits lose their lower 8; those of 1, 2 and 4 bits are spread over
/// 0 .. 255. JPEG pixels are those of libjpeg-turbo's default settings (accurate integer IDCT, smooth upsampling).
/// `name` stands for the bytes in messages. Throws IoError, naming `name`, what is wrong and where, for another kind of
/// file, a damaged one, one above max_pixels, and where this build lacks the library for the format; ValueError for a
/// window that reaches outside the image.
KUSARI_API Array decode_image(std::span<const uint8_t> bytes, const DecodeOptions& options = {},
                              const std::string& name = "");

/// decode_image of a file's content. Throws IoError, also when the file cannot be read.
KUSARI_API Array read_image(const std::string& path, const DecodeOptions& options = {});

}  // namespace kusari::datasets
