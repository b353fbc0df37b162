#include "kusari/framework/datasets/image/class_image_dataset.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/gzip.h"
#include "kusari/tests/datasets/image/codecs.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/shared_data.h"
#include "kusari/tests/skip.h"

using namespace kusari;
using namespace kusari::datasets;
using namespace kusari::testing;

#ifdef KUSARI_WITH_PNG

namespace {

std::string png(int value) {
  return as_string(
      encode_png({.width = 1, .height = 1, .color_type = PNG_COLOR_TYPE_GRAY}, {static_cast<uint16_t>(value)}));
}

/// "value/label" of every example.
std::string summary(const Dataset& dataset) {
  std::string text;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const Example example = dataset.get(i);
    CHECK(example[0].shape() == Shape{1, 1, 1});
    text += std::to_string(example[0].item<int>()) + "/" + std::to_string(example[1].item<int>()) + " ";
  }
  return text;
}

}  // namespace

TEST_CASE("ImageFolderDataset: classes are folders, sorted by name") {
  const ScratchDirectory dir;
  for (const char* folder : {"dog", "cat", "cat/deeper", "empty", "bird"}) {
    std::filesystem::create_directories(dir / folder);
  }
  write_file(dir / "dog/a.png", png(1));
  write_file(dir / "cat/b.PNG", png(2));
  write_file(dir / "cat/a.png", png(3));
  write_file(dir / "cat/deeper/x.png", png(4));
  write_file(dir / "cat/notes.txt", "no image");
  write_file(dir / "cat/._a.png", "no image");
  write_file(dir / "bird/a.png", png(5));
  write_file(dir / "outside.png", png(6));
  const ImageFolderDataset dataset(dir.path());
  CHECK(dataset.classes() == std::vector<std::string>{"bird", "cat", "dog"});
  CHECK(summary(dataset) == "5/0 3/1 2/1 4/1 1/2 ");
  CHECK(dataset[0][1].dtype() == Dtype::int32);
  const ImageFolderDataset ordered(dir.path(), {.classes = {"dog", "fish", "cat", "bird"}});
  CHECK(ordered.classes().size() == 4);
  CHECK(summary(ordered) == "5/3 3/2 2/2 4/2 1/0 ");
  CHECK_THROWS_WITH_AS(ImageFolderDataset(dir.path(), {.classes = {"dog", "cat"}}),
                       "ImageFolderDataset: there are images of class 'bird', which options.classes lacks", ValueError);
  CHECK_THROWS_WITH_AS(ImageFolderDataset(dir.path(), {.classes = {"dog", "dog"}}),
                       "ImageFolderDataset: options.classes has a name twice", ValueError);
  CHECK_THROWS_AS(ImageFolderDataset(dir / "empty"), ValueError);
  CHECK_THROWS_AS(ImageFolderDataset(dir / "none"), IoError);
}

TEST_CASE("TarImageDataset: shards, plain and gzipped") {
  const ScratchDirectory dir;
  write_file(dir / "0.tar", tar_member("./b/", "", '5') + tar_member("./b/1.png", png(1)) +
                                tar_member("a/2.png", png(2)) + tar_member("a/labels.json", "{}") + tar_end());
  write_file(dir / "1.tar.gz", gzip(tar_member("b/x/3.png", png(3)) + tar_end()));
  for (const bool in_memory : {false, true}) {
    const TarImageDataset dataset({dir / "0.tar", dir / "1.tar.gz"}, {.in_memory = in_memory});
    CHECK(dataset.classes() == std::vector<std::string>{"a", "b"});
    CHECK(summary(dataset) == "1/1 2/0 3/1 ");
    CHECK(dataset.name(2) == (dir / "1.tar.gz") + ": entry 'b/x/3.png'");
    const TarImageDataset copy = dataset;
    CHECK(summary(copy) == "1/1 2/0 3/1 ");
  }
  CHECK(summary(TarImageDataset(dir / "1.tar.gz", {.classes = {"a", "b"}})) == "3/1 ");
  write_file(dir / "flat.tar", tar_member("1.png", png(1)) + tar_end());
  CHECK_THROWS_WITH_AS(TarImageDataset(dir / "flat.tar"),
                       ("TarImageDataset: " + (dir / "flat.tar") + " has '1.png': <class>/<name> is needed").c_str(),
                       ValueError);
  write_file(dir / "none.tar", tar_end());
  CHECK_THROWS_AS(TarImageDataset(dir / "none.tar"), ValueError);
}

#endif

#ifdef KUSARI_WITH_JPEG

