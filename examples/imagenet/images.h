#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

// Labeled images, 8 bits and RGB, and their classes where folders name them.
struct Images {
  std::shared_ptr<kusari::datasets::Dataset> dataset;
  std::vector<std::string> classes;
};

// The images of a list file (lines "path label", paths below `root`), of a folder with a folder for each class, or of
// such a folder in a tar archive. JPEG files are decoded at a fraction of their size as long as their sides stay at
// least min_side. `classes`: those of the training set, which give validation images the same labels.
inline Images open_images(const std::string& path, const std::string& root, int64_t min_side,
                          const std::vector<std::string>& classes = {}) {
  using namespace kusari::datasets;
  const DecodeOptions decode{.mode = ImageMode::rgb, .min_side = min_side};
  const auto with_classes = [](auto images) {
    auto found = images.classes();
    return Images{std::make_shared<decltype(images)>(std::move(images)), std::move(found)};
  };
  const ClassImageDatasetOptions options{.dtype = kusari::Dtype::uint8, .decode = decode, .classes = classes};
  if (std::filesystem::is_directory(path)) return with_classes(ImageFolderDataset(path, options));
  if (path.ends_with(".tar") || path.ends_with(".tar.gz")) return with_classes(TarImageDataset(path, options));
  return {std::make_shared<LabeledImageDataset>(
              path, ImageDatasetOptions{.root = root, .dtype = kusari::Dtype::uint8, .decode = decode}),
          {}};
}

// What the list files of Chainer's example expect already done: the middle square of an image, scaled to this side.
inline kusari::Array square(const kusari::Array& image, int64_t side) {
  return kusari::transforms::CenterCrop{side}(kusari::transforms::Scale{side}(image));
}
