#pragma once

#include <cstdint>
#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

/// What transforms share. An image is an array (C, H, W) of uint8 or float32 on the CPU; transforms keep its dtype and
/// give images whose memory is (H, W, C). They take images of any strides, and never write to their argument.
namespace kusari::datasets::transforms {

/// Height and width in pixels; one number for a square.
struct Size {
  int64_t height;
  int64_t width;
  constexpr Size(int64_t side) noexcept : height{side}, width{side} {}
  constexpr Size(int64_t rows, int64_t columns) noexcept : height{rows}, width{columns} {}
  friend constexpr bool operator==(const Size&, const Size&) noexcept = default;
};

/// "32 x 48", height first.
KUSARI_API std::string to_string(const Size& size);

/// A new image, elements undefined, whose memory is (H, W, C): strides (1, W * C, C).
KUSARI_API Array empty_image(int64_t channels, const Size& size, Dtype dtype);

namespace detail {

/// Throws TypeError, naming `call`, unless `image` is an image in the sense of this folder.
KUSARI_API void check_image(const char* call, const Array& image);
/// The same elements as rows of pixels, channels innermost: strides (1, any pitch, C). A copy where they are not so.
KUSARI_API Array with_pixel_rows(const Array& image);
/// Throws ValueError, naming `call`, unless both sides are at least 1.
KUSARI_API void check_size(const char* call, const Size& size);
/// Throws ValueError, naming `call` and `argument`, for a value that a pixel of a uint8 image cannot have.
KUSARI_API void check_pixel(const char* call, const char* argument, double value, Dtype dtype);

inline Size size_of(const Array& image) { return {image.shape()[1], image.shape()[2]}; }

/// Calls body(T{}) with the element type of an image.
template <class Body>
decltype(auto) visit_image(const Array& image, const Body& body) {
  if (image.dtype() == Dtype::uint8) return body(uint8_t{});
  return body(float{});
}

}  // namespace detail
}  // namespace kusari::datasets::transforms

namespace kusari {
namespace transforms = datasets::transforms;
}
