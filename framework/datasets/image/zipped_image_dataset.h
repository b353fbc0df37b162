#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/image/encoded_image_dataset.h"
#include "kusari/framework/serializers/zip.h"

namespace kusari::datasets {

struct ZippedImageDatasetOptions {
  Dtype dtype = Dtype::float32;                           ///< of the images; their values are 0 .. 255 in any
  Dtype label_dtype = Dtype::int32;                       ///< of LabeledZippedImageDataset
  DecodeOptions decode = {.mode = ImageMode::unchanged};  ///< .mode = ImageMode::rgb gives all images 3 channels
  bool skip_broken = false;                               ///< pass over files that cannot be read
  /// As ImageDatasetOptions has it.
  std::optional<transforms::RandomSizedCrop> random_sized_crop = {};
};

/// The images of several zip archives, one after the other in the order of their directories; the archives must hold
/// images alone. Throws IoError for a damaged archive. chainer.datasets.MultiZippedImageDataset.
class KUSARI_API MultiZippedImageDataset : public EncodedImageDataset {
 public:
  explicit MultiZippedImageDataset(const std::vector<std::string>& zipfilenames,
                                   const ZippedImageDatasetOptions& options = {});

  std::string name(int64_t i) const override;

 protected:
  struct Member {
    serializers::ZipReader zip;  // copies share the open file
    const serializers::ZipEntry* entry;
  };

  MultiZippedImageDataset(std::vector<Member> members, const ZippedImageDatasetOptions& options, Array labels);
  std::span<const uint8_t> load(int64_t i, std::vector<uint8_t>& buffer) const override;

 private:
  static std::vector<Member> members_of(const std::vector<std::string>& zipfilenames);

  std::vector<Member> members_;
};

/// The images of one zip archive. chainer.datasets.ZippedImageDataset.
class KUSARI_API ZippedImageDataset final : public MultiZippedImageDataset {
 public:
  explicit ZippedImageDataset(const std::string& zipfilename, const ZippedImageDatasetOptions& options = {})
      : MultiZippedImageDataset(std::vector<std::string>{zipfilename}, options) {}
};

/// Images of a zip archive with labels: labelfilename is a text file with lines "name label", which also settles the
/// order. Throws ValueError for another line, IoError for a name that is not in the archive.
/// chainer.datasets.LabeledZippedImageDataset.
class KUSARI_API LabeledZippedImageDataset final : public MultiZippedImageDataset {
 public:
  LabeledZippedImageDataset(const std::string& zipfilename, const std::string& labelfilename,
                            const ZippedImageDatasetOptions& options = {});

 private:
  struct Listed;
  LabeledZippedImageDataset(Listed listed, const ZippedImageDatasetOptions& options);
};

}  // namespace kusari::datasets
