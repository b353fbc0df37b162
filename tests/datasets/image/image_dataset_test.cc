#include "kusari/framework/datasets/image/image_dataset.h"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/image/class_image_dataset.h"
#include "kusari/framework/datasets/image/zipped_image_dataset.h"
#include "kusari/tests/datasets/image/codecs.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/tests/scratch_directory.h"

#ifdef KUSARI_WITH_PNG

using namespace kusari;
using namespace kusari::datasets;
using namespace kusari::testing;

namespace {

/// A grey PNG file of 2 x 3 pixels: value, value + 1, ...
std::string grey_png(int value) {
  std::vector<uint16_t> samples;
  for (int i = 0; i < 6; ++i) samples.push_back(static_cast<uint16_t>(value + i));
  return as_string(encode_png({.width = 3, .height = 2, .color_type = PNG_COLOR_TYPE_GRAY}, samples));
}

std::string rgb_png(int value) {
  std::vector<uint16_t> samples;
  for (int i = 0; i < 2 * 3 * 3; ++i) samples.push_back(static_cast<uint16_t>(value + i));
  return as_string(encode_png({.width = 3, .height = 2}, samples));
}

void write_zip(const std::string& path, const std::vector<std::pair<std::string, std::string>>& files) {
  AtomicFile file(path);
  serializers::ZipWriter zip(file);
  for (const auto& [name, content] : files) zip.add(name, content);
  zip.finish();
  file.commit();
}

}  // namespace

TEST_CASE("ImageDataset: paths, a list file, dtypes and layout") {
  const ScratchDirectory dir;
  write_file(dir / "a.png", grey_png(10));
  write_file(dir / "b b.png", rgb_png(20));
  write_file(dir / "list.txt", "a.png\r\n\n  b b.png  \n");
  for (const ImageDataset& dataset :
       {ImageDataset({"a.png", "b b.png"}, {.root = dir.path()}), ImageDataset(dir / "list.txt", {.root = dir.path()}),
        ImageDataset(std::vector<std::string>{dir / "a.png", dir / "b b.png"})}) {
    REQUIRE(dataset.size() == 2);
    const Example grey = dataset[0], rgb = dataset[-1];
    CHECK(grey.size() == 1);
    CHECK(grey[0].shape() == Shape{1, 2, 3});
    CHECK(grey[0].dtype() == Dtype::float32);
    CHECK(grey[0].to_vector<int>() == std::vector<int>{10, 11, 12, 13, 14, 15});
    CHECK(rgb[0].shape() == Shape{3, 2, 3});
    CHECK(rgb[0].strides() == Strides{1, 9, 3});
    CHECK(rgb[0].at(1).to_vector<int>() == std::vector<int>{21, 24, 27, 30, 33, 36});
    CHECK(dataset.broken() == 0);
    CHECK_THROWS_AS(dataset.get(2), IndexError);
  }
  const ImageDataset bytes({"a.png", "b b.png"},
                           {.root = dir.path(), .dtype = Dtype::uint8, .decode = {.mode = ImageMode::rgb}});
  CHECK(bytes[0][0].dtype() == Dtype::uint8);
  CHECK(bytes[0][0].shape() == Shape{3, 2, 3});
  CHECK(bytes[0][0].strides() == Strides{1, 9, 3});
  CHECK_THROWS_WITH_AS(ImageDataset(dir / "none.txt"),
                       ("ImageDataset: " + (dir / "none.txt") + " cannot be opened: No such file or directory").c_str(),
                       IoError);
}

TEST_CASE("data sets of images take paths in braces") {
  const ScratchDirectory dir;
  write_file(dir / "a.png", grey_png(10));
  CHECK(ImageDataset({"a.png", "a.png"}, {.root = dir.path()}).size() == 2);
  CHECK(ImageDataset({"a.png"}, {.root = dir.path()}).size() == 1);
  CHECK(LabeledImageDataset({{"a.png", 1}}, {.root = dir.path()})[0][1].item<int>() == 1);
  CHECK(LabeledImageDataset({{"a.png", 1}, {"a.png", 2}}, {.root = dir.path()})[1][1].item<int>() == 2);
  CHECK_THROWS_AS(TarImageDataset({"none.tar", "none either.tar"}), IoError);
  CHECK_THROWS_AS(MultiZippedImageDataset({"none.zip", "none either.zip"}), IoError);
}

TEST_CASE("EncodedImageDataset: several threads at once") {
  const ScratchDirectory dir;
  const QuietLog quiet;
  std::string tar;
  constexpr int kFiles = 40;
  for (int i = 0; i < kFiles; ++i) {
    tar += tar_member("c/" + std::to_string(i) + ".png", i % 10 == 3 ? "no image" : rgb_png(i));
  }
  write_file(dir / "a.tar", tar + tar_end());
  const TarImageDataset dataset(dir / "a.tar", {.skip_broken = true});
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int k = 0; k < 5 * kFiles; ++k) {
        const int i = (k * 7 + static_cast<int>(t)) % kFiles, read = i % 10 == 3 ? i + 1 : i;
        wrong[t] += dataset.get(i)[0].at(0).at(0).at(0).item<int>() != read;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
  CHECK(dataset.broken() == kFiles / 10);
}

