#include "kusari/framework/datasets/mnist.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/gzip.h"
#include "kusari/framework/datasets/sha256.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/shared_data.h"
#include "kusari/tests/skip.h"

using namespace kusari;
using namespace kusari::datasets;
using kusari::testing::ScratchDirectory;
using kusari::testing::shared_path;
using kusari::testing::write_file;

namespace {

std::string image_file(int n, int side = 28) {
  std::string s("\0\0\x08\x03\0\0\0", 7);
  s.push_back(static_cast<char>(n));
  for (int i = 0; i < 2; ++i) {
    s.append(3, '\0');
    s.push_back(static_cast<char>(side));
  }
  for (int i = 0; i < n * side * side; ++i) s.push_back(static_cast<char>(i % 256));
  return s;
}

std::string labels(const std::vector<int>& values) {
  std::string s("\0\0\x08\x01\0\0\0", 7);
  s.push_back(static_cast<char>(values.size()));
  for (int v : values) s.push_back(static_cast<char>(v));
  return s;
}

void write_set(const ScratchDirectory& dir, const std::string& train_images, const std::string& train_labels) {
  write_file(dir / "train-images-idx3-ubyte", train_images);
  write_file(dir / "train-labels-idx1-ubyte", train_labels);
  write_file(dir / "t10k-images-idx3-ubyte", image_file(1));
  write_file(dir / "t10k-labels-idx1-ubyte", labels({9}));
}

/// chainer/datasets/_mnist_helper.py: images.astype(float32), then times scale / 255 in float32.
float pixel(int value, double scale = 1.0) { return static_cast<float>(value) * static_cast<float>(scale / 255.0); }

}  // namespace

TEST_CASE("get_mnist: shapes, scale and labels") {
  const ScratchDirectory dir;
  write_set(dir, image_file(3), labels({5, 0, 4}));
  {
    const auto [train, test] = get_mnist({.root = dir.path()});
    CHECK(train.size() == 3);
    CHECK(test.size() == 1);
    const Example example = train[1];
    CHECK(example[0].shape() == Shape{784});
    CHECK(example[0].dtype() == Dtype::float32);
    CHECK(example[1].dtype() == Dtype::int32);
    CHECK(example[1].item<int>() == 0);
    CHECK(example[0].at(3).item<float>() == pixel((784 + 3) % 256));
    CHECK(train[0][0].at(255).item<float>() == 1.0f);
    CHECK(test[0][1].item<int>() == 9);
  }
  CHECK(get_mnist({.ndim = 2, .root = dir.path()}).train[0][0].shape() == Shape{28, 28});
  CHECK(get_mnist({.ndim = 3, .root = dir.path()}).train[0][0].shape() == Shape{1, 28, 28});
  const Array rgb = get_mnist({.ndim = 3, .rgb_format = true, .root = dir.path()}).train[0][0];
  CHECK(rgb.shape() == Shape{3, 28, 28});
  CHECK(rgb.at(2).to_vector<float>() == rgb.at(0).to_vector<float>());
  const auto scaled = get_mnist({.with_label = false, .scale = 255.0, .root = dir.path()});
  CHECK(scaled.train[0].size() == 1);
  CHECK(scaled.train[0][0].at(200).item<float>() == pixel(200, 255.0));
  CHECK_THROWS_WITH_AS(get_mnist({.ndim = 4, .root = dir.path()}), "get_mnist: ndim is 4: it must be 1, 2 or 3",
                       ValueError);
}

TEST_CASE("get_mnist: missing and wrong files") {
  const ScratchDirectory dir;
  CHECK_THROWS_WITH_AS(
      get_mnist({.root = dir.path()}),
      doctest::Contains("neither train-images-idx3-ubyte.gz nor train-images-idx3-ubyte is in the folder"), IoError);
  write_set(dir, image_file(2, 27), labels({1, 2}));
  CHECK_THROWS_WITH_AS(get_mnist({.root = dir.path()}), doctest::Contains("shape (2, 27, 27): uint8 and (n, 28, 28)"),
                       IoError);
  write_set(dir, image_file(2), labels({1, 2, 3}));
  CHECK_THROWS_WITH_AS(get_mnist({.root = dir.path()}),
                       doctest::Contains("shape (3,): uint8 and (2,), one label per image"), IoError);
  write_set(dir, image_file(2), labels({1, 10}));
  CHECK_THROWS_WITH_AS(get_mnist({.root = dir.path()}), doctest::Contains("label 10 at 1: labels are 0 .. 9"), IoError);
}