// The .bin files were decoded from the JPEG files by libjpeg-turbo (data/README.md).
TEST_CASE("TarImageDataset: CIFAR-10's JPEG shards give the reference pixels, bit for bit" *
          doctest::test_suite("needs cifar10-jpeg")) {
  struct Split {
    std::string name;
    int shards;
    size_t records;
  };
  for (const auto& [split, shards, records] : {Split{"train", 5, 5000}, {"test", 1, 1000}}) {
    const std::string batch = split == "train" ? "data_batch_1" : "test_batch";
    const std::string folder = shared_path("data/cifar10-jpeg"), reference = shared_path("data/cifar-10-batches-bin");
    if (folder.empty() || reference.empty()) KUSARI_SKIP("no data/cifar10-jpeg, or no data/cifar-10-batches-bin");
    std::vector<std::string> paths;
    for (int i = 0; i < shards; ++i) paths.push_back(folder + "/" + split + "-000" + std::to_string(i) + ".tar.gz");
    const TarImageDataset dataset(paths, {.dtype = Dtype::uint8});
    REQUIRE(dataset.size() == shards * 10'000);
    CHECK(dataset.classes().size() == 10);
    std::map<std::string, int64_t> index;  // by the name as in the index file
    for (int64_t i = 0; i < dataset.size(); ++i) {
      const std::string name = dataset.name(i);
      const size_t quote = name.find('\'');
      index[split + "/" + name.substr(quote + 1, name.size() - quote - 2)] = i;
    }
    const std::string bin = read_maybe_gzip(reference + "/" + batch + ".bin.gz");
    REQUIRE(bin.size() == records * 3073);
    std::ifstream lines(reference + "/" + batch + ".index.txt");
    size_t different = 0, compared = 0;
    for (std::string line; std::getline(lines, line); ++compared) {
      const Example example = dataset.get(index.at(line));
      const uint8_t* expected = reinterpret_cast<const uint8_t*>(bin.data()) + compared * 3073;
      const bool same = example[1].item<int>() == expected[0] && example[0].shape() == Shape{3, 32, 32} &&
                        std::memcmp(example[0].contiguous().raw_data(), expected + 1, 3072) == 0;
      different += !same;
    }
    CHECK(compared == records);
    CHECK(different == 0);
  }
}

TEST_CASE("ImageFolderDataset: which files are known to be broken does not change the parts of others") {
  const ScratchDirectory dir;
  const QuietLog quiet;
  std::filesystem::create_directory(dir / "a");
  const Bytes whole = encode_jpeg({.width = 90, .height = 70}, Bytes(3 * 90 * 70, 100));
  Bytes noise(3 * 90 * 70);
  for (size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<uint8_t>(i * i >> 7);
  const Bytes good = encode_jpeg({.width = 90, .height = 70}, noise);
  write_file(dir / "a/0.jpg", as_string(whole).substr(0, whole.size() - 60));  // found after its part was drawn
  write_file(dir / "a/1.jpg", as_string(good));
  const ImageFolderDataset dataset(
      dir.path(),
      {.dtype = Dtype::uint8, .skip_broken = true, .random_sized_crop = transforms::RandomSizedCrop{{20, 30}}});
  const auto pixels = [&](int64_t i) {
    const ExampleRandomScope scope(1, 0, 0);
    return dataset.get(i)[0].to_vector<uint8_t>();
  };
  const std::vector<uint8_t> first = pixels(0);
  CHECK(dataset.broken() == 1);
  CHECK(pixels(0) == first);
}

TEST_CASE("ImageFolderDataset: a random part of each photo" * doctest::test_suite("needs flowers-mini")) {
  const std::string folder = shared_path("data/flowers-mini/val");
  if (folder.empty()) KUSARI_SKIP("no data/flowers-mini");
  const transforms::RandomSizedCrop crop{{40, 50}};
  const DecodeOptions rgb{.mode = ImageMode::rgb};
  const ImageFolderDataset whole(folder, {.dtype = Dtype::uint8, .decode = rgb});
  const ImageFolderDataset parts(folder, {.dtype = Dtype::uint8, .decode = rgb, .random_sized_crop = crop});
  const ImageFolderDataset floats(folder, {.decode = rgb, .random_sized_crop = crop});
  const ImageFolderDataset reduced(
      folder, {.dtype = Dtype::uint8, .decode = {.mode = ImageMode::rgb, .min_side = 50}, .random_sized_crop = crop});
  double difference = 0;
  for (int64_t i = 0; i < whole.size(); ++i) {
    const auto with = [&](const ImageFolderDataset& dataset) {
      const ExampleRandomScope scope(7, 2, i);
      return dataset.get(i);
    };
    ExampleRandom random(7, 2, i);
    const Array expected = crop(whole[i][0], random);
    const Array part = with(parts)[0], rough = with(reduced)[0];
    CHECK(part.shape() == Shape{3, 40, 50});
    CHECK(part.to_vector<uint8_t>() == expected.to_vector<uint8_t>());
    CHECK(with(floats)[0].to_vector<float>() == expected.astype(Dtype::float32).to_vector<float>());
    CHECK(with(parts)[1].item<int>() == whole[i][1].item<int>());
    CHECK(rough.shape() == Shape{3, 40, 50});
    const std::vector<uint8_t> fine = part.to_vector<uint8_t>(), coarse = rough.to_vector<uint8_t>();
    for (size_t k = 0; k < fine.size(); ++k) difference += std::abs(int{fine[k]} - int{coarse[k]});
  }
  CHECK(difference > 0);  // some were decoded at a smaller scale
  CHECK(difference / static_cast<double>(20 * 3 * 40 * 50) < 6);
}

TEST_CASE("TarImageDataset and ImageFolderDataset: real photos" * doctest::test_suite("needs imagenette224-mini")) {
  const std::string tar = shared_path("data/imagenette224-mini/val.tar"), folder = shared_path("data/flowers-mini/val");
  if (tar.empty() || folder.empty()) KUSARI_SKIP("no data/imagenette224-mini, or no data/flowers-mini");
  const TarImageDataset photos(tar, {.decode = {.mode = ImageMode::rgb}});
  CHECK(photos.size() == 300);
  CHECK(photos.classes().front() == "n01440764");
  std::vector<int> count(10);
  for (int64_t i = 0; i < photos.size(); ++i) {
    const Example example = photos.get(i);
    CHECK(example[0].shape() == Shape{3, 224, 224});
    ++count[static_cast<size_t>(example[1].item<int>())];
  }
  CHECK(count == std::vector<int>(10, 30));
  const ImageFolderDataset flowers(folder);
  CHECK(flowers.size() == 20);
  CHECK(flowers.classes() == std::vector<std::string>{"daisy", "dandelion", "roses", "sunflowers", "tulips"});
  CHECK(flowers[19][1].item<int>() == 4);
}

#endif
