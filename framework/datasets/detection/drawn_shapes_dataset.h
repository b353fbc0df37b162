#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

/// What examples say of the shapes.
enum class ShapesTask : uint8_t {
  detection,     ///< bbox: (R, 4) float32, and label: (R) int32
  segmentation,  ///< label: (H, W) int32, 0 for the background
};

struct DrawnShapesOptions {
  ShapesTask task = ShapesTask::detection;
  int64_t height = 96;
  int64_t width = 128;
  int64_t most = 5;  ///< shapes in an image: from 1 to so many, as far as there is room
  uint64_t seed = 0;
};

/// Pictures of discs, squares and triangles in drawn colours on a noisy background, made on the spot: for trying out
/// detectors and segmentation, and for tests, without files. Shapes lie within the image; few hide parts of others.
///
/// An example is (image, bbox, label) or (image, label), with these keys; image: (3, height, width) uint8. In
/// segmentation the pixels between a shape and what is around it have no class, -1, as Pascal VOC has it. Image i
/// follows from the seed and i alone. Throws ValueError unless height and width are in [32, 4096], .most in [1, 100]
/// and n is not negative.
class KUSARI_API DrawnShapesDataset final : public Dataset {
 public:
  explicit DrawnShapesDataset(int64_t n, const DrawnShapesOptions& options = {});

  int64_t size() const override { return size_; }
  Example get(int64_t i) const override;
  Keys keys() const override;
  /// The class of each label: disc, square, triangle, behind "background" in segmentation.
  std::vector<std::string> label_names() const;

 private:
  int64_t size_;
  DrawnShapesOptions options_;
};

}  // namespace kusari::datasets
