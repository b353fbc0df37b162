#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/image/decode.h"
#include "kusari/framework/datasets/tar.h"
#include "kusari/framework/datasets/transforms/crop.h"
#include "kusari/framework/datasets/transforms/flip.h"
#include "kusari/framework/datasets/transforms/pad.h"
#include "kusari/tools/kusari-bench/cases.h"

#ifdef KUSARI_WITH_JPEG
#include <jpeglib.h>
#endif

namespace bench {

#ifdef KUSARI_WITH_JPEG
namespace {

using kusari::Array;
using Bytes = std::vector<uint8_t>;

constexpr size_t kPhotos = 100;  // in one step
constexpr int64_t kCropSide = 224;
constexpr int64_t kMargin = 4;

std::vector<Bytes> load_photos(const std::string& path) {
  std::vector<Bytes> photos;
  kusari::datasets::TarReader tar(path);
  while (photos.size() < kPhotos && tar.next()) tar.read(photos.emplace_back());
  if (photos.empty()) throw kusari::IoError("jpeg: " + path + " has no files");
  return photos;
}

/// What libjpeg-turbo takes: every row of every photo into the same memory.
void decode_plainly(const Bytes& photo, Bytes& pixels) {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, photo.data(), photo.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  const size_t row_bytes = size_t{3} * info.output_width;
  pixels.resize(std::max(pixels.size(), row_bytes * info.output_height));
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = pixels.data() + info.output_scanline * row_bytes;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
}

}  // namespace

void jpeg(const Settings& settings) {
  namespace datasets = kusari::datasets;
  namespace transforms = kusari::datasets::transforms;
  if (!std::filesystem::exists(settings.images)) {
    std::fprintf(stderr, "jpeg: skipped, --images '%s' is no tar archive of photos\n", settings.images.c_str());
    return;
  }
  const std::vector<Bytes> photos = load_photos(settings.images);
  const double count = static_cast<double>(photos.size());
  Bytes buffer;
  datasets::ExampleRandom random(1);
  // The three take turns, so that they meet the same machine.
  std::vector<double> plain, decode, augment;
  const double others = sample(settings, [&] {
                          const double t0 = now();
                          for (const Bytes& photo : photos) decode_plainly(photo, buffer);
                          const double t1 = now();
                          for (const Bytes& photo : photos) datasets::decode_image(photo);
                          const double t2 = now();
                          for (const Bytes& photo : photos) {
                            Array image = datasets::decode_image(photo);
                            image = transforms::Pad{kMargin}(image);
                            image = transforms::RandomCrop{kCropSide}(image, random);
                            transforms::RandomFlip{}(image, random);
                          }
                          const double t3 = now();
                          plain.push_back((t1 - t0) / count);
                          decode.push_back((t2 - t1) / count);
                          augment.push_back((t3 - t2) / count);
                        }).others;
  const double reference = median(plain);
  const auto show = [&](const char* name, const std::vector<double>& seconds) {
    char more[100];
    std::snprintf(more, sizeof(more), ",\"images_per_s\":%.1f,\"of_libjpeg\":%.3f", 1 / median(seconds),
                  reference / median(seconds));
    report(settings, name, "us/image", {seconds, others}, 1e6, more);
  };
  show("jpeg.libjpeg", plain);
  show("jpeg.decode", decode);
  show("jpeg.decode_crop_flip", augment);
}

#else

void jpeg(const Settings&) {
  std::fprintf(stderr, "jpeg: skipped, this build has no libjpeg-turbo (CMake option KUSARI_JPEG)\n");
}

#endif

}  // namespace bench
