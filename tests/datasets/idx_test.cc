#include "kusari/framework/datasets/idx.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <zlib.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/gzip.h"
#include "kusari/tests/scratch_directory.h"

using namespace kusari;
using namespace kusari::datasets;
using kusari::testing::read_file;
using kusari::testing::ScratchDirectory;
using kusari::testing::write_file;

namespace {

std::string bytes(std::initializer_list<int> values) {
  std::string s;
  for (int v : values) s.push_back(static_cast<char>(v));
  return s;
}

void write_gzip(const std::string& path, const std::string& content, const char* mode = "wb") {
  gzFile file = gzopen(path.c_str(), mode);
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
}

}  // namespace

TEST_CASE("read_maybe_gzip: plain, gzipped, several members") {
  const ScratchDirectory dir;
  const std::string text(1000000, 'k');
  write_file(dir / "plain", text);
  write_gzip(dir / "zipped", text);
  CHECK(read_maybe_gzip(dir / "plain") == text);
  CHECK(read_maybe_gzip(dir / "zipped") == text);
  write_gzip(dir / "zipped", "more", "ab");
  CHECK(read_maybe_gzip(dir / "zipped") == text + "more");
  write_file(dir / "empty", "");
  CHECK(read_maybe_gzip(dir / "empty") == "");
  CHECK_THROWS_WITH_AS(read_maybe_gzip(dir / "none"), doctest::Contains("none cannot be opened: No such file"),
                       IoError);
  CHECK_THROWS_WITH_AS(read_maybe_gzip(dir / "zipped", 1000), doctest::Contains("more than 1000 bytes"), IoError);
  CHECK_THROWS_WITH_AS(read_maybe_gzip(dir / "plain", 1000), doctest::Contains("larger than 1000 bytes"), IoError);
}

TEST_CASE("read_maybe_gzip: truncation and damage are errors") {
  const ScratchDirectory dir;
  write_gzip(dir / "a", "some text, some more text");
  const std::string whole = read_file(dir / "a");
  for (size_t n = 2; n < whole.size(); ++n) {
    CAPTURE(n);
    write_file(dir / "cut", whole.substr(0, n));
    CHECK_THROWS_WITH_AS(read_maybe_gzip(dir / "cut"), doctest::Contains("is cut off"), IoError);
  }
  std::string bad = whole;
  bad[whole.size() - 8] = static_cast<char>(bad[whole.size() - 8] ^ 1);  // CRC-32
  write_file(dir / "bad", bad);
  CHECK_THROWS_WITH_AS(read_maybe_gzip(dir / "bad"), doctest::Contains("is damaged"), IoError);
}

TEST_CASE("read_idx: types, axes, gzip") {
  const ScratchDirectory dir;
  const std::string small = bytes({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255});
  write_file(dir / "a", small);
  write_gzip(dir / "a.gz", small);
  for (const char* name : {"a", "a.gz"}) {
    const Array x = read_idx(dir / name);
    CHECK(x.dtype() == Dtype::uint8);
    CHECK(x.shape() == Shape{2, 3});
    CHECK(x.to_vector<int>() == std::vector<int>{1, 2, 3, 4, 5, 255});
  }
  write_file(dir / "i1", bytes({0, 0, 9, 1, 0, 0, 0, 1, 255}));
  CHECK(read_idx(dir / "i1").to_vector<int>() == std::vector<int>{-1});
  write_file(dir / "i2", bytes({0, 0, 11, 1, 0, 0, 0, 2, 1, 0, 255, 254}));
  CHECK(read_idx(dir / "i2").to_vector<int>() == std::vector<int>{256, -2});
  write_file(dir / "i4", bytes({0, 0, 12, 1, 0, 0, 0, 1, 0, 1, 0, 0}));
  CHECK(read_idx(dir / "i4").to_vector<int>() == std::vector<int>{65536});
  write_file(dir / "f4", bytes({0, 0, 13, 0, 0x3f, 0xc0, 0, 0}));
  CHECK(read_idx(dir / "f4").item<float>() == 1.5f);
  write_file(dir / "f8", bytes({0, 0, 14, 1, 0, 0, 0, 1, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0}));
  CHECK(read_idx(dir / "f8").to_vector<double>() == std::vector<double>{1.5});
  write_file(dir / "none", bytes({0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0, 28}));
  CHECK(read_idx(dir / "none").shape() == Shape{0, 28});
}

TEST_CASE("read_idx: files that are none") {
  const ScratchDirectory dir;
  const auto check = [&](const std::string& content, const char* message) {
    write_file(dir / "bad", content);
    CHECK_THROWS_WITH_AS(read_idx(dir / "bad"), doctest::Contains(message), IoError);
  };
  check("", "is no IDX file");
  check("<html>404</html>", "is no IDX file");
  check(bytes({0, 0, 10, 1, 0, 0, 0, 0}), "is no IDX file");
  check(bytes({0, 0, 8, 9}), "has 9 axes: at most 8 can be read");
  check(bytes({0, 0, 8, 2, 0, 0, 0, 1}), "is cut off in its header");
  check(bytes({0, 0, 8, 1, 0, 0, 0, 4, 1, 2, 3}),
        "has shape (4,) in its header, which does not fit its 3 bytes of data");
  check(bytes({0, 0, 8, 1, 0, 0, 0, 2, 1, 2, 3}),
        "has shape (2,) in its header, which does not fit its 3 bytes of data");
  std::string huge = bytes({0, 0, 8, 8, 0, 0, 0, 0});
  huge += std::string(28, '\xff');
  check(huge, "does not fit its 0 bytes of data");
}
