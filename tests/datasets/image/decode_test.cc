#include "kusari/framework/datasets/image/decode.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/tests/datasets/image/codecs.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/shared_data.h"
#include "kusari/tests/skip.h"
#include "kusari/tests/text_search.h"

using namespace kusari;
using namespace kusari::datasets;
using namespace kusari::testing;

// A build may lack either library, and with it the tests that use some of these.
namespace {

/// The values in memory order: rows of pixels.
[[maybe_unused]] Bytes pixels(const Array& image) {
  const int64_t c = image.shape()[0], h = image.shape()[1], w = image.shape()[2];
  CHECK(image.dtype() == Dtype::uint8);
  CHECK(image.strides() == Strides{1, w * c, c});
  return {image.data<uint8_t>(), image.data<uint8_t>() + h * w * c};
}

[[maybe_unused]] bool same_pixels(const Array& a, const Array& b) {
  return a.shape() == b.shape() && a.to_vector<uint8_t>() == b.to_vector<uint8_t>();
}

[[maybe_unused]] uint8_t grey_of(int r, int g, int b) {
  return static_cast<uint8_t>(0.299 * r + 0.587 * g + 0.114 * b + 0.5);
}

/// A smooth picture, so that JPEG keeps it well: channel c at (y, x).
[[maybe_unused]] Bytes picture(int height, int width, int channels) {
  Bytes out;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        out.push_back(static_cast<uint8_t>(40 + 160 * x / width * (c % 2) + 150 * y / height * ((c + 1) % 2)));
      }
    }
  }
  return out;
}

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const IoError& error) {
    return error.what();
  }
  return "no error";
}

[[maybe_unused]] int largest_difference(const Bytes& a, const Bytes& b) {
  REQUIRE(a.size() == b.size());
  int largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(int{a[i]} - int{b[i]}));
  return largest;
}

}  // namespace

TEST_CASE("decode_image: what is no image") {
  CHECK_THROWS_WITH_AS(decode_image({}), "decode_image: the image is empty", IoError);
  const Bytes text = as_bytes("GIF89a.........");
  CHECK_THROWS_WITH_AS(decode_image(text, {}, "a.gif"), "decode_image: a.gif is neither a JPEG nor a PNG file",
                       IoError);
  CHECK_THROWS_WITH_AS(read_image("/nonexistent/a.jpg"),
                       "read_image: /nonexistent/a.jpg cannot be opened: No such file or directory", IoError);
}

#ifdef KUSARI_WITH_JPEG

TEST_CASE("decode_image: JPEG in every mode is what libjpeg-turbo's defaults give") {
  struct Case {
    int height, width;
  };
  for (const bool progressive : {false, true}) {
    for (const Case& c : {Case{37, 53}, {8, 8}, {1, 1}, {1, 40}, {64, 17}}) {
      const int height = c.height, width = c.width;
      CAPTURE(progressive);
      CAPTURE(height);
      CAPTURE(width);
      const Bytes color =
          encode_jpeg({.width = width, .height = height, .progressive = progressive}, picture(height, width, 3));
      const Array image = decode_image(color);
      CHECK(image.shape() == Shape{3, height, width});
      CHECK(pixels(image) == plain_decode_jpeg(color, JCS_RGB));
      CHECK(pixels(decode_image(color, {.mode = ImageMode::unchanged})) == pixels(image));
      CHECK(pixels(decode_image(color, {.mode = ImageMode::grey})) == plain_decode_jpeg(color, JCS_GRAYSCALE));
      CHECK(pixels(decode_image(color, {.mode = ImageMode::rgba})) == plain_decode_jpeg(color, JCS_EXT_RGBA));

      const Bytes grey =
          encode_jpeg({.width = width, .height = height, .input = JCS_GRAYSCALE, .progressive = progressive},
                      picture(height, width, 1));
      const Bytes values = plain_decode_jpeg(grey, JCS_GRAYSCALE);
      const Array one = decode_image(grey, {.mode = ImageMode::unchanged});
      CHECK(one.shape() == Shape{1, height, width});
      CHECK(pixels(one) == values);
      CHECK(pixels(decode_image(grey, {.mode = ImageMode::grey})) == values);
      const Bytes rgb = pixels(decode_image(grey)), rgba = pixels(decode_image(grey, {.mode = ImageMode::rgba}));
      for (size_t i = 0; i < values.size(); ++i) {
        for (size_t k = 0; k < 3; ++k) CHECK((rgb[3 * i + k] == values[i] && rgba[4 * i + k] == values[i]));
        CHECK(rgba[4 * i + 3] == 255);
      }
    }
  }
}

