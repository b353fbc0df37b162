#pragma once

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/datasets/transforms/image.h"

namespace kusari::testing {

/// Pixels of any pattern without symmetries: 0 .. 250.
inline int pattern(int64_t c, int64_t y, int64_t x) { return static_cast<int>((c * 101 + y * 37 + x * 11) % 251); }

/// The image of that pattern in C order, whose memory is (C, H, W).
inline Array planes(int64_t channels, int64_t height, int64_t width, Dtype dtype) {
  std::vector<float> values;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) values.push_back(static_cast<float>(pattern(c, y, x)));
    }
  }
  return array(values, {channels, height, width}).astype(dtype);
}

/// The same whose memory is (H, W, C), as decoders give it.
inline Array pixels(int64_t channels, int64_t height, int64_t width, Dtype dtype) {
  const Array image = transforms::empty_image(channels, {height, width}, dtype);
  image.copy_from(planes(channels, height, width, dtype));
  return image;
}

/// The same as a part of a larger image: the rows lie further apart.
inline Array window(int64_t channels, int64_t height, int64_t width, Dtype dtype) {
  const Array large = transforms::empty_image(channels, {height + 2, width + 3}, dtype);
  large.fill(99);
  const Array part = large.slice(1, 1, height).slice(2, 2, width);
  part.copy_from(planes(channels, height, width, dtype));
  return part;
}

/// 40 + half of the pattern, 31 pixels wide and 23 high.
inline Array halved_pixels(int64_t channels, Dtype dtype) {
  const Array image = pixels(channels, 23, 31, Dtype::uint8);
  for (int64_t i = 0; i < image.size(); ++i) {
    image.data<uint8_t>()[i] = static_cast<uint8_t>(40 + image.data<uint8_t>()[i] / 2);
  }
  return image.astype(dtype);
}

/// The sum of all bytes in logical order, byte i counted i % 1009 + 1 times, by which images are compared with those of
/// other programs.
inline int64_t weighted_sum(const Array& image) {
  int64_t sum = 0, i = 0;
  for (const int value : image.to_vector<int>()) sum += value * (i++ % 1009 + 1);
  return sum;
}

/// Calls body(image) with one image in the layouts and dtypes that transforms take.
template <class Body>
void for_each_layout(int64_t channels, int64_t height, int64_t width, const Body& body) {
  for (Dtype dtype : {Dtype::uint8, Dtype::float32}) {
    CAPTURE(dtype);
    body(planes(channels, height, width, dtype));
    body(pixels(channels, height, width, dtype));
    body(window(channels, height, width, dtype));
  }
}

/// Whether the memory of an image is rows of pixels: (H, W, C), a view of such one included.
inline bool has_pixel_rows(const Array& image) {
  const Shape& shape = image.shape();
  return (shape[0] == 1 || image.strides()[0] == 1) && (shape[2] <= 1 || image.strides()[2] == shape[0]);
}

/// The elements that expected(c, y, x) gives, in logical order.
template <class Expected>
std::vector<int> values_of(const Shape& shape, const Expected& expected) {
  std::vector<int> values;
  for (int64_t c = 0; c < shape[0]; ++c) {
    for (int64_t y = 0; y < shape[1]; ++y) {
      for (int64_t x = 0; x < shape[2]; ++x) values.push_back(expected(c, y, x));
    }
  }
  return values;
}

}  // namespace kusari::testing
