#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/detection/box.h"

namespace kusari::links {

/// What libraries do differently where they lay anchors. Let s be a level's stride, m = ceil(image / s) the rows (or
/// columns) of its map, a = scale * s * 2^(octave / octaves) the size, and r the ratio width / height.
enum class AnchorConvention : uint8_t {
  /// Centres (i + 1/2) * image / m; a with image / m for s, by axis; height a / sqrt(r), width a * sqrt(r); within a
  /// place all ratios of the first octave, then of the next. google/automl's EfficientDet.
  automl,
  /// Centres i * floor(image / m): a cell's upper left; a cut to an integer; corners around the centre rounded to
  /// integers; within a place all octaves of the first ratio. torchvision's RetinaNet.
  torchvision,
  /// Centres (i + 1/2) * s; width round(s / sqrt(1 / r)) and height round(width / r), both times a / s; order as
  /// automl.
  /// ChainerCV's region proposals.
  chainercv,
};

struct AnchorGridOptions {
  std::vector<int64_t> levels = {3, 4, 5, 6, 7};  ///< level l has a place every 2^l pixels
  double scale = 4;                               ///< size of the first octave's anchors, in strides
  int64_t octaves = 3;                            ///< sizes at each place
  std::vector<double> ratios = {1, 2, 0.5};       ///< width / height
  AnchorConvention convention = AnchorConvention::automl;
};

struct SsdAnchorGridOptions {
  int64_t size = 300;                                             ///< height and width of images
  std::vector<int64_t> grids = {38, 19, 10, 5, 3, 1};             ///< rows and columns of each map
  std::vector<double> steps = {8, 16, 32, 64, 100, 300};          ///< pixels between the places of each
  std::vector<double> sizes = {30, 60, 111, 162, 213, 264, 315};  ///< of each, and one more
  std::vector<std::vector<double>> ratios = {{2}, {2, 3}, {2, 3}, {2, 3}, {2}, {2}};  ///< at each, and their inverses
};

/// Where a detector's anchors lie: boxes around each place of its maps, in the order in which its outputs have them,
/// level by level, row by row, place by place. Without options those of EfficientDet and RetinaNet: 9 at each place of
/// P3 to P7, 49,104 in an image of 512 x 512.
class KUSARI_API AnchorGrid {
 public:
  /// Throws ValueError for options out of range.
  explicit AnchorGrid(AnchorGridOptions options = {});
  /// torchvision's RetinaNet.
  static AnchorGrid torchvision();
  /// ChainerCV's region proposal network: P2 to P6, 3 at each place.
  static AnchorGrid rpn();
  /// torchvision's Faster R-CNN over a feature pyramid: P2 to P6, 3 at each place.
  static AnchorGrid faster_rcnn();
  /// ChainerCV's MultiboxCoder: at each place size s_k and sqrt(s_k s_(k+1)) as squares, then for each ratio r
  /// (height s / sqrt(r), width s * sqrt(r)) and the same turned; at ((row + 1/2) * step, (column + 1/2) * step).
  /// Without options SSD300's 8,732. Throws ValueError for lists whose lengths do not fit, and numbers out of range.
  static AnchorGrid ssd(SsdAnchorGridOptions options = {});

  /// All anchors of an image. Throws ValueError for a size below 1, one that has more than 2^22 anchors, and in an SSD
  /// grid for another than its own.
  std::vector<Box> operator()(int64_t height, int64_t width) const;
  /// How many anchors each level has.
  std::vector<int64_t> level_counts(int64_t height, int64_t width) const;
  /// The anchors at each place of level i, the first being 0. Throws IndexError when there is no such level.
  int64_t at_place(int64_t i) const;
  int64_t levels() const noexcept;

 private:
  explicit AnchorGrid(SsdAnchorGridOptions ssd, int);
  void check_image(int64_t height, int64_t width) const;

  AnchorGridOptions options_;
  std::optional<SsdAnchorGridOptions> ssd_;
};

}  // namespace kusari::links