TEST_CASE("decode_image: JPEG with RGB components") {
  const Bytes rgb = encode_jpeg({.width = 24, .height = 16, .file = JCS_RGB, .quality = 100}, picture(16, 24, 3));
  CHECK(largest_difference(pixels(decode_image(rgb)), picture(16, 24, 3)) <= 2);
  CHECK(decode_image(rgb, {.mode = ImageMode::grey}).shape() == Shape{1, 16, 24});
}

TEST_CASE("decode_image: CMYK and YCCK, with ink and (Adobe) with its lack") {
  const int height = 16, width = 24;
  const Bytes cmyk = picture(height, width, 4);
  for (const J_COLOR_SPACE file : {JCS_CMYK, JCS_YCCK}) {
    for (const bool adobe : {true, false}) {
      if (file == JCS_YCCK && !adobe) continue;  // the marker is what tells YCCK from CMYK
      CAPTURE(file);
      CAPTURE(adobe);
      const Bytes bytes = encode_jpeg(
          {.width = width, .height = height, .input = JCS_CMYK, .file = file, .quality = 100, .adobe_marker = adobe},
          cmyk);
      Bytes expected, grey;
      for (size_t i = 0; i < cmyk.size(); i += 4) {
        const auto light = [&](size_t c) { return adobe ? int{cmyk[i + c]} : 255 - cmyk[i + c]; };
        int rgb[3];
        for (size_t c = 0; c < 3; ++c) expected.push_back(static_cast<uint8_t>(rgb[c] = light(c) * light(3) / 255));
        grey.push_back(grey_of(rgb[0], rgb[1], rgb[2]));
      }
      CHECK(largest_difference(pixels(decode_image(bytes)), expected) <= 5);
      CHECK(largest_difference(pixels(decode_image(bytes, {.mode = ImageMode::grey})), grey) <= 5);
      CHECK(decode_image(bytes, {.mode = ImageMode::unchanged}).shape() == Shape{3, height, width});
      const Bytes rgba = pixels(decode_image(bytes, {.mode = ImageMode::rgba}));
      CHECK(rgba.size() == cmyk.size());
      CHECK(rgba[3] == 255);
      CHECK(std::abs(rgba[4] - expected[3]) <= 5);
    }
  }
}

TEST_CASE("decode_image: JPEG at a smaller scale") {
  const Bytes bytes = encode_jpeg({.width = 320, .height = 200}, picture(200, 320, 3));
  struct Case {
    int64_t min_side;
    unsigned eighths;
  };
  for (const Case& c :
       {Case{0, 8}, {1, 1}, {25, 1}, {26, 2}, {50, 2}, {51, 4}, {100, 4}, {101, 8}, {200, 8}, {500, 8}}) {
    CAPTURE(c.min_side);
    const Array image = decode_image(bytes, {.min_side = c.min_side});
    CHECK(image.shape() == Shape{3, 200 * c.eighths / 8, 320 * c.eighths / 8});
    CHECK(pixels(image) == plain_decode_jpeg(bytes, JCS_RGB, c.eighths));
  }
}

