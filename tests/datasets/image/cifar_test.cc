#include "kusari/framework/datasets/image/cifar.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/datasets/image/codecs.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/shared_data.h"
#include "kusari/tests/skip.h"

using namespace kusari;
using namespace kusari::datasets;
using namespace kusari::testing;

namespace {

int value_at(int record, int c, int y, int x) { return (record * 31 + c * 100 + y * 7 + x) % 256; }

/// Records first, first + 1, ...: label bytes, then planes.
std::string records(int first, int count, const std::vector<std::string>& labels) {
  std::string bytes;
  for (int r = 0; r < count; ++r) {
    bytes += labels[static_cast<size_t>(r)];
    for (int i = 0; i < 3072; ++i) {
      bytes.push_back(static_cast<char>(value_at(first + r, i / 1024, i / 32 % 32, i % 32)));
    }
  }
  return bytes;
}

/// The six files of CIFAR-10, with 1, 2, .. records; the fourth and the test file gzipped.
void write_cifar10(const std::string& folder) {
  int first = 0;
  for (int i = 1; i <= 5; ++i) {
    std::vector<std::string> labels;
    for (int r = 0; r < i; ++r) labels.push_back(std::string(1, static_cast<char>((first + r) % 10)));
    const std::string bytes = records(first, i, labels), name = folder + "/data_batch_" + std::to_string(i) + ".bin";
    write_file(i == 4 ? name + ".gz" : name, i == 4 ? gzip(bytes) : bytes);
    first += i;
  }
  write_file(folder + "/test_batch.bin.gz", gzip(records(100, 2, {"\x09", std::string(1, '\0')})));
}

}  // namespace

TEST_CASE("get_cifar10: files, shapes, scale and dtype") {
  const ScratchDirectory dir;
  write_cifar10(dir.path());
  {
    const auto [train, test] = get_cifar10({.root = dir.path()});
    CHECK(train.size() == 15);
    CHECK(test.size() == 2);
    for (int r = 0; r < 15; ++r) {
      const Example example = train[r];
      CHECK(example[0].shape() == Shape{3, 32, 32});
      CHECK(example[0].dtype() == Dtype::float32);
      CHECK(example[0].strides() == Strides{1, 96, 3});
      CHECK(example[1].dtype() == Dtype::int32);
      CHECK(example[1].item<int>() == r % 10);
      // chainer/datasets/cifar.py: astype(float32), then times scale / 255.
      for (int c = 0; c < 3; ++c) {
        CHECK(example[0].at(c).at(5).at(9).item<float>() ==
              static_cast<float>(value_at(r, c, 5, 9)) * static_cast<float>(1.0 / 255));
      }
    }
    CHECK(test[0][1].item<int>() == 9);
    CHECK(test[1][0].at(2).at(31).at(31).item<float>() ==
          static_cast<float>(value_at(101, 2, 31, 31)) * static_cast<float>(1.0 / 255));
  }
  const auto flat = get_cifar10({.with_label = false, .ndim = 1, .scale = 255.0, .root = dir.path()});
  CHECK(flat.train[0].size() == 1);
  CHECK(flat.train[3][0].shape() == Shape{3072});
  CHECK(flat.train[3][0].at(1024 + 32 * 5 + 9).item<float>() ==
        doctest::Approx(static_cast<float>(value_at(3, 1, 5, 9))));
  const auto bytes = get_cifar10({.dtype = Dtype::uint8, .root = dir.path()});
  CHECK(bytes.test[1][0].at(1).at(2).at(3).item<int>() == value_at(101, 1, 2, 3));
  const auto wide = get_cifar10({.ndim = 1, .dtype = Dtype::float64, .root = dir.path()});
  CHECK(wide.test[1][0].at(7).item<double>() == value_at(101, 0, 0, 7) * (1.0 / 255));
  const auto half = get_cifar10({.dtype = Dtype::float16, .root = dir.path()});
  CHECK(half.test[1][0].dtype() == Dtype::float16);
  CHECK(half.test[1][0].strides() == Strides{1, 96, 3});
  CHECK_THROWS_WITH_AS(get_cifar10({.ndim = 2, .root = dir.path()}), "get_cifar10: ndim is 2: it must be 1 or 3",
                       ValueError);
  CHECK_THROWS_WITH_AS(get_cifar10({.dtype = Dtype::int32, .root = dir.path()}),
                       "get_cifar10: dtype is int32: it must be floating or uint8", ValueError);
}

