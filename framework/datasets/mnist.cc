#include "kusari/framework/datasets/mnist.h"

#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/download.h"
#include "kusari/framework/datasets/idx.h"
#include "kusari/framework/datasets/scaled_bytes.h"

namespace kusari::datasets {
namespace {

constexpr int64_t kMnistSide = 28;

struct File {
  const char* name;
  const char* sha256;
};

struct Source {
  const char* call;
  const char* folder;
  std::vector<std::string> mirrors;
  File train_images, train_labels, test_images, test_labels;
  bool is_content_hashed = true;  // or the gzip file; mirrors compress differently
};

const Source& mnist() {
  static const Source source{
      "get_mnist",
      "mnist",
      {"https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"},
      {"train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
      {"train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
      {"t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
      {"t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}};
  return source;
}

const Source& fashion_mnist() {
  static const Source source{
      "get_fashion_mnist",
      "fashion-mnist",
      {"https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
       "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"},
      {"train-images-idx3-ubyte", "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
      {"train-labels-idx1-ubyte", "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
      {"t10k-images-idx3-ubyte", "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
      {"t10k-labels-idx1-ubyte", "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"}};
  return source;
}

// The sums of the gzip files are those of tensorflow_datasets/url_checksums/kmnist.txt.
const Source& kuzushiji_mnist() {
  static const Source source{
      "get_kuzushiji_mnist",
      "kuzushiji-mnist",
      {"https://codh.rois.ac.jp/kmnist/dataset/kmnist/", "http://codh.rois.ac.jp/kmnist/dataset/kmnist/"},
      {"train-images-idx3-ubyte", "51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4"},
      {"train-labels-idx1-ubyte", "e38f9ebcd0f3ebcdec7fc8eabdcdaef93bb0df8ea12bee65224341c8183d8e17"},
      {"t10k-images-idx3-ubyte", "edd7a857845ad6bb1d0ba43fe7e794d164fe2dce499a1694695a792adfac43c5"},
      {"t10k-labels-idx1-ubyte", "20bb9a0ef54c7db3efc55a92eef5582c109615df22683c380526788f98e42a1c"},
      false};
  return source;
}

std::string find_file(const Source& source, const File& file, const std::string& root) {
  const std::string zipped = std::string(file.name) + ".gz";
  std::vector<std::string> urls;
  for (const std::string& mirror : source.mirrors) urls.push_back(mirror + zipped);
  return find_dataset_file(
      source.call,
      {source.folder, {zipped, file.name}, urls, {.sha256 = file.sha256, .gzip = source.is_content_hashed}}, root);
}

Array load_images(const Source& source, const File& file, const MnistOptions& options) {
  const std::string path = find_file(source, file, options.root);
  const Array raw = read_idx(path);
  if (raw.dtype() != Dtype::uint8 || raw.ndim() != 3 || raw.shape()[1] != kMnistSide || raw.shape()[2] != kMnistSide) {
    throw IoError(std::string(source.call) + ": " + path + " has dtype " + name(raw.dtype()) + " and shape " +
                  to_string(raw.shape()) + ": uint8 and (n, 28, 28) are needed");
  }
  const int64_t n = raw.shape()[0];
  const Array images = scaled_bytes(source.call, raw, options.scale, options.dtype);
  if (options.ndim == 1) return images.reshape({n, kMnistSide * kMnistSide});
  if (options.ndim == 2) return images;
  const Array planes = images.reshape({n, 1, kMnistSide, kMnistSide});
  return options.rgb_format ? planes.broadcast_to({n, 3, kMnistSide, kMnistSide}) : planes;
}

Array load_labels(const Source& source, const File& file, const MnistOptions& options, int64_t n) {
  const std::string path = find_file(source, file, options.root);
  const Array raw = read_idx(path);
  if (raw.dtype() != Dtype::uint8 || raw.shape() != Shape{n}) {
    throw IoError(std::string(source.call) + ": " + path + " has dtype " + name(raw.dtype()) + " and shape " +
                  to_string(raw.shape()) + ": uint8 and (" + std::to_string(n) + ",), one label per image, are needed");
  }
  const Array labels = empty({n}, Dtype::int32);
  for (int64_t i = 0; i < n; ++i) {
    labels.data<int32_t>()[i] = raw.data<uint8_t>()[i];
    if (raw.data<uint8_t>()[i] > 9) {
      throw IoError(std::string(source.call) + ": " + path + " has label " + std::to_string(raw.data<uint8_t>()[i]) +
                    " at " + std::to_string(i) + ": labels are 0 .. 9");
    }
  }
  return labels.astype(options.label_dtype);
}

TupleDataset load(const Source& source, const File& images, const File& labels, const MnistOptions& options) {
  const Array x = load_images(source, images, options);
  return options.with_label ? TupleDataset(x, load_labels(source, labels, options, x.shape()[0])) : TupleDataset(x);
}

TrainTest load(const Source& source, const MnistOptions& options) {
  if (options.ndim < 1 || options.ndim > 3) {
    throw ValueError(std::string(source.call) + ": ndim is " + std::to_string(options.ndim) + ": it must be 1, 2 or 3");
  }
  return {load(source, source.train_images, source.train_labels, options),
          load(source, source.test_images, source.test_labels, options)};
}

}  // namespace

TrainTest get_mnist(const MnistOptions& options) { return load(mnist(), options); }
TrainTest get_fashion_mnist(const MnistOptions& options) { return load(fashion_mnist(), options); }
TrainTest get_kuzushiji_mnist(const MnistOptions& options) { return load(kuzushiji_mnist(), options); }

std::vector<std::string> get_fashion_mnist_labels() {
  return {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"};
}

std::vector<std::pair<std::string, std::string>> get_kuzushiji_mnist_labels() {
  return {{"o", "お"},  {"ki", "き"}, {"su", "す"}, {"tsu", "つ"}, {"na", "な"},
          {"ha", "は"}, {"ma", "ま"}, {"ya", "や"}, {"re", "れ"},  {"wo", "を"}};
}

}  // namespace kusari::datasets
