#include "kusari/framework/datasets/image/pixels.h"

#include "kusari/framework/datasets/transforms/image.h"

namespace kusari::datasets {
namespace {

/// Pixel (y, x) of `out` is that at first + y * step_y + x * step_x of `in`, in pixels.
template <int kChannels>
void gather(const uint8_t* in, int64_t first, int64_t step_y, int64_t step_x, int64_t height, int64_t width,
            uint8_t* out) {
  for (int64_t y = 0; y < height; ++y) {
    const uint8_t* from = in + (first + y * step_y) * kChannels;
    for (int64_t x = 0; x < width; ++x, from += step_x * kChannels, out += kChannels) {
      for (int c = 0; c < kChannels; ++c) out[c] = from[c];
    }
  }
}

}  // namespace

Array rgb_to_grey(const Array& image) {
  const int64_t height = image.shape()[1], width = image.shape()[2];
  const Array grey = transforms::empty_image(1, {height, width}, Dtype::uint8);
  const uint8_t* rgb = image.data<uint8_t>();
  uint8_t* out = grey.data<uint8_t>();
  for (int64_t i = 0; i < height * width; ++i, rgb += 3) {
    // The weights in units of 2^-16.
    out[i] = static_cast<uint8_t>((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + (1 << 15)) >> 16);
  }
  return grey;
}

Array upright(const Array& image, int orientation) {
  if (orientation == 1) return image;
  const int64_t channels = image.shape()[0], height = image.shape()[1], width = image.shape()[2];
  const bool swap = orientation >= 5;  // rows become columns
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const int64_t first = (from_below ? (height - 1) * width : 0) + (from_right ? width - 1 : 0);
  const int64_t down = from_below ? -width : width, right = from_right ? -1 : 1;
  const transforms::Size size = swap ? transforms::Size(width, height) : transforms::Size(height, width);
  const Array result = transforms::empty_image(channels, size, Dtype::uint8);
  const auto turn = [&](auto function) {
    function(image.data<uint8_t>(), first, swap ? right : down, swap ? down : right, size.height, size.width,
             result.data<uint8_t>());
  };
  switch (channels) {
    case 1:
      turn(gather<1>);
      break;
    case 2:
      turn(gather<2>);
      break;
    case 3:
      turn(gather<3>);
      break;
    default:
      turn(gather<4>);
  }
  return result;
}

}  // namespace kusari::datasets