TEST_CASE("get_mnist: the real files" * doctest::test_suite("needs mnist")) {
  const std::string root = shared_path("data/mnist");
  if (root.empty()) KUSARI_SKIP("no data/mnist");
  const auto [train, test] = get_mnist({.root = root});
  CHECK(train.size() == 60000);
  CHECK(test.size() == 10000);
  // The class counts, the mean and the deviation that the literature gives.
  for (const auto& [dataset, expected] :
       {std::pair{&train, std::vector<int>{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}},
        {&test, std::vector<int>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}}}) {
    std::vector<int> counts(10);
    for (int label : dataset->arrays()[1].to_vector<int>()) ++counts[static_cast<size_t>(label)];
    CHECK(counts == expected);
  }
  double sum = 0, squares = 0;
  const Array& x = train.arrays()[0];
  for (int64_t i = 0; i < x.size(); ++i) {
    const double v = x.data<float>()[i];
    sum += v;
    squares += v * v;
  }
  const double mean = sum / static_cast<double>(x.size());
  CHECK(mean == doctest::Approx(0.1307).epsilon(0.001));
  CHECK(std::sqrt(squares / static_cast<double>(x.size()) - mean * mean) == doctest::Approx(0.3081).epsilon(0.001));
  Sha256 hash;
  hash.update(read_maybe_gzip(root + "/t10k-images-idx3-ubyte.gz"));
  CHECK(hash.hex_digest() == "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7");
}

TEST_CASE("get_mnist: dtypes") {
  const ScratchDirectory dir;
  write_set(dir, image_file(2), labels({7, 3}));
  const auto first = [&](Dtype dtype) {
    return get_mnist({.scale = 2.0, .root = dir.path(), .dtype = dtype}).train[0][0];
  };
  CHECK(first(Dtype::uint8).at(200).item<int>() == 200);
  CHECK(first(Dtype::float64).at(200).item<double>() == 200 * (2.0 / 255));
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    CHECK(first(dtype).dtype() == dtype);
    CHECK(first(dtype).at(200).item<float>() == doctest::Approx(pixel(200, 2.0)).epsilon(0.01));
  }
  CHECK(get_mnist({.root = dir.path(), .label_dtype = Dtype::int64}).train[0][1].dtype() == Dtype::int64);
  CHECK_THROWS_WITH_AS(get_mnist({.root = dir.path(), .dtype = Dtype::int32}),
                       "get_mnist: dtype is int32: it must be floating or uint8", ValueError);
}

TEST_CASE("get_fashion_mnist and get_kuzushiji_mnist: files in MNIST's format, and names") {
  const ScratchDirectory dir;
  write_set(dir, image_file(2), labels({7, 3}));
  CHECK(get_fashion_mnist({.root = dir.path()}).train.size() == 2);
  CHECK(get_kuzushiji_mnist({.root = dir.path()}).train[1][1].item<int>() == 3);
  CHECK_THROWS_WITH_AS(get_kuzushiji_mnist({.root = dir / "none"}),
                       doctest::Contains("get_kuzushiji_mnist: neither train-images-idx3-ubyte.gz nor"), IoError);
  CHECK(get_fashion_mnist_labels().size() == 10);
  CHECK(get_fashion_mnist_labels()[9] == "Ankle boot");
  CHECK(get_kuzushiji_mnist_labels().size() == 10);
  CHECK(get_kuzushiji_mnist_labels()[3] == std::pair<std::string, std::string>("tsu", "つ"));
}

TEST_CASE("get_fashion_mnist: the real files" * doctest::test_suite("needs fashion-mnist")) {
  const std::string root = shared_path("data/fashion-mnist");
  if (root.empty()) KUSARI_SKIP("no data/fashion-mnist");
  const auto [train, test] = get_fashion_mnist({.root = root, .dtype = Dtype::uint8});
  for (const auto& [dataset, expected] : {std::pair{&train, 6000}, {&test, 1000}}) {  // of each class
    std::vector<int> counts(10);
    for (int label : dataset->arrays()[1].to_vector<int>()) ++counts[static_cast<size_t>(label)];
    CHECK(counts == std::vector<int>(10, expected));
  }
}
