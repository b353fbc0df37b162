#include "kusari/framework/datasets/image/decode.h"

#include <algorithm>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/input_file.h"
#include "kusari/framework/datasets/image/exif.h"
#include "kusari/framework/datasets/image/file_bytes.h"
#include "kusari/framework/datasets/image/jpeg.h"
#include "kusari/framework/datasets/image/pixels.h"
#include "kusari/framework/datasets/image/png.h"
#include "kusari/framework/datasets/reading.h"
#include "kusari/framework/datasets/transforms/crop.h"

namespace kusari::datasets {
namespace {

constexpr uint8_t kJpeg[] = {0xFF, 0xD8, 0xFF};
constexpr uint8_t kPng[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

template <size_t kSize>
bool begins_with(std::span<const uint8_t> bytes, const uint8_t (&signature)[kSize]) {
  return bytes.size() >= kSize && std::equal(signature, signature + kSize, bytes.begin());
}

Array cut_out(const Array& image, const DecodeOptions& options) {
  if (!options.window) return image;
  return transforms::Crop{options.window(transforms::detail::size_of(image))}(image);
}

/// Windows are those of the upright image: of one that lies on its side the whole is decoded.
Array decode_turned_jpeg(std::span<const uint8_t> bytes, DecodeOptions options, const std::string& where,
                         int orientation) {
  if (!options.window) return upright(decode_jpeg(bytes, options, where), orientation);
  const DecodeOptions original = options;
  options.window = nullptr;
  options.min_side = 0;
  return cut_out(upright(decode_jpeg(bytes, options, where), orientation), original);
}

Array decode(std::span<const uint8_t> bytes, const DecodeOptions& options, const std::string& where) {
  if (begins_with(bytes, kJpeg)) {
    const int orientation = options.apply_orientation ? jpeg_orientation(bytes) : 1;
    return orientation == 1 ? decode_jpeg(bytes, options, where)
                            : decode_turned_jpeg(bytes, options, where, orientation);
  }
  if (begins_with(bytes, kPng)) {
    const Array image = decode_png(bytes, options, where);
    return cut_out(options.apply_orientation ? upright(image, png_orientation(bytes)) : image, options);
  }
  throw IoError(where + (bytes.empty() ? "is empty" : "is neither a JPEG nor a PNG file"));
}

}  // namespace

Array decode_image(std::span<const uint8_t> bytes, const DecodeOptions& options, const std::string& name) {
  const std::string image = name.empty() ? std::string("the image") : name;
  return reading("decode_image", image, [&] { return decode(bytes, options, "decode_image: " + image + " "); });
}

Array read_image(const std::string& path, const DecodeOptions& options) {
  std::vector<uint8_t>& buffer = file_bytes();
  return decode_image(read_whole("read_image", path, buffer), options, path);
}

}  // namespace kusari::datasets
