#include "kusari/framework/datasets/image/save_png.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <zlib.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/image/decode.h"
#include "kusari/tests/scratch_directory.h"

using namespace kusari;

namespace {

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("save_png: a file byte by byte") {
  const testing::ScratchDirectory dir;
  const std::string path = dir / "a.png";
  datasets::save_png(path, array<uint8_t>({1, 2, 3, 4, 5, 6}, {2, 3}));
  const std::string file = content(path);
  // The signature and IHDR with its CRC, which Python's zlib.crc32 gives.
  REQUIRE(file.size() > 41 + 12 + 12);
  CHECK(file.substr(0, 29) == std::string("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x03\0\0\0\x02\x08\0\0\0\0", 29));
  CHECK(file.substr(29, 4) == std::string("\xb8\x1f\x39\xc6", 4));
  CHECK(file.substr(37, 4) == "IDAT");
  CHECK(file.substr(file.size() - 12) == std::string("\0\0\0\0IEND\xae\x42\x60\x82", 12));
  // Each row is its filter's number, 0, and the samples.
  std::vector<unsigned char> rows(8);
  uLongf size = rows.size();
  REQUIRE(uncompress(rows.data(), &size, reinterpret_cast<const unsigned char*>(file.data()) + 41,
                     static_cast<uLong>(file.size() - 41 - 16)) == Z_OK);
  CHECK(rows == std::vector<unsigned char>{0, 1, 2, 3, 0, 4, 5, 6});
}

#ifdef KUSARI_WITH_PNG
TEST_CASE("save_png: libpng reads what it writes") {
  const testing::ScratchDirectory dir;
  const std::string path = dir / "a.png";
  const Array bytes = arange(3 * 5 * 7, Dtype::uint8).reshape({3, 5, 7});
  const auto read = [&] { return datasets::read_image(path, {.mode = datasets::ImageMode::unchanged}); };
  for (const Array& image : {bytes, bytes.channels_last(), bytes.slice(0, 1, 1), bytes.transpose({0, 2, 1})}) {
    CAPTURE(image.shape());
    datasets::save_png(path, image);
    CHECK(read().shape() == image.shape());
    CHECK(read().to_vector<int>() == image.to_vector<int>());
  }
  // Rounded to 255 steps, and what is outside of 0 .. 1 to the nearer end.
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const Array numbers = array<double>({0, 1, 0.5, 0.1, -3, 7, nan, infinity, -infinity}, {3, 3});
  for (const Dtype dtype : {Dtype::float64, Dtype::float32, Dtype::float16}) {
    CAPTURE(name(dtype));
    datasets::save_png(path, numbers.astype(dtype));
    CHECK(read().shape() == Shape{1, 3, 3});
    CHECK(read().to_vector<int>() ==
          std::vector<int>{0, 255, 128, dtype == Dtype::float16 ? 25 : 26, 0, 255, 0, 255, 0});
  }
}
#endif

TEST_CASE("save_png: what it refuses") {
  const testing::ScratchDirectory dir;
  const std::string path = dir / "a.png";
  CHECK_THROWS_WITH_AS(datasets::save_png(path, zeros({2, 2}, Dtype::int32)),
                       "save_png: image has dtype int32: it must be uint8 or floating", TypeError);
  CHECK_THROWS_WITH_AS(datasets::save_png(path, zeros({2, 4, 4})),
                       "save_png: image has shape (2, 4, 4): it must be (H, W), (1, H, W) or (3, H, W), not empty",
                       ValueError);
  CHECK_THROWS_AS(datasets::save_png(path, zeros({0, 4})), ValueError);
  CHECK_THROWS_AS(datasets::save_png(path, zeros({4})), ValueError);
  CHECK_THROWS_AS(datasets::save_png(dir / "absent/a.png", zeros({2, 2})), IoError);
}