TEST_CASE("decode_image: the pixels of a window are those of the whole image") {
  const int height = 150, width = 203;
  Bytes noise = picture(height, width, 3);
  datasets::ExampleRandom random(3);
  for (uint8_t& value : noise) value = static_cast<uint8_t>(value + random.integer(40));
  std::vector<Bytes> files;
  for (const bool progressive : {false, true}) {
    for (const bool subsampled : {false, true}) {
      files.push_back(
          encode_jpeg({.width = width, .height = height, .progressive = progressive, .subsampled = subsampled}, noise));
    }
  }
  files.push_back(encode_jpeg({.width = width, .height = height, .app1 = exif_app1(exif_orientation(6, true))}, noise));
  files.push_back(encode_jpeg({.width = width, .height = height, .input = JCS_CMYK}, picture(height, width, 4)));
  files.push_back(encode_jpeg({.width = width, .height = height, .input = JCS_GRAYSCALE}, picture(height, width, 1)));
  for (size_t f = 0; f < files.size(); ++f) {
    for (const ImageMode mode : {ImageMode::rgb, ImageMode::rgba, ImageMode::grey}) {
      const Array whole = decode_image(files[f], {.mode = mode});
      const int64_t h = whole.shape()[1], w = whole.shape()[2];
      for (int turn = 0; turn < 30; ++turn) {
        const int64_t top = turn == 0 ? 0 : random.integer(h), left = turn == 0 ? 0 : random.integer(w);
        const transforms::Window window{top, left, {1 + random.integer(h - top), 1 + random.integer(w - left)}};
        CAPTURE(f);
        CAPTURE(top);
        CAPTURE(left);
        CAPTURE(window.size.height);
        CAPTURE(window.size.width);
        transforms::Size told = 1;
        const auto choose = [&](const transforms::Size& size) {
          told = size;
          return window;
        };
        const Array part = decode_image(files[f], {.mode = mode, .window = choose});
        CHECK(told == transforms::Size(h, w));
        CHECK(same_pixels(part, transforms::Crop{window}(whole)));
      }
    }
  }
}

TEST_CASE("decode_image: a window at a smaller scale") {
  const Bytes bytes = encode_jpeg({.width = 320, .height = 200}, picture(200, 320, 3));
  const auto decode = [&](const transforms::Window& window, int64_t min_side) {
    return decode_image(bytes, {.min_side = min_side, .window = [&](const transforms::Size&) { return window; }});
  };
  const Array half = decode_image(bytes, {.min_side = 100});
  CHECK(half.shape() == Shape{3, 100, 160});
  // Rows 21 .. 120 and columns 40 .. 141 touch rows 10 .. 60 and columns 20 .. 70 at half size.
  CHECK(same_pixels(decode({21, 40, {100, 102}}, 50), half.slice(1, 10, 51).slice(2, 20, 51)));
  CHECK(decode({21, 40, {100, 102}}, 51).shape() == Shape{3, 100, 102});
  CHECK(same_pixels(decode({0, 0, {200, 320}}, 100), half));
  CHECK_THROWS_WITH_AS(decode({150, 0, {51, 10}}, 0),
                       "decode_image: a window of 51 x 10 at (150, 0) reaches outside an image of 200 x 320",
                       ValueError);
}

TEST_CASE("decode_image: a window at a smaller scale where few samples are of colour") {
  Bytes noise = picture(267, 264, 3);
  datasets::ExampleRandom random(4);
  for (uint8_t& value : noise) value = static_cast<uint8_t>(value + random.integer(60));
  for (const auto& [across, down] : {std::pair{2, 4}, {4, 2}, {4, 1}, {1, 4}, {2, 2}, {3, 2}}) {
    const Bytes bytes = encode_jpeg({.width = 264, .height = 267, .luma_factors = {across, down}}, noise);
    for (const int scale : {2, 4}) {
      const Array whole = decode_image(bytes, {.min_side = 264 / scale});
      for (int turn = 0; turn < 40; ++turn) {
        const int64_t top = random.integer(240), left = random.integer(240);
        const int64_t height = 24 + random.integer(244 - top), width = 24 + random.integer(241 - left);
        const transforms::Window window{top, left, {height, width}};
        const int64_t side = std::min(height, width);
        const Array part = decode_image(
            bytes, {.min_side = (side + scale - 1) / scale, .window = [&](const transforms::Size&) { return window; }});
        CAPTURE(across);
        CAPTURE(down);
        CAPTURE(scale);
        CHECK(same_pixels(part, whole.slice(1, top / scale, part.shape()[1]).slice(2, left / scale, part.shape()[2])));
      }
    }
  }
}