TEST_CASE("LabeledImageDataset: pairs and list files") {
  const ScratchDirectory dir;
  write_file(dir / "a.png", grey_png(10));
  write_file(dir / "b b.png", grey_png(20));
  write_file(dir / "list.txt", "a.png 7\nb b.png\t-1\n");
  const std::vector<std::pair<std::string, int64_t>> pairs = {{"a.png", 7}, {"b b.png", -1}};
  for (const LabeledImageDataset& dataset : {LabeledImageDataset(pairs, {.root = dir.path()}),
                                             LabeledImageDataset(dir / "list.txt", {.root = dir.path()})}) {
    REQUIRE(dataset.size() == 2);
    const Example example = dataset[1];
    REQUIRE(example.size() == 2);
    CHECK(example[0].at(0).at(0).at(0).item<int>() == 20);
    CHECK(example[1].shape() == Shape{});
    CHECK(example[1].dtype() == Dtype::int32);
    CHECK(example[1].item<int>() == -1);
    CHECK(dataset[0][1].item<int>() == 7);
  }
  CHECK(LabeledImageDataset({{"a.png", 7}}, {.root = dir.path(), .label_dtype = Dtype::float32})[0][1].dtype() ==
        Dtype::float32);
  for (const char* line : {"b.png", "b.png x", "b.png 1.5", "b.png 1x"}) {
    write_file(dir / "bad.txt", std::string("a.png 1\n") + line + "\n");
    CHECK_THROWS_WITH_AS(LabeledImageDataset(dir / "bad.txt"),
                         ("LabeledImageDataset: line 2 of " + (dir / "bad.txt") + " is '" + line +
                          "': a path and an integer label are needed")
                             .c_str(),
                         ValueError);
  }
}

TEST_CASE("ImageDataset: files that cannot be read") {
  const ScratchDirectory dir;
  const QuietLog quiet;
  const std::string good = grey_png(1);
  write_file(dir / "cut.png", good.substr(0, good.size() - 20));
  write_file(dir / "text.png", "text");
  write_file(dir / "good.png", good);
  write_file(dir / "other.png", grey_png(2));
  const std::vector<std::pair<std::string, int64_t>> pairs = {{"cut.png", 0},  {"good.png", 1},  {"none.png", 2},
                                                              {"text.png", 3}, {"other.png", 4}, {"text.png", 5}};
  const LabeledImageDataset strict(pairs, {.root = dir.path()});
  CHECK_THROWS_WITH_AS(strict.get(3),
                       ("decode_image: " + (dir / "text.png") + " is neither a JPEG nor a PNG file").c_str(), IoError);
  CHECK_THROWS_WITH_AS(
      strict.get(2),
      ("LabeledImageDataset: " + (dir / "none.png") + " cannot be opened: No such file or directory").c_str(), IoError);
  CHECK_THROWS_AS(strict.get(0), IoError);
  CHECK(strict.broken() == 0);

  const LabeledImageDataset lenient(pairs, {.root = dir.path(), .skip_broken = true});
  CHECK(lenient.size() == 6);
  const int expected[] = {1, 1, 4, 4, 4, 1};  // the next that can be read, with its own label
  for (int round = 0; round < 2; ++round) {
    for (int64_t i = 0; i < 6; ++i) {
      const Example example = lenient[i];
      CHECK(example[1].item<int>() == expected[i]);
      CHECK(example[0].at(0).at(0).at(0).item<int>() == (expected[i] == 1 ? 1 : 2));
    }
    CHECK(lenient.broken() == 4);
  }
  CHECK_THROWS_WITH_AS(ImageDataset({"none.png", "text.png"}, {.root = dir.path(), .skip_broken = true})[0],
                       "EncodedImageDataset::get: none of the 2 files can be read", IoError);
}

TEST_CASE("ZippedImageDataset and its relatives") {
  const ScratchDirectory dir;
  write_zip(dir / "one.zip", {{"folder/", ""}, {"folder/a.png", grey_png(10)}, {"b.png", grey_png(20)}});
  write_zip(dir / "two.zip", {{"c c.png", grey_png(30)}});
  const auto first = [](const Example& example) { return example[0].at(0).at(0).at(0).item<int>(); };
  const ZippedImageDataset one(dir / "one.zip");
  REQUIRE(one.size() == 2);
  CHECK(one[0].size() == 1);
  CHECK(first(one[0]) == 10);
  CHECK(first(one[1]) == 20);
  CHECK(one.name(0) == (dir / "one.zip") + ": entry 'folder/a.png'");
  const MultiZippedImageDataset both({dir / "one.zip", dir / "two.zip"}, {.dtype = Dtype::uint8});
  REQUIRE(both.size() == 3);
  CHECK(first(both[2]) == 30);
  CHECK(both[2][0].dtype() == Dtype::uint8);

  write_file(dir / "labels.txt", "b.png 3\nfolder/a.png 4\nb.png 5\n");
  const LabeledZippedImageDataset labeled(dir / "one.zip", dir / "labels.txt");
  REQUIRE(labeled.size() == 3);
  CHECK(first(labeled[0]) == 20);
  CHECK(labeled[0][1].item<int>() == 3);
  CHECK(first(labeled[1]) == 10);
  CHECK(labeled[2][1].item<int>() == 5);
  write_file(dir / "labels.txt", "x.png 3\n");
  CHECK_THROWS_WITH_AS(LabeledZippedImageDataset(dir / "one.zip", dir / "labels.txt"),
                       ("LabeledZippedImageDataset: " + (dir / "one.zip") +
                        " has no entry 'x.png', which is in the list " + (dir / "labels.txt"))
                           .c_str(),
                       IoError);
  write_zip(dir / "bad.zip", {{"text.png", "text"}});
  CHECK_THROWS_WITH_AS(
      ZippedImageDataset(dir / "bad.zip")[0],
      ("decode_image: " + (dir / "bad.zip") + ": entry 'text.png' is neither a JPEG nor a PNG file").c_str(), IoError);
}

#endif
