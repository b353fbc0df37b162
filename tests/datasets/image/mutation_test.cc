// Readers of images and archives meet files that were changed at random: each gives its content or an error that names
// the file, soon. KUSARI_FUZZ_ITERATIONS sets how many files (600 by default), KUSARI_FUZZ_SEED which.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/datasets/image/cifar.h"
#include "kusari/framework/datasets/image/class_image_dataset.h"
#include "kusari/framework/datasets/image/decode.h"
#include "kusari/framework/datasets/image/zipped_image_dataset.h"
#include "kusari/framework/datasets/tar.h"
#include "kusari/framework/serializers/zip.h"
#include "kusari/tests/datasets/image/codecs.h"
#include "kusari/tests/datasets/mutation.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/shared_data.h"

#if defined(KUSARI_WITH_JPEG) && defined(KUSARI_WITH_PNG)

using namespace kusari;
using namespace kusari::datasets;
using namespace kusari::testing;

namespace {

constexpr int64_t kPixels = 1 << 22;  // what is decoded although it is damaged

enum class Kind { jpeg, png, tar, zip, cifar };

struct Original {
  Kind kind;
  Bytes bytes;
};

Bytes noise(Random& random, size_t size, int step) {
  Bytes bytes(size);
  int value = 128;
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(value += static_cast<int>(below(random, 2 * step + 1)) - step);
  return bytes;
}

std::vector<Bytes> make_jpegs(Random& random) {
  std::vector<Bytes> files;
  for (const bool progressive : {false, true}) {
    for (const J_COLOR_SPACE space : {JCS_RGB, JCS_GRAYSCALE, JCS_CMYK}) {
      const size_t channels = space == JCS_RGB ? 3 : space == JCS_CMYK ? 4 : 1;
      files.push_back(encode_jpeg({.width = 40,
                                   .height = 27,
                                   .input = space,
                                   .quality = 60,
                                   .progressive = progressive,
                                   .app1 = exif_app1(exif_orientation(6, progressive))},
                                  noise(random, channels * 40 * 27, 9)));
    }
  }
  // Photos, without the largest.
  if (const std::string path = shared_path("data/imagenette224-mini/val.tar"); !path.empty()) {
    const TarArchive archive(path);
    Bytes buffer;
    for (size_t i = 0; i < archive.entries().size(); i += 30) {
      const auto content = archive.read(i, buffer);
      files.emplace_back(content.begin(), content.end());
    }
  }
  if (const std::string path = shared_path("data/cifar10-jpeg/test-0000.tar.gz"); !path.empty()) {
    TarReader reader(path);
    for (int i = 0; i < 20 && reader.next(); ++i) reader.read(files.emplace_back());
  }
  return files;
}

std::vector<Bytes> make_pngs(Random& random) {
  std::vector<Bytes> files;
  struct Case {
    int type, depth, channels;
  };
  for (const Case& c : {Case{PNG_COLOR_TYPE_GRAY, 1, 1},
                        {PNG_COLOR_TYPE_GRAY, 16, 1},
                        {PNG_COLOR_TYPE_PALETTE, 4, 1},
                        {PNG_COLOR_TYPE_PALETTE, 8, 1},
                        {PNG_COLOR_TYPE_RGB, 8, 3},
                        {PNG_COLOR_TYPE_GRAY_ALPHA, 8, 2},
                        {PNG_COLOR_TYPE_RGB_ALPHA, 8, 4},
                        {PNG_COLOR_TYPE_RGB_ALPHA, 16, 4}}) {
    for (const bool interlaced : {false, true}) {
      const int width = 30, height = 21;
      std::vector<uint16_t> samples;
      for (int i = 0; i < width * height * c.channels; ++i) {
        samples.push_back(static_cast<uint16_t>(below(random, size_t{1} << c.depth)));
      }
      PngSpec spec{.width = width, .height = height, .color_type = c.type, .depth = c.depth, .interlaced = interlaced};
      if (c.type == PNG_COLOR_TYPE_PALETTE) {
        for (int i = 0; i < 1 << c.depth; ++i) spec.palette.push_back({static_cast<png_byte>(i), 2, 3});
        spec.palette_alpha = {1, 2, 3};
      }
      if (interlaced) spec.exif = exif_orientation(7, true);
      files.push_back(encode_png(spec, samples));
    }
  }
  return files;
}

std::vector<Bytes> make_tars(const std::vector<Bytes>& images) {
  std::string content = tar_member("cat/", "", '5');
  for (size_t i = 0; i < 4; ++i) content += tar_member("cat/" + std::to_string(i) + ".png", as_string(images[i]));
  content += tar_member("@LongLink", "dog/" + std::string(150, 'x') + ".png", 'L', "", std::string("ustar  \0", 8)) +
             tar_member("short", as_string(images[4])) +
             tar_member("PaxHeader", "30 path=dog/pax/long/name.png\n", 'x') +
             tar_member("ignored", as_string(images[5])) + tar_member("name.jpg", as_string(images[6]), '0', "fox") +
             tar_end();
  return {as_bytes(content), as_bytes(gzip(content))};
}

std::vector<Bytes> make_zips(const std::vector<Bytes>& images) {
  const ScratchDirectory dir;
  std::vector<Bytes> files;
  for (const auto method : {serializers::ZipMethod::stored, serializers::ZipMethod::deflated}) {
    AtomicFile file(dir / "a.zip");
    serializers::ZipWriter zip(file);
    for (size_t i = 0; i < 4; ++i) zip.add("image" + std::to_string(i) + ".png", as_string(images[i]), method);
    zip.finish();
    file.commit();
    files.push_back(as_bytes(read_file(dir / "a.zip")));
  }
  return files;
}

std::vector<Bytes> make_cifars(Random& random) {
  Bytes records;
  for (uint8_t label = 0; label < 3; ++label) {
    records.push_back(label);
    const Bytes pixels = noise(random, 3072, 5);
    records.insert(records.end(), pixels.begin(), pixels.end());
  }
  return {records, as_bytes(gzip(as_string(records)))};
}

/// Makes the CRC of every chunk right again, as far as chunks can be found, so that changes get past it.
void repair_png(Bytes& bytes) {
  size_t at = 8;
  while (at + 12 <= bytes.size()) {
    const size_t length =
        size_t{bytes[at]} << 24 | size_t{bytes[at + 1]} << 16 | size_t{bytes[at + 2]} << 8 | bytes[at + 3];
    if (length > bytes.size() - at - 12) return;
    const uLong crc = crc32(0, &bytes[at + 4], static_cast<uInt>(length + 4));
    for (size_t i = 0; i < 4; ++i) bytes[at + 8 + length + i] = static_cast<uint8_t>(crc >> (24 - 8 * i));
    at += length + 12;
  }
}

/// The same for the checksums of what are headers in the original.
void repair_tar(Bytes& bytes) {
  for (size_t at = 0; at + 512 <= bytes.size(); at += 512) {
    if (std::string(&bytes[at] + 257, &bytes[at] + 262) != "ustar") continue;
    std::fill_n(&bytes[at + 148], 8, static_cast<uint8_t>(' '));
    unsigned sum = 0;
    for (size_t i = 0; i < 512; ++i) sum += bytes[at + i];
    char digits[16];
    std::snprintf(digits, sizeof(digits), "%06o", sum);
    std::copy(digits, digits + 6, &bytes[at + 148]);
    bytes[at + 154] = 0;
  }
}

DecodeOptions any_options(Random& random) {
  DecodeOptions options;
  options.mode = static_cast<ImageMode>(below(random, 4));
  options.min_side = static_cast<int64_t>(below(random, 3) * 10);
  options.apply_orientation = chance(random, 80);
  options.tolerate_damage = chance(random, 30);
  options.max_pixels = kPixels;
  if (chance(random, 50)) {
    options.window = [top = below(random, 3), left = below(random, 3)](const transforms::Size& size) {
      const int64_t y = size.height * static_cast<int64_t>(top) / 4, x = size.width * static_cast<int64_t>(left) / 4;
      return transforms::Window{y, x, {(size.height - y + 1) / 2, (size.width - x + 1) / 2}};
    };
  }
  return options;
}

void read_mutant(Kind kind, const Bytes& bytes, const DecodeOptions& decode, const ScratchDirectory& dir,
                 Outcome& outcome) {
  if (kind == Kind::jpeg || kind == Kind::png) {
    attempt(outcome, "mutant", [&] {
      const Array image = decode_image(bytes, decode, "mutant");
      CHECK(image.size() > 0);
    });
    return;
  }
  const std::string path = dir / "mutant";
  write_file(path, as_string(bytes));
  if (kind == Kind::cifar) {
    attempt(outcome, path, [&] { read_cifar10(path, {.dtype = Dtype::uint8}); });
    return;
  }
  const auto get_all = [&](const EncodedImageDataset& dataset) {
    for (int64_t i = 0; i < dataset.size(); ++i) attempt(outcome, path, [&] { dataset.get(i); });
  };
  attempt(outcome, path, [&] {
    if (kind == Kind::tar) {
      get_all(TarImageDataset(path, {.dtype = Dtype::uint8, .decode = decode}));
    } else {
      get_all(ZippedImageDataset(path, {.dtype = Dtype::uint8, .decode = decode}));
    }
  });
}

}  // namespace