TEST_CASE("decode_image: damage below a window is not found") {
  const Bytes bytes = encode_jpeg({.width = 320, .height = 200}, picture(200, 320, 3));
  const std::span<const uint8_t> cut(bytes.data(), bytes.size() * 3 / 4);
  const transforms::Window upper{10, 10, {50, 50}}, lower{100, 10, {100, 50}};
  const auto decode = [&](const transforms::Window& window) {
    return decode_image(cut, {.window = [&](const transforms::Size&) { return window; }});
  };
  CHECK(same_pixels(decode(upper), transforms::Crop{upper}(decode_image(bytes))));
  CHECK(contains(error_of([&] { decode(lower); }), "is damaged in its JPEG data"));
}

TEST_CASE("decode_image: EXIF orientation") {
  // What "row 0 and column 0 of the file are shown as" means, as the mapping of the upright (y, x) into the file.
  const auto expected = [](const Bytes& in, int h, int w, int orientation) {
    Bytes out;
    const bool swap = orientation >= 5;
    for (int y = 0; y < (swap ? w : h); ++y) {
      for (int x = 0; x < (swap ? h : w); ++x) {
        const int from[9][2] = {{},     {y, x},         {y, w - 1 - x},         {h - 1 - y, w - 1 - x}, {h - 1 - y, x},
                                {x, y}, {h - 1 - x, y}, {h - 1 - x, w - 1 - y}, {x, w - 1 - y}};
        for (int c = 0; c < 3; ++c) {
          out.push_back(in[static_cast<size_t>((from[orientation][0] * w + from[orientation][1]) * 3 + c)]);
        }
      }
    }
    return out;
  };
  const int h = 16, w = 24;
  for (int orientation = 0; orientation <= 9; ++orientation) {
    for (const bool little : {true, false}) {
      CAPTURE(orientation);
      CAPTURE(little);
      const Bytes bytes = encode_jpeg(
          {.width = w, .height = h, .app1 = exif_app1(exif_orientation(orientation, little))}, picture(h, w, 3));
      const Bytes stored = pixels(decode_image(bytes, {.apply_orientation = false}));
      const int meant = orientation >= 1 && orientation <= 8 ? orientation : 1;
      const Array image = decode_image(bytes);
      CHECK(image.shape() == (meant >= 5 ? Shape{3, w, h} : Shape{3, h, w}));
      CHECK(pixels(image) == expected(stored, h, w, meant));
    }
  }
  // Blocks that are cut off or point outside mean nothing.
  const Bytes tiff = exif_orientation(6, true);
  for (size_t size = 0; size < tiff.size(); ++size) {
    Bytes cut(tiff.begin(), tiff.begin() + static_cast<std::ptrdiff_t>(size));
    const Bytes bytes = encode_jpeg({.width = w, .height = h, .app1 = exif_app1(cut)}, picture(h, w, 3));
    const Shape shape = decode_image(bytes).shape();
    CHECK((shape == Shape{3, h, w} || (size >= tiff.size() - 6 && shape == Shape{3, w, h})));
    if (size < 8) continue;
    Bytes far = tiff;
    far[4] = static_cast<uint8_t>(size * 40);
    far[7] = static_cast<uint8_t>(size * 11);
    decode_image(encode_jpeg({.width = w, .height = h, .app1 = exif_app1(far)}, picture(h, w, 3)));
  }
}

