#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/framework/datasets/image/decode.h"
#include "kusari/framework/datasets/transforms/random_sized_crop.h"

namespace kusari::datasets {

/// What the data sets of image files have in common: a file is read and decoded when its example is asked for.
/// An example is the image, (C, H, W) with the channels innermost in memory, values 0 .. 255, and where there are
/// labels the label, a 0-d array. With skip_broken the next file that can be read takes the place of one that cannot.
class KUSARI_API EncodedImageDataset : public Dataset {
 public:
  ~EncodedImageDataset() override;
  int64_t size() const final { return size_; }
  /// Throws IoError, naming the file, when it cannot be read or decoded; with skip_broken when none can.
  Example get(int64_t i) const final;
  /// With skip_broken: how many files have been found so far that cannot be read. Each was reported once, as a warning.
  int64_t broken() const;
  /// Path of file i, or its place in an archive. Throws IndexError unless 0 <= i < size().
  virtual std::string name(int64_t i) const = 0;

 protected:
  struct Form {
    Dtype dtype;
    DecodeOptions decode;
    bool skip_broken;
    std::optional<transforms::RandomSizedCrop> crop = {};
  };

  /// labels: (size), or undefined.
  EncodedImageDataset(int64_t size, const Form& form, Array labels);
  EncodedImageDataset(const EncodedImageDataset&) = default;
  EncodedImageDataset& operator=(const EncodedImageDataset&) = default;

  /// The bytes of file i: in `buffer`, or in memory that lives as long as this.
  virtual std::span<const uint8_t> load(int64_t i, std::vector<uint8_t>& buffer) const = 0;

 private:
  struct Broken;

  Array decode(int64_t i, ExampleRandom* random) const;

  int64_t size_;
  Form form_;
  Array labels_;
  Shared<Broken> broken_;
};

}  // namespace kusari::datasets
