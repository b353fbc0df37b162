#include "kusari/framework/datasets/image/decode.h"

#include <algorithm>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/input_file.h"
#include "kusari/framework/datasets/image/exif.h"
#include "kusari/framework/datasets/image/jpeg.h"
#include "kusari/framework/datasets/image/pixels.h"
#include "kusari/framework/datasets/image/png.h"

namespace kusari::datasets {
namespace {

constexpr uint8_t kJpeg[] = {0xFF, 0xD8, 0xFF};
constexpr uint8_t kPng[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

template <size_t kSize>
bool begins_with(std::span<const uint8_t> bytes, const uint8_t (&signature)[kSize]) {
  return bytes.size() >= kSize && std::equal(signature, signature + kSize, bytes.begin());
}

}  // namespace

Array decode_image(std::span<const uint8_t> bytes, const DecodeOptions& options, const std::string& name) {
  const std::string where = "decode_image: " + (name.empty() ? std::string("the image") : name) + " ";
  if (begins_with(bytes, kJpeg)) {
    const Array image = decode_jpeg(bytes, options, where);
    return options.apply_orientation ? upright(image, jpeg_orientation(bytes)) : image;
  }
  if (begins_with(bytes, kPng)) {
    const Array image = decode_png(bytes, options, where);
    return options.apply_orientation ? upright(image, png_orientation(bytes)) : image;
  }
  throw IoError(where + (bytes.empty() ? "is empty" : "is neither a JPEG nor a PNG file"));
}

Array read_image(const std::string& path, const DecodeOptions& options) {
  thread_local std::vector<uint8_t> buffer;
  return decode_image(read_whole("read_image", path, buffer), options, path);
}

}  // namespace kusari::datasets
