#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/framework/datasets/image/decode.h"
#include "kusari/framework/functions/detection/box.h"

namespace kusari::datasets {

/// What the data sets of images with boxes have in common: annotations are read when it is made, an image when its
/// example is asked for. An example has the components
/// image: (3, H, W) uint8, or as options.decode says; bbox: (R, 4) float32, rows (y_min, x_min, y_max, x_max) in
/// pixels; label: (R) int32; and what options ask for besides.
class KUSARI_API BboxDataset : public Dataset {
 public:
  ~BboxDataset() override;
  int64_t size() const final;
  /// Throws IoError, naming the file, when the image cannot be read or decoded; with skip_broken when none can.
  Example get(int64_t i) const final;
  Keys keys() const final;

  /// The class of each label.
  const std::vector<std::string>& label_names() const noexcept;
  /// Path of image i, or its place in an archive.
  std::string name(int64_t i) const;
  /// Example i without its image: what evaluations compare with, in the order of the keys.
  Example annotation(int64_t i) const;
  /// Boxes that were left out because they are empty.
  int64_t empty_boxes() const noexcept;
  /// With skip_broken: annotations and images that were left out because something is wrong with them, when the data
  /// set was made. Each was reported, the first hundred as a warning.
  int64_t skipped() const noexcept;
  /// With skip_broken: images that have been found so far that cannot be decoded. The next one takes the place of each.
  int64_t broken() const;

 protected:
  struct State;
  explicit BboxDataset(std::shared_ptr<State> state);
  BboxDataset(const BboxDataset&) = default;
  BboxDataset& operator=(const BboxDataset&) = default;

 private:
  Shared<State> state_;
};

}  // namespace kusari::datasets
