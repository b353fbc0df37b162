#include "kusari/framework/datasets/svhn.h"

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <zlib.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/mat_file.h"
#include "kusari/tests/scratch_directory.h"

using namespace kusari;
using namespace kusari::datasets;
using kusari::testing::read_file;
using kusari::testing::ScratchDirectory;
using kusari::testing::write_file;

namespace {

// Elements of MATLAB files as "MAT-File Format" (MathWorks) describes them.

std::string number(uint32_t value) { return {reinterpret_cast<const char*>(&value), sizeof(value)}; }

std::string element(uint32_t type, std::string data) {
  std::string result = number(type) + number(static_cast<uint32_t>(data.size())) + data;
  result.resize((result.size() + 7) / 8 * 8);
  return result;
}

/// Up to four bytes, in the short form.
std::string small_element(uint32_t type, std::string data) {
  const uint32_t size = static_cast<uint32_t>(data.size());
  data.resize(4);
  return number(size << 16 | type) + data;
}

std::string matrix(uint32_t array_class, const std::vector<int32_t>& sizes, const std::string& name, uint32_t type,
                   const std::string& values) {
  const std::string dimensions(reinterpret_cast<const char*>(sizes.data()), sizes.size() * sizeof(int32_t));
  const std::string label = name.size() <= 4 ? small_element(1, name) : element(1, name);
  return element(14,
                 element(6, number(array_class) + number(0)) + element(5, dimensions) + label + element(type, values));
}

std::string compressed(const std::string& content) {
  std::string out(compressBound(content.size()), '\0');
  uLongf size = out.size();
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(content.data()), content.size());
  return number(15) + number(static_cast<uint32_t>(size)) + out.substr(0, size);
}

std::string file(const std::string& elements) {
  std::string header = "MATLAB 5.0 MAT-file, written by a test";
  header.resize(124, ' ');
  return header + std::string("\0\1IM", 4) + elements;
}

constexpr uint32_t kInt8 = 1, kUint8 = 2, kInt16 = 3, kDouble = 9;
constexpr uint32_t kDoubleClass = 6, kUint8Class = 9, kInt16Class = 10, kCharClass = 4;

/// n images whose bytes are their index in MATLAB's order modulo 251, and labels 1 .. 10.
std::string svhn_file(int32_t n) {
  std::string pixels(static_cast<size_t>(n) * 3072, '\0'), labels(static_cast<size_t>(n), '\0');
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<char>(i % 251);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<char>(1 + i % 10);
  return file(compressed(matrix(kUint8Class, {32, 32, 3, n}, "X", kUint8, pixels)) +
              compressed(matrix(kDoubleClass, {n, 1}, "y", kUint8, labels)));
}

}  // namespace