TEST_CASE("decode_image: damaged JPEG") {
  const Bytes bytes = encode_jpeg({.width = 64, .height = 48}, picture(48, 64, 3));
  const Bytes whole = pixels(decode_image(bytes));
  for (size_t size = 3; size < bytes.size(); size += 7) {
    CAPTURE(size);
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const std::string error = error_of([&] { decode_image(cut, {}, "cut.jpg"); });
    CHECK(contains(error, "decode_image: cut.jpg is "));
    CHECK(contains(error, "damaged"));
  }
  const Bytes cut(bytes.begin(), bytes.end() - 60);
  CHECK(contains(error_of([&] { decode_image(cut, {}, "cut.jpg"); }), "of 48: Premature end of JPEG file"));
  const Array rest = decode_image(cut, {.tolerate_damage = true});
  CHECK(rest.shape() == Shape{3, 48, 64});
  const Bytes kept = pixels(rest);
  CHECK(std::equal(kept.begin(), kept.begin() + 3 * 64 * 8, whole.begin()));
  // The end marker alone is missing.
  CHECK(contains(error_of([&] {
                   decode_image({bytes.data(), bytes.size() - 2}, {}, "cut.jpg");
                 }),
                 "Premature end of JPEG file"));

  CHECK(error_of([&] { decode_image(bytes, {.max_pixels = 64 * 48 - 1}, "big.jpg"); }) ==
        "decode_image: big.jpg has 64x48 pixels, more than max_pixels (3071)");
  CHECK_NOTHROW(decode_image(bytes, {.max_pixels = 64 * 48}));
  // A header that promises more than the bytes can hold, before memory is asked for.
  Bytes bomb = bytes;
  const uint8_t frame[] = {0xFF, 0xC0};
  const auto at = std::search(bomb.begin(), bomb.end(), frame, frame + 2) - bomb.begin();
  bomb[static_cast<size_t>(at) + 5] = bomb[static_cast<size_t>(at) + 7] = 0x3F;
  CHECK(contains(error_of([&] { decode_image(bomb, {}, "bomb.jpg"); }),
                 "bomb.jpg is cut off or damaged: its JPEG header promises 16192x16176 pixels, which do not fit"));
}

TEST_CASE("decode_image: too many scans") {
  // A progressive file whose last scan (header and data) comes again and again.
  const Bytes bytes = encode_jpeg({.width = 16, .height = 16, .progressive = true}, picture(16, 16, 3));
  const uint8_t scan[] = {0xFF, 0xDA};
  const auto last = std::find_end(bytes.begin(), bytes.end(), scan, scan + 2);
  Bytes many(bytes.begin(), bytes.end() - 2);
  for (int i = 0; i < 300; ++i) many.insert(many.end(), last, bytes.end() - 2);
  many.insert(many.end(), bytes.end() - 2, bytes.end());
  CHECK(contains(error_of([&] { decode_image(many, {.tolerate_damage = true}); }), "more than 200 scans"));
}

TEST_CASE("read_image: photos" * doctest::test_suite("needs flowers-mini")) {
  const std::string folder = shared_path("data/flowers-mini/train/daisy");
  if (folder.empty()) KUSARI_SKIP("no data/flowers-mini");
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const Bytes bytes = as_bytes(read_file(file.path().string()));
    CHECK(pixels(read_image(file.path().string())) == plain_decode_jpeg(bytes, JCS_RGB));
  }
}

#else

TEST_CASE("decode_image: a build without libjpeg-turbo says what is missing") {
  const Bytes bytes = {0xFF, 0xD8, 0xFF, 0xE0};
  CHECK_THROWS_WITH_AS(decode_image(bytes, {}, "a.jpg"),
                       "decode_image: a.jpg is a JPEG file, and this build has no libjpeg-turbo: install it (Debian: "
                       "libjpeg-dev) and build Kusari again (CMake option KUSARI_JPEG)",
                       IoError);
}

