#include "kusari/framework/datasets/svhn.h"

#include <cmath>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/download.h"
#include "kusari/framework/datasets/mat_file.h"
#include "kusari/framework/datasets/scaled_bytes.h"

namespace kusari::datasets {
namespace {

constexpr int64_t kSvhnSide = 32;

using NamedArrays = std::vector<std::pair<std::string, Array>>;

const Array& find_array(const std::string& path, const NamedArrays& arrays, const std::string& name) {
  for (const auto& [found, array] : arrays) {
    if (found == name) return array;
  }
  throw IoError("get_svhn: " + path + " has no array '" + name + "'");
}

/// (n, 3, 32, 32), its memory (n, 32, 32, 3).
Array images_of(const std::string& path, const Array& raw, const SvhnOptions& options) {
  if (raw.dtype() != Dtype::uint8 || raw.ndim() != 4 || raw.shape()[0] != kSvhnSide || raw.shape()[1] != kSvhnSide ||
      raw.shape()[2] != 3) {
    throw IoError("get_svhn: " + path + ": X has dtype " + name(raw.dtype()) + " and shape " + to_string(raw.shape()) +
                  ": uint8 and (32, 32, 3, n) are needed");
  }
  const Array pixels = raw.transpose({3, 0, 1, 2}).contiguous();
  return scaled_bytes("get_svhn", pixels, options.scale, options.dtype).transpose({0, 3, 1, 2});
}

/// The digit 0 has the label 10 in the file.
Array labels_of(const std::string& path, const Array& raw, int64_t n, const SvhnOptions& options) {
  if (raw.size() != n) {
    throw IoError("get_svhn: " + path + ": y has shape " + to_string(raw.shape()) + ": " + std::to_string(n) +
                  " labels, one per image, are needed");
  }
  std::vector<int32_t> labels;
  for (const double label : raw.to_vector<double>()) {
    if (!(label >= 1 && label <= 10) || label != std::floor(label)) {
      throw IoError("get_svhn: " + path + ": y has " + std::to_string(label) + " at " + std::to_string(labels.size()) +
                    ": labels are 1 .. 10");
    }
    labels.push_back(label == 10 ? 0 : static_cast<int32_t>(label));
  }
  return array(labels, {n}).astype(options.label_dtype);
}

std::string find_file(const std::string& name, const char* sha256, const std::string& root) {
  return find_dataset_file(
      "get_svhn",
      {.folder = "svhn",
       .names = {name},
       .urls = {"https://ufldl.stanford.edu/housenumbers/" + name, "http://ufldl.stanford.edu/housenumbers/" + name},
       .download = {.sha256 = sha256}},
      root);
}

}  // namespace

TupleDataset read_svhn(const std::string& path, const SvhnOptions& options) {
  const NamedArrays arrays = read_mat(path);
  const Array x = images_of(path, find_array(path, arrays, "X"), options);
  if (!options.with_label) return TupleDataset(x);
  return TupleDataset(x, labels_of(path, find_array(path, arrays, "y"), x.shape()[0], options));
}

// The sums are those of tensorflow_datasets/url_checksums/svhn_cropped.txt.
SvhnDatasets get_svhn(const SvhnOptions& options) {
  const auto read = [&](const char* name, const char* sha256) {
    return read_svhn(find_file(name, sha256, options.root), options);
  };
  SvhnDatasets result{
      .train = read("train_32x32.mat", "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8"),
      .test = read("test_32x32.mat", "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b"),
      .extra = std::nullopt};
  if (options.add_extra) {
    result.extra = read("extra_32x32.mat", "a133a4beb38a00fcdda90c9489e0c04f900b660ce8a316a5e854838379a71eb3");
  }
  return result;
}

}  // namespace kusari::datasets
