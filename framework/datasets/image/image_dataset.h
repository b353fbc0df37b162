#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/image/encoded_image_dataset.h"

namespace kusari::datasets {

struct ImageDatasetOptions {
  std::string root = ".";                                 ///< folder that relative paths start from
  Dtype dtype = Dtype::float32;                           ///< of the images; their values are 0 .. 255 in any
  Dtype label_dtype = Dtype::int32;                       ///< of LabeledImageDataset
  DecodeOptions decode = {.mode = ImageMode::unchanged};  ///< .mode = ImageMode::rgb gives all images 3 channels
  bool skip_broken = false;                               ///< pass over files that cannot be read
  /// Take a random part of each image and resize it, in 8 bits: as transforms::RandomSizedCrop of the whole image, but
  /// only that part is decoded. With .decode.min_side = the size, large parts come at 1/2, 1/4 or 1/8 size.
  std::optional<transforms::RandomSizedCrop> random_sized_crop = {};
};

/// Images in files, decoded when they are asked for: example i is image i, (C, H, W).
/// paths: the files' paths, or a text file with one on each line.
/// Throws IoError for a list or, by get(), an image that cannot be read. chainer.datasets.ImageDataset.
class KUSARI_API ImageDataset final : public EncodedImageDataset {
 public:
  explicit ImageDataset(std::vector<std::string> paths, const ImageDatasetOptions& options = {});
  explicit ImageDataset(std::initializer_list<std::string> paths, const ImageDatasetOptions& options = {})
      : ImageDataset(std::vector<std::string>(paths), options) {}
  explicit ImageDataset(const std::string& list, const ImageDatasetOptions& options = {});

  std::string name(int64_t i) const override;

 protected:
  std::span<const uint8_t> load(int64_t i, std::vector<uint8_t>& buffer) const override;

 private:
  std::vector<std::string> paths_;
  std::string root_;
};

/// The same with labels: example i is (image i, label i). pairs: paths and labels, or a text file with lines
/// "path label". Throws ValueError for another line. chainer.datasets.LabeledImageDataset.
class KUSARI_API LabeledImageDataset final : public EncodedImageDataset {
 public:
  explicit LabeledImageDataset(std::vector<std::pair<std::string, int64_t>> pairs,
                               const ImageDatasetOptions& options = {});
  explicit LabeledImageDataset(std::initializer_list<std::pair<std::string, int64_t>> pairs,
                               const ImageDatasetOptions& options = {})
      : LabeledImageDataset(std::vector<std::pair<std::string, int64_t>>(pairs), options) {}
  explicit LabeledImageDataset(const std::string& list, const ImageDatasetOptions& options = {});

  std::string name(int64_t i) const override;

 protected:
  std::span<const uint8_t> load(int64_t i, std::vector<uint8_t>& buffer) const override;

 private:
  std::vector<std::pair<std::string, int64_t>> pairs_;
  std::string root_;
};

}  // namespace kusari::datasets