#endif

#ifdef KUSARI_WITH_PNG

namespace {

/// A sample's 8 bits.
int spread(int value, int depth) { return depth == 16 ? value >> 8 : value * 255 / ((1 << depth) - 1); }

}  // namespace

TEST_CASE("decode_image: PNG of every color type and depth, in every mode") {
  const int height = 11, width = 13;
  struct Case {
    int type;
    std::vector<int> depths;
  };
  for (const Case& c : {Case{PNG_COLOR_TYPE_GRAY, {1, 2, 4, 8, 16}},
                        {PNG_COLOR_TYPE_PALETTE, {1, 2, 4, 8}},
                        {PNG_COLOR_TYPE_RGB, {8, 16}},
                        {PNG_COLOR_TYPE_GRAY_ALPHA, {8, 16}},
                        {PNG_COLOR_TYPE_RGB_ALPHA, {8, 16}}}) {
    for (const int depth : c.depths) {
      for (const bool interlaced : {false, true}) {
        for (const bool transparent : {false, true}) {
          const bool palette = c.type == PNG_COLOR_TYPE_PALETTE, grey = c.type == PNG_COLOR_TYPE_GRAY;
          if (transparent && !palette && !grey) continue;
          CAPTURE(c.type);
          CAPTURE(depth);
          CAPTURE(interlaced);
          CAPTURE(transparent);
          const int channels = palette || grey                       ? 1
                               : c.type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                               : c.type == PNG_COLOR_TYPE_RGB        ? 3
                                                                     : 4;
          std::vector<uint16_t> samples;
          for (int i = 0; i < height * width * channels; ++i) {
            samples.push_back(static_cast<uint16_t>((i * 40503 >> 3) & ((1 << depth) - 1)));
          }
          PngSpec spec{
              .width = width, .height = height, .color_type = c.type, .depth = depth, .interlaced = interlaced};
          if (palette) {
            for (int i = 0; i < 1 << depth; ++i) {
              const auto value = [&](int k) { return static_cast<png_byte>(i * k + 7); };
              spec.palette.push_back({value(3), value(5), value(11)});
              if (transparent && i < 2) spec.palette_alpha.push_back(static_cast<uint8_t>(100 + i));
            }
          } else if (transparent) {
            spec.grey_key = samples[5];
          }
          const Bytes bytes = encode_png(spec, samples);

          Bytes rgba;  // what each pixel is
          for (int i = 0; i < height * width; ++i) {
            const uint16_t* s = &samples[static_cast<size_t>(i * channels)];
            int r, g, b, a = 255;
            if (palette) {
              const png_color& color = spec.palette[s[0]];
              r = color.red, g = color.green, b = color.blue;
              if (s[0] < spec.palette_alpha.size()) a = spec.palette_alpha[s[0]];
            } else if (channels < 3) {
              r = g = b = spread(s[0], depth);
              if (channels == 2) a = spread(s[1], depth);
              if (transparent && s[0] == spec.grey_key) a = 0;
            } else {
              r = spread(s[0], depth), g = spread(s[1], depth), b = spread(s[2], depth);
              if (channels == 4) a = spread(s[3], depth);
            }
            for (int value : {r, g, b, a}) rgba.push_back(static_cast<uint8_t>(value));
          }
          const bool color = palette || channels >= 3, alpha = transparent || channels == 2 || channels == 4;
          Bytes rgb, one, unchanged;
          for (size_t i = 0; i < rgba.size(); i += 4) {
            rgb.insert(rgb.end(), {rgba[i], rgba[i + 1], rgba[i + 2]});
            one.push_back(color ? grey_of(rgba[i], rgba[i + 1], rgba[i + 2]) : rgba[i]);
            unchanged.push_back(rgba[i]);
            if (color) unchanged.insert(unchanged.end(), {rgba[i + 1], rgba[i + 2]});
            if (alpha) unchanged.push_back(rgba[i + 3]);
          }
          CHECK(decode_image(bytes).shape() == Shape{3, height, width});
          CHECK(pixels(decode_image(bytes)) == rgb);
          CHECK(pixels(decode_image(bytes, {.mode = ImageMode::rgba})) == rgba);
          CHECK(pixels(decode_image(bytes, {.mode = ImageMode::unchanged})) == unchanged);
          CHECK(largest_difference(pixels(decode_image(bytes, {.mode = ImageMode::grey})), one) <= (color ? 1 : 0));
        }
      }
    }
  }
}

