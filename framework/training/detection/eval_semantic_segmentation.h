#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::metrics {

/// How well pixels were classified. Where a class neither is there nor was said, its numbers are NaN, and left out of
/// means; without any pixel all are.
struct SegmentationMetrics {
  std::vector<double> iou;             ///< of each class: pixels that are and were said to be it, of those that either
  double miou;                         ///< their mean
  double pixel_accuracy;               ///< pixels whose class was said, of all that have one
  std::vector<double> class_accuracy;  ///< the same of the pixels of each class
  double mean_class_accuracy;          ///< their mean
};

/// How often pixels of each class were said to be of which. Images are added one at a time, so that none must be kept.
class KUSARI_API SegmentationConfusion {
 public:
  /// predicted, truth: (H, W), or any other shape, the same for both, integers: the class of each pixel; -1 in `truth`
  /// stands for pixels that do not count. Throws TypeError for other shapes or dtypes, ValueError for a class below 0
  /// in `predicted` or below -1 in `truth`, or above 65535.
  void add(const Array& predicted, const Array& truth);

  /// The highest class so far + 1.
  int64_t classes() const noexcept { return classes_; }
  /// Pixels of class `truth` that were said to be `predicted`.
  int64_t count(int64_t truth, int64_t predicted) const;
  SegmentationMetrics metrics() const;

 private:
  int64_t classes_ = 0;
  std::vector<int64_t> counts_;  // (truth, predicted)
};

/// The same of lists of images. Throws ValueError when there are not as many in both.
/// chainercv.evaluations.eval_semantic_segmentation.
KUSARI_API SegmentationMetrics eval_semantic_segmentation(std::span<const Array> predicted,
                                                          std::span<const Array> truth);

}  // namespace kusari::metrics
