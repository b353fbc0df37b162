#pragma once

#include <cstdint>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/functions/detection/box.h"
#include "kusari/framework/links/detection/faster_rcnn.h"

// What DetectionTrainChain<FasterRCNN> compares with what the model sees. Made on the host.
namespace kusari::links {

/// The anchors that are drawn say whether there is anything, and where.
struct AnchorComparison {
  Array loc;        ///< (N, K, 4) float32
  Array label;      ///< (N, K) int32, as AnchorCoder::encode has them
  Array is_object;  ///< (N K) int32: 1: an object, 0: background, -1: does not count
  Array divisors;   ///< (N) float32: of the losses of boxes
};

/// The regions that are drawn, of which the boxes themselves are some, say of which class they are, and where. Each
/// class has a box of its own, and the background is class 0.
struct RegionComparison {
  std::vector<std::vector<Box>> regions;  ///< of each image
  int64_t count = 0;                      ///< of all images
  Array column;                           ///< (R) int32: the class, -1: does not count
  Array loc;                              ///< (1, R (1 + n_classes), 4) float32
  Array label;                            ///< (1, R (1 + n_classes)) int32: 0 where a box is to be learnt, else -1
  Array divisor;                          ///< (1) float32: of the loss of boxes
};

namespace detail {

/// The boxes of a batch: bbox (N, R, 4), label (N, R), -1 in rows that only fill up. Throws ValueError for a label that
/// is not below n_classes.
struct BoxTruth {
  BoxTruth(const Array& boxes, const Array& labels, int64_t n_classes, int64_t image_height, int64_t image_width);

  int64_t height, width;
  std::vector<ImageExtent> extents;
  std::vector<std::vector<Box>> bbox;
  std::vector<std::vector<int32_t>> label;
};

/// Draws from kusari::random.
AnchorComparison anchor_comparison(const FasterRCNN& model, const BoxTruth& truth);

/// The same of regions. rows: R, of which those that no region fills do not count; 0: as many as there are regions.
RegionComparison region_comparison(const FasterRCNN& model, const FasterRCNN::FirstLook& seen, const BoxTruth& truth,
                                   int64_t rows);

}  // namespace detail
}  // namespace kusari::links
