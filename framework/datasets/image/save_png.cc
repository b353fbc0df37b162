#include "kusari/framework/datasets/image/save_png.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <zlib.h>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"

// https://www.w3.org/TR/png-3/
namespace kusari::datasets {
namespace {

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(body.data()), body.size());
  return big_endian(static_cast<uint32_t>(data.size())) + body + big_endian(static_cast<uint32_t>(crc));
}

std::string deflated(const char* call, const std::string& data) {
  uLongf size = compressBound(static_cast<uLong>(data.size()));
  std::string result(size, '\0');
  const int status = compress(reinterpret_cast<Bytef*>(result.data()), &size,
                              reinterpret_cast<const Bytef*>(data.data()), static_cast<uLong>(data.size()));
  if (status != Z_OK) throw IoError(std::string(call) + ": zlib cannot compress the image: " + zError(status));
  result.resize(size);
  return result;
}

/// (H, W, C) as bytes.
std::vector<uint8_t> samples(const Array& image) {
  const Array rows = image.transpose({1, 2, 0});
  if (image.dtype() == Dtype::uint8) return rows.to_vector<uint8_t>();
  const std::vector<float> values = rows.to_vector<float>();
  std::vector<uint8_t> bytes(values.size());
  std::transform(values.begin(), values.end(), bytes.begin(), [](float value) {
    return std::isnan(value) ? uint8_t{0} : static_cast<uint8_t>(std::lround(255 * std::clamp(value, 0.f, 1.f)));
  });
  return bytes;
}

std::string png_bytes(const char* call, const Array& image) {
  const std::string prefix = std::string(call) + ": ";
  if (image.dtype() != Dtype::uint8 && !image.is_floating()) {
    throw TypeError((prefix + "image has dtype ") + name(image.dtype()) + ": it must be uint8 or floating");
  }
  const bool is_plane = image.ndim() == 2;
  constexpr int64_t kLargest = INT32_MAX;  // that the format allows
  if (!(is_plane || (image.ndim() == 3 && (image.shape(0) == 1 || image.shape(0) == 3))) || image.size() == 0 ||
      image.shape(-1) > kLargest || image.shape(-2) > kLargest) {
    throw ValueError(prefix + "image has shape " + to_string(image.shape()) +
                     ": it must be (H, W), (1, H, W) or (3, H, W), not empty");
  }
  const Array planes = is_plane ? image.expand_dims(0) : image;
  const int64_t channels = planes.shape(0), height = planes.shape(1), width = planes.shape(2);

  const std::vector<uint8_t> bytes = samples(planes);
  const auto row_bytes = static_cast<ptrdiff_t>(width * channels);
  std::string scanlines;
  scanlines.reserve(bytes.size() + static_cast<size_t>(height));
  for (auto row = bytes.begin(); row != bytes.end(); row += row_bytes) {
    scanlines.push_back(0);  // filter type None
    scanlines.append(row, row + row_bytes);
  }
  const std::string data = deflated(call, scanlines);
  if (data.size() > static_cast<size_t>(kLargest)) {
    throw ValueError(prefix + "image has shape " + to_string(image.shape()) + ": it takes more than 2^31 bytes");
  }

  const char depth = 8, color = channels == 1 ? 0 : 2;  // grey, RGB
  const std::string header = big_endian(static_cast<uint32_t>(width)) + big_endian(static_cast<uint32_t>(height)) +
                             std::string{depth, color, 0, 0, 0};  // deflate, adaptive filters, not interlaced
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + chunk("IDAT", data) + chunk("IEND", "");
}

}  // namespace

void save_png(const std::string& path, const Array& image) {
  write_file_atomically(path, png_bytes("save_png", image), false);
}

std::string encode_png(const Array& image) { return png_bytes("encode_png", image); }

}  // namespace kusari::datasets
