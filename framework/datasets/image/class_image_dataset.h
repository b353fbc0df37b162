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
#include "kusari/framework/datasets/tar.h"

namespace kusari::datasets {

struct ClassImageDatasetOptions {
  Dtype dtype = Dtype::float32;                           ///< of the images; their values are 0 .. 255 in any
  Dtype label_dtype = Dtype::int32;                       ///< of the labels
  DecodeOptions decode = {.mode = ImageMode::unchanged};  ///< .mode = ImageMode::rgb gives all images 3 channels
  bool skip_broken = false;                               ///< pass over files that cannot be read
  std::vector<std::string> classes = {};  ///< the class of each label; empty: those that there are, sorted by name
  bool in_memory = false;                 ///< TarImageDataset: keep the files of plain archives in memory too
  /// Take a random part of each image and resize it, in 8 bits: as transforms::RandomSizedCrop of the whole image, but
  /// only that part is decoded. With .decode.min_side = the size, large parts come at 1/2, 1/4 or 1/8 size.
  std::optional<transforms::RandomSizedCrop> random_sized_crop = {};
};

/// Images in a folder for each class, `<root>/<class>/.../<name>`: example i is (image i, label), the label being the
/// index of the class in classes(). Files that end in .jpg, .jpeg or .png, in any case, in the order of their classes,
/// then of their paths. Throws IoError when the root cannot be read, ValueError when it has no such file, or one of a
/// class that options.classes lacks.
class KUSARI_API ImageFolderDataset final : public EncodedImageDataset {
 public:
  explicit ImageFolderDataset(const std::string& root, const ClassImageDatasetOptions& options = {});

  const std::vector<std::string>& classes() const noexcept { return classes_; }
  std::string name(int64_t i) const override;

 protected:
  std::span<const uint8_t> load(int64_t i, std::vector<uint8_t>& buffer) const override;

 private:
  struct Found;
  ImageFolderDataset(Found found, const ClassImageDatasetOptions& options);

  std::vector<std::string> classes_;
  std::vector<std::string> paths_;
};

/// The same for the files `<class>/.../<name>` of tar archives (shards), in the order in which the archives have them.
/// Of plain archives the places are kept; gzipped ones are decompressed once and their (encoded) files stay in memory.
/// Copies share both. Throws IoError for a damaged archive.
class KUSARI_API TarImageDataset final : public EncodedImageDataset {
 public:
  explicit TarImageDataset(const std::vector<std::string>& shards, const ClassImageDatasetOptions& options = {});
  explicit TarImageDataset(std::initializer_list<std::string> shards, const ClassImageDatasetOptions& options = {})
      : TarImageDataset(std::vector<std::string>(shards), options) {}
  explicit TarImageDataset(const std::string& shard, const ClassImageDatasetOptions& options = {})
      : TarImageDataset(std::vector<std::string>{shard}, options) {}

  const std::vector<std::string>& classes() const noexcept { return classes_; }
  std::string name(int64_t i) const override;

 protected:
  std::span<const uint8_t> load(int64_t i, std::vector<uint8_t>& buffer) const override;

 private:
  struct Found;
  TarImageDataset(Found found, const ClassImageDatasetOptions& options);

  struct Place {
    size_t shard;
    size_t entry;
  };

  std::vector<std::string> classes_;
  std::vector<TarArchive> shards_;
  std::vector<Place> places_;
};

}  // namespace kusari::datasets