TEST_CASE("decode_image: orientation of PNG") {
  std::vector<uint16_t> samples;
  for (uint16_t i = 0; i < 5 * 3 * 2; ++i) samples.push_back(i);
  const Bytes bytes = encode_png(
      {.width = 5, .height = 3, .color_type = PNG_COLOR_TYPE_GRAY_ALPHA, .exif = exif_orientation(8, false)}, samples);
  const DecodeOptions unchanged{.mode = ImageMode::unchanged};
  const Array image = decode_image(bytes, unchanged);
  CHECK(image.shape() == Shape{2, 5, 3});
  CHECK(image.at(0).to_vector<int>() == std::vector<int>{8, 18, 28, 6, 16, 26, 4, 14, 24, 2, 12, 22, 0, 10, 20});
  CHECK(decode_image(bytes, {.mode = ImageMode::unchanged, .apply_orientation = false}).shape() == Shape{2, 3, 5});
}

TEST_CASE("decode_image: damaged PNG") {
  std::vector<uint16_t> samples;
  for (int i = 0; i < 40 * 30 * 3; ++i) samples.push_back(static_cast<uint16_t>(i * 2654435761U >> 24));
  const Bytes bytes = encode_png({.width = 40, .height = 30}, samples);
  for (size_t size = 8; size < bytes.size(); size += 7) {
    CAPTURE(size);
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const std::string error = error_of([&] { decode_image(cut, {}, "cut.png"); });
    CHECK(contains(error, "decode_image: cut.png is "));
    CHECK(contains(error, "damaged"));
  }
  const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2));
  CHECK(contains(error_of([&] { decode_image(cut, {}, "cut.png"); }), "of 30: the file ends too early"));
  const Bytes kept = pixels(decode_image(cut, {.tolerate_damage = true}));
  CHECK(kept.size() == samples.size());
  CHECK(std::equal(kept.begin(), kept.begin() + 40 * 3 * 5, samples.begin()));
  CHECK(kept.back() == 0);
  Bytes flipped = bytes;
  flipped[flipped.size() / 2] ^= 1;
  CHECK(contains(error_of([&] { decode_image(flipped, {}, "bad.png"); }), "bad.png is damaged in its PNG data"));
  CHECK(error_of([&] { decode_image(bytes, {.max_pixels = 1199}, "big.png"); }) ==
        "decode_image: big.png has 40x30 pixels, more than max_pixels (1199)");

  // A header that promises more than the bytes can hold.
  Bytes bomb = bytes;
  bomb[18] = bomb[22] = 0x3F;
  const uint32_t crc = static_cast<uint32_t>(crc32(0, &bomb[12], 17));
  for (size_t i = 0; i < 4; ++i) bomb[29 + i] = static_cast<uint8_t>(crc >> (24 - 8 * i));
  CHECK(contains(error_of([&] { decode_image(bomb, {}, "bomb.png"); }),
                 "bomb.png is cut off or damaged: its PNG header promises 16168x16158 pixels, which do not fit"));
}

#else

TEST_CASE("decode_image: a build without libpng says what is missing") {
  const Bytes bytes = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  CHECK_THROWS_WITH_AS(
      decode_image(bytes, {}, "a.png"),
      "decode_image: a.png is a PNG file, and this build has no libpng: install it (Debian: libpng-dev) "
      "and build Kusari again (CMake option KUSARI_PNG)",
      IoError);
}

#endif