TEST_CASE("read_mat: arrays, compressed and not") {
  const ScratchDirectory dir;
  const double numbers[] = {1.5, -2, 3, 4, 5, 6};
  const std::string doubles(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  const std::string a = matrix(kDoubleClass, {2, 3}, "a", kDouble, doubles);
  const std::string text = matrix(kCharClass, {1, 2}, "text", kUint8, "hi");
  const std::string longer = matrix(kInt16Class, {3, 1}, "longer_name", kInt8, std::string("\1\xff\3", 3));
  write_file(dir / "mat", file(a + text + compressed(longer) + compressed(a)));
  const auto arrays = read_mat(dir / "mat");
  REQUIRE(arrays.size() == 3);  // the text is passed over
  CHECK(arrays[0].first == "a");
  CHECK(arrays[0].second.shape() == Shape{2, 3});
  CHECK(arrays[0].second.dtype() == Dtype::float64);
  CHECK(arrays[0].second.to_vector<double>() == std::vector<double>{1.5, 3, 5, -2, 4, 6});
  CHECK(arrays[1].first == "longer_name");
  CHECK(arrays[1].second.dtype() == Dtype::int32);
  CHECK(arrays[1].second.to_vector<int>() == std::vector<int>{1, -1, 3});
  CHECK(arrays[2].second.to_vector<double>() == arrays[0].second.to_vector<double>());
  const int16_t wide[] = {300, -300, 7};
  const std::string wide_bytes(reinterpret_cast<const char*>(wide), sizeof(wide));
  write_file(dir / "mat", file(matrix(kUint8Class, {1, 3}, "narrow", kInt16, wide_bytes)));
  CHECK(read_mat(dir / "mat")[0].second.to_vector<int>() == std::vector<int>{255, 0, 7});
  write_file(dir / "mat", file(matrix(kDoubleClass, {0, 0}, "none", kDouble, "")));
  CHECK(read_mat(dir / "mat")[0].second.shape() == Shape{0, 0});
}

TEST_CASE("read_mat: files that are none") {
  const ScratchDirectory dir;
  const auto check = [&](const std::string& content, const char* message) {
    write_file(dir / "bad", content);
    CHECK_THROWS_WITH_AS(read_mat(dir / "bad"), doctest::Contains(message), IoError);
  };
  const std::string good = file(matrix(kUint8Class, {2, 2}, "x", kUint8, "abcd"));
  check("", "bad is no MATLAB file");
  check(std::string(200, 'x'), "bad is no MATLAB file");
  std::string other = good;
  std::swap(other[126], other[127]);
  check(other, "bad is big-endian or damaged: bytes 126 and 127 are not 'I', 'M'");
  other = good;
  other[125] = 2;
  check(other, "bad has version 2.0: 1.0 can be read (MATLAB 7.3 files are HDF5: save with -v7)");
  check(good.substr(0, good.size() - 9), "bad: the element at byte 0 is cut off: it needs 56 bytes, but there are 47");
  check(file(matrix(kUint8Class, {2, 3}, "x", kUint8, "abcd")),
        "bad: the array 'x' has shape (2, 3), which does not fit its 4 bytes");
  check(file(matrix(kUint8Class, {2, -3}, "x", kUint8, "abcd")), "has shape (2, -3), which does not fit");
  check(file(matrix(kUint8Class, {1 << 30, 1 << 30}, "x", kUint8, "abcd")), "which does not fit its 4 bytes");
  check(file(matrix(kUint8Class, {2, 2}, "x", 99, "abcd")), "the array 'x' has elements of type 99");
  check(file(matrix(kUint8Class, std::vector<int32_t>(9, 1), "x", kUint8, "a")), "has 9 axes: at most 8 can be read");
  const std::string zipped = file(compressed(matrix(kUint8Class, {2, 2}, "x", kUint8, "abcd")));
  check(zipped.substr(0, 136) + "rubbish" + zipped.substr(143), "a compressed element is damaged or cut off");
  check(file(element(14, "")), "the element at byte 0 is cut off");
}

TEST_CASE("SVHN: images and labels of small files") {
  const ScratchDirectory dir;
  write_file(dir / "train_32x32.mat", svhn_file(11));
  write_file(dir / "test_32x32.mat", svhn_file(2));
  const auto [train, test, extra] = get_svhn({.root = dir.path()});
  CHECK(train.size() == 11);
  CHECK(test.size() == 2);
  CHECK_FALSE(extra.has_value());
  CHECK(train.arrays()[0].shape() == Shape{11, 3, 32, 32});
  CHECK(train.arrays()[0].dtype() == Dtype::float32);
  CHECK(train.arrays()[0].is_channels_last());
  CHECK(train.arrays()[1].to_vector<int>() == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1});
  CHECK(train.arrays()[1].dtype() == Dtype::int32);

  const TupleDataset bytes = read_svhn(dir / "train_32x32.mat", {.dtype = Dtype::uint8});
  for (const auto [n, c, y, x] : {std::array<int64_t, 4>{0, 0, 0, 0}, {0, 0, 5, 7}, {3, 2, 31, 1}, {10, 1, 16, 30}}) {
    const int64_t place = y + 32 * (x + 32 * (c + 3 * n));  // MATLAB's order
    CHECK(bytes[n][0].at(c).at(y).at(x).item<int>() == place % 251);
    CHECK(train[n][0].at(c).at(y).at(x).item<float>() == doctest::Approx(static_cast<double>(place % 251) / 255));
  }
  CHECK(read_svhn(dir / "test_32x32.mat", {.with_label = false})[0].size() == 1);
  CHECK_THROWS_WITH_AS(read_svhn(dir / "test_32x32.mat", {.dtype = Dtype::int32}),
                       "get_svhn: dtype is int32: it must be floating or uint8", ValueError);
  CHECK_THROWS_WITH_AS(get_svhn({.add_extra = true, .root = dir.path()}),
                       doctest::Contains("get_svhn: no extra_32x32.mat is in the folder"), IoError);
}

TEST_CASE("SVHN: other files") {
  const ScratchDirectory dir;
  const auto check = [&](const std::string& content, const char* message) {
    write_file(dir / "bad", content);
    CHECK_THROWS_WITH_AS(read_svhn(dir / "bad"), doctest::Contains(message), IoError);
  };
  const std::string pixels(3072, 'x');
  const std::string x = matrix(kUint8Class, {32, 32, 3, 1}, "X", kUint8, pixels);
  check(file(matrix(kUint8Class, {1, 1}, "y", kUint8, "\1")), "bad has no array 'X'");
  check(file(x), "bad has no array 'y'");
  check(file(matrix(kUint8Class, {32, 96, 1}, "X", kUint8, pixels)),
        "bad: X has dtype uint8 and shape (32, 96, 1): uint8 and (32, 32, 3, n) are needed");
  check(file(x + matrix(kUint8Class, {2, 1}, "y", kUint8, "\1\2")), "bad: y has shape (2, 1): 1 labels");
  check(file(x + matrix(kUint8Class, {1, 1}, "y", kUint8, "\13")), "bad: y has 11.000000 at 0: labels are 1 .. 10");
}