TEST_CASE("get_cifar10: where the files are") {
  const ScratchDirectory dir;
  std::filesystem::create_directory(dir / "cifar-10-batches-bin");
  write_cifar10(dir / "cifar-10-batches-bin");
  CHECK(get_cifar10({.root = dir.path()}).train.size() == 15);

  const ScratchDirectory archive;
  std::string tar = tar_member("cifar-10-batches-bin/", "", '5') + tar_member("cifar-10-batches-bin/readme.html", "x");
  for (const int batch : {1, 2, 3, 5, 6, 4}) {  // 6: the test batch
    const std::string name = batch == 6 ? "test_batch" : "data_batch_" + std::to_string(batch);
    tar += tar_member("cifar-10-batches-bin/" + name + ".bin", records(batch, 1, {"\x02"}));
  }
  write_file(archive / "cifar-10-binary.tar.gz", gzip(tar + tar_end()));
  const auto [train, test] = get_cifar10({.root = archive.path()});
  REQUIRE(train.size() == 5);
  CHECK(test.size() == 1);
  for (int i = 0; i < 5; ++i) {
    CHECK(train[i][0].at(0).at(0).at(0).item<float>() ==
          static_cast<float>(value_at(i + 1, 0, 0, 0)) * static_cast<float>(1.0 / 255));
  }
  write_file(archive / "cifar-10-binary.tar.gz", gzip(tar_member("test_batch.bin", "x") + tar_end()));
  CHECK_THROWS_WITH_AS(get_cifar10({.root = archive.path()}),
                       ("get_cifar10: " + (archive / "cifar-10-binary.tar.gz") + " has no data_batch_1.bin").c_str(),
                       IoError);
  const ScratchDirectory none;
  CHECK_THROWS_WITH_AS(
      get_cifar10({.root = none.path()}),
      ("get_cifar10: neither data_batch_1.bin nor cifar-10-batches-bin nor cifar-10-binary.tar.gz is in "
       "the folder " +
       none.path())
          .c_str(),
      IoError);
  write_file(none / "data_batch_2.bin", records(0, 1, {"\x01"}));
  CHECK_THROWS_WITH_AS(
      get_cifar10({.root = none.path()}),
      ("get_cifar10: neither data_batch_1.bin nor data_batch_1.bin.gz is in the folder " + none.path() +
       ", which has " + (none / "data_batch_2.bin") + " (read_cifar10 reads single files)")
          .c_str(),
      IoError);
}

TEST_CASE("get_cifar100: fine labels") {
  const ScratchDirectory dir;
  write_file(dir / "train.bin", records(0, 3, {std::string("\x05\x63", 2), std::string("\x00\x00", 2), "\x13\x07"}));
  write_file(dir / "test.bin", records(9, 1, {"\x01\x21"}));
  const auto [train, test] = get_cifar100({.root = dir.path()});
  REQUIRE(train.size() == 3);
  CHECK(train[0][1].item<int>() == 99);
  CHECK(train[2][1].item<int>() == 7);
  CHECK(test[0][1].item<int>() == 0x21);
  CHECK(test[0][0].at(1).at(1).at(1).item<float>() ==
        static_cast<float>(value_at(9, 1, 1, 1)) * static_cast<float>(1.0 / 255));
  CHECK(read_cifar100(dir / "train.bin").size() == 3);
}

TEST_CASE("read_cifar10: damaged files") {
  const ScratchDirectory dir;
  const std::string path = dir / "x.bin", good = records(0, 2, {"\x01", "\x02"});
  write_file(path, good);
  CHECK(read_cifar10(path).size() == 2);
  write_file(path, good.substr(0, good.size() - 1));
  CHECK_THROWS_WITH_AS(read_cifar10(path),
                       ("read_cifar10: " + path +
                        " has 6145 bytes: records of 3073 bytes are needed (the file is cut off or of another kind)")
                           .c_str(),
                       IoError);
  write_file(path, "");
  CHECK_THROWS_AS(read_cifar10(path), IoError);
  write_file(path, records(0, 2, {"\x01", "\x0a"}));
  CHECK_THROWS_WITH_AS(read_cifar10(path),
                       ("read_cifar10: " + path + " has label 10 in record 1: labels are 0 .. 9").c_str(), IoError);
  const std::string zipped = gzip(good);
  write_file(path, zipped.substr(0, zipped.size() / 2));
  CHECK_THROWS_AS(read_cifar10(path), IoError);
  CHECK_THROWS_AS(read_cifar10(dir / "none.bin"), IoError);
}

TEST_CASE("read_cifar10: real files" * doctest::test_suite("needs cifar-10")) {
  const std::string folder = shared_path("data/cifar-10-batches-bin");
  if (folder.empty()) KUSARI_SKIP("no data/cifar-10-batches-bin");
  const TupleDataset train = read_cifar10(folder + "/data_batch_1.bin.gz", {.dtype = Dtype::uint8});
  CHECK(train.size() == 5000);
  std::vector<int> count(10);
  for (int64_t i = 0; i < train.size(); ++i) ++count[static_cast<size_t>(train[i][1].item<int>())];
  CHECK(count == std::vector<int>(10, 500));
  CHECK(read_cifar10(folder + "/test_batch.bin.gz").size() == 1000);
}