TEST_CASE("readers of images and archives survive files changed at random") {
  const int64_t iterations = number_from_environment("KUSARI_FUZZ_ITERATIONS", 600);
  const int64_t seed = number_from_environment("KUSARI_FUZZ_SEED", 1);
  const ScratchDirectory dir;
  Random maker(7);
  std::map<Kind, std::vector<Bytes>> originals;
  originals[Kind::jpeg] = make_jpegs(maker);
  originals[Kind::png] = make_pngs(maker);
  std::vector<Bytes> mixed(originals[Kind::png].begin(), originals[Kind::png].begin() + 6);
  mixed.push_back(originals[Kind::jpeg][0]);
  originals[Kind::tar] = make_tars(mixed);
  originals[Kind::zip] = make_zips(mixed);
  originals[Kind::cifar] = make_cifars(maker);

  for (const auto& [kind, files] : originals) {  // unchanged, all can be read
    for (const Bytes& bytes : files) {
      Outcome outcome;
      read_mutant(kind, bytes, {}, dir, outcome);
      CHECK(outcome.errors == 0);
      CHECK(outcome.read >= 1);
      CHECK(outcome.wrong == "");
    }
  }

  Watchdog watchdog;
  Outcome total;
  double slowest = 0;
  for (int64_t i = 0; i < iterations; ++i) {
    Random random(static_cast<uint64_t>(seed) << 32 | static_cast<uint64_t>(i));
    constexpr Kind kKinds[] = {Kind::jpeg, Kind::jpeg, Kind::jpeg, Kind::png,
                               Kind::png,  Kind::tar,  Kind::zip,  Kind::cifar};
    const Kind kind = kKinds[below(random, std::size(kKinds))];
    const std::vector<Bytes>& files = originals[kind];
    Bytes bytes = files[below(random, files.size())];
    const Bytes& other = files[below(random, files.size())];
    const bool inside = (kind == Kind::tar || kind == Kind::cifar) && chance(random, 50);  // of the gzip file
    const bool zipped = bytes.size() > 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
    if (inside) bytes = gunzip_or_same(bytes);
    const size_t changes = 1 + below(random, 4);
    for (size_t n = 0; n < changes; ++n) change(random, bytes, other);
    if (kind == Kind::png && chance(random, 60)) repair_png(bytes);
    if (kind == Kind::tar && chance(random, 60)) repair_tar(bytes);
    if (inside && zipped) bytes = as_bytes(gzip(as_string(bytes)));

    CAPTURE(i);
    watchdog.step(i);
    const Clock::time_point start = Clock::now();
    Outcome outcome;
    read_mutant(kind, bytes, any_options(random), dir, outcome);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    CHECK(outcome.wrong == "");
    CHECK(seconds < kSlow);
    slowest = std::max(slowest, seconds);
    total.read += outcome.read;
    total.errors += outcome.errors;
  }
  MESSAGE(iterations << " files: " << total.read << " readings gave something, " << total.errors
                     << " a named error; the slowest file took " << slowest << " s");
  CHECK(total.errors > iterations / 4);
  CHECK(total.read > iterations / 20);
}

#endif
