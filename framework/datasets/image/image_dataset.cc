#include "kusari/framework/datasets/image/image_dataset.h"

#include <filesystem>

#include "kusari/framework/core/input_file.h"
#include "kusari/framework/datasets/image/list_file.h"

namespace kusari::datasets {
namespace {

std::string join(const std::string& root, const std::string& path) {
  return (std::filesystem::path(root) / path).string();
}

}  // namespace

ImageDataset::ImageDataset(std::vector<std::string> paths, const ImageDatasetOptions& options)
    : EncodedImageDataset(static_cast<int64_t>(paths.size()),
                          {options.dtype, options.decode, options.skip_broken, options.random_sized_crop}, Array()),
      paths_{std::move(paths)},
      root_{options.root} {}

ImageDataset::ImageDataset(const std::string& list, const ImageDatasetOptions& options)
    : ImageDataset(read_paths("ImageDataset", list), options) {}

std::string ImageDataset::name(int64_t i) const {
  check_index("ImageDataset::name", i, size());
  return join(root_, paths_[static_cast<size_t>(i)]);
}

std::span<const uint8_t> ImageDataset::load(int64_t i, std::vector<uint8_t>& buffer) const {
  return read_whole("ImageDataset", name(i), buffer);
}

LabeledImageDataset::LabeledImageDataset(std::vector<LabeledPath> pairs, const ImageDatasetOptions& options)
    : EncodedImageDataset(static_cast<int64_t>(pairs.size()),
                          {options.dtype, options.decode, options.skip_broken, options.random_sized_crop},
                          labels_of(pairs, options.label_dtype)),
      pairs_{std::move(pairs)},
      root_{options.root} {}

LabeledImageDataset::LabeledImageDataset(const std::string& list, const ImageDatasetOptions& options)
    : LabeledImageDataset(read_labeled_paths("LabeledImageDataset", list), options) {}

std::string LabeledImageDataset::name(int64_t i) const {
  check_index("LabeledImageDataset::name", i, size());
  return join(root_, pairs_[static_cast<size_t>(i)].first);
}

std::span<const uint8_t> LabeledImageDataset::load(int64_t i, std::vector<uint8_t>& buffer) const {
  return read_whole("LabeledImageDataset", name(i), buffer);
}

}  // namespace kusari::datasets
