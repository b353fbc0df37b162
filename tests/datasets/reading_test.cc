#include "kusari/framework/datasets/reading.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <zlib.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/download.h"
#include "kusari/framework/datasets/idx.h"
#include "kusari/framework/datasets/image/cifar.h"
#include "kusari/framework/datasets/image/class_image_dataset.h"
#include "kusari/framework/datasets/mat_file.h"
#include "kusari/framework/datasets/mnist.h"
#include "kusari/framework/datasets/svhn.h"
#include "kusari/framework/datasets/tar.h"
#include "kusari/framework/datasets/text/corpus.h"
#include "kusari/framework/datasets/text/text_dataset.h"
#include "kusari/tests/core/child_process.h"
#include "kusari/tests/scratch_directory.h"

using namespace kusari;
using namespace kusari::datasets;
using kusari::testing::ScratchDirectory;
using kusari::testing::write_file;

namespace {

std::string gzipped(const std::string& content) {
  z_stream z = {};
  REQUIRE(deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&z, static_cast<uLong>(content.size())), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

constexpr size_t kPiece = size_t{32} << 20;

/// A gzip file of some hundred kilobytes for 4 GiB: `head`, then `pattern` again and again.
std::string bomb(const std::string& head, const std::string& pattern) {
  std::string piece;
  while (piece.size() < kPiece) piece += pattern;
  const std::string member = gzipped(piece);
  std::string file = gzipped(head);
  for (int i = 0; i < 128; ++i) file += member;
  return file;
}

std::string tar_header(uint64_t size) {
  std::string block(512, '\0');
  block.replace(0, 4, "file");
  char digits[13];
  std::snprintf(digits, sizeof digits, "%011llo", static_cast<unsigned long long>(size));
  block.replace(124, 12, digits, 12);
  block[156] = '0';
  block.replace(257, 6, std::string("ustar\0", 6));
  block.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  std::snprintf(digits, sizeof digits, "%06o", sum);
  block.replace(148, 8, std::string(digits, 6) + std::string("\0 ", 2));
  return block;
}

void check_io_error(const char* what, const std::string& path, const std::function<void()>& read) {
  CAPTURE(what);
  try {
    read();
    FAIL_CHECK("there was no error");
  } catch (const IoError& error) {
    CHECK(std::string(error.what()).find(path) != std::string::npos);
  } catch (const std::exception& error) {
    FAIL_CHECK(error.what());
  }
}

}  // namespace

TEST_CASE("with little memory" * doctest::skip()) {
  const ScratchDirectory dir;
  const std::string path = dir / "bomb.gz";
  write_file(path, bomb("", "a "));
  check_io_error("words", path, [&] { read_words(path); });
  check_io_error("word corpus", path, [&] { read_word_corpus({path}); });
  check_io_error("characters", path, [&] { read_characters(path); });
  check_io_error("character corpus", path, [&] { read_character_corpus({path}); });
  write_file(path, bomb("", std::string(3073, '\0')));
  check_io_error("cifar10", path, [&] { read_cifar10(path); });
  check_io_error("cifar100", path, [&] { read_cifar100(path); });
  // Two axes of 2^16 - 1: what the header promises has no room either.
  write_file(path, bomb(std::string("\0\0\x08\x02\0\0\xff\xff\0\0\xff\xff", 12), std::string(64, '\0')));
  check_io_error("idx", path, [&] { read_idx(path); });
  write_file(path, bomb(tar_header(uint64_t{4} << 30), std::string(64, '\0')));
  check_io_error("TarArchive", path, [&] { TarArchive{path}; });
  check_io_error("TarImageDataset", path, [&] { TarImageDataset{path}; });
  check_io_error("TarReader", path, [&] {
    TarReader reader(path);
    std::vector<uint8_t> content;
    while (reader.next()) reader.read(content);
  });
}

TEST_CASE("readers of files that expand beyond the memory throw IoError") {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return;  // they take all addresses for themselves
#endif
  const kusari::testing::ChildResult result =
      kusari::testing::run_in_child("sh -c 'ulimit -v 1200000; exec \"$0\" \"$@\"'", "with little memory");
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK(result.output.find("1 passed") != std::string::npos);
}

TEST_CASE("read_idx reads no more than its header promises") {
  const ScratchDirectory dir;
  const std::string path = dir / "bomb.gz";
  std::string file = gzipped(std::string("\0\0\x08\x01\0\0\0\x08", 8) + std::string(40, 'x'));
  const std::string piece = gzipped(std::string(4 << 20, '\0'));
  for (int i = 0; i < 8; ++i) file += piece;
  write_file(path, file + "no gzip data");  // would be found to be damaged if it came to that
  CHECK_THROWS_WITH_AS(read_idx(path), doctest::Contains("holds more than 1048592 bytes"), IoError);
}

#if !defined(__SANITIZE_ADDRESS__)  // whose operator new ends the program instead
TEST_CASE("files larger than the memory are IoErrors") {
  const ScratchDirectory dir;
  const std::string path = dir / "sparse";
  write_file(path, "MATLAB");
  std::error_code error;
  std::filesystem::resize_file(path, uint64_t{1} << 43, error);
  if (error) return;  // the file system has no room for it
  check_io_error("read_mat", path, [&] { read_mat(path); });
  check_io_error("read_svhn", path, [&] { read_svhn(path); });
}
#endif

TEST_CASE("folders that cannot be searched are as if they had no files") {
  const ScratchDirectory dir;
  const std::string unreadable = dir / std::string(300, 'x');  // longer than names may be
  check_io_error("cifar10", unreadable, [&] { get_cifar10({.root = unreadable}); });
  check_io_error("mnist", unreadable, [&] { get_mnist({.root = unreadable}); });
  check_io_error("svhn", unreadable, [&] { get_svhn({.root = unreadable}); });
  check_io_error("ImageFolderDataset", unreadable, [&] { ImageFolderDataset{unreadable}; });
  check_io_error("TextDataset", unreadable, [&] { TextDataset{unreadable}; });
  set_dataset_root(unreadable);
  check_io_error("cached_download", unreadable, [&] { cached_download({"file:///none"}, "some/file"); });
  check_io_error("get_dataset_directory", unreadable, [&] { get_dataset_directory("some"); });
  set_dataset_root("");
}

TEST_CASE("data sets are downloaded over https where that is to be had") {
  const ScratchDirectory dir;
  set_dataset_root(dir / "root");
  // Nobody listens there.
  for (const char* proxy : {"http_proxy", "https_proxy"}) setenv(proxy, "http://127.0.0.1:9", 1);
  const auto check = [&](const char* name, const std::function<void()>& get) {
    CAPTURE(name);
    try {
      get();
      FAIL_CHECK("there was no error");
    } catch (const IoError& error) {
      const std::string text = error.what();
      CAPTURE(text);
      const size_t plain = text.find("\n  http://"), secure = text.find("\n  https://");
      CHECK(secure != std::string::npos);
      CHECK(secure < plain);
    }
  };
  const char* const home = std::getenv("HOME");
  const std::string before = home != nullptr ? home : "";
  setenv("HOME", (dir / "home").c_str(), 1);
  check("mnist", [] { get_mnist(); });
  check("fashion", [] { get_fashion_mnist(); });
  check("kuzushiji", [] { get_kuzushiji_mnist(); });
  check("svhn", [] { get_svhn(); });
  check("cifar", [] { get_cifar10(); });
  for (const char* proxy : {"http_proxy", "https_proxy"}) unsetenv(proxy);
  if (home != nullptr) setenv("HOME", before.c_str(), 1);
  set_dataset_root("");
}
