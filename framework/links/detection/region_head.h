#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/detection/box.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link.h"

namespace kusari::links {

/// Of maps P2, P3, .. of a pyramid the one that shows a region best: 0 for P2. A region of 224 x 224 pixels is seen on
/// P4, one of half the side on P3: floor(4 + log2(sqrt(area) / 224) + 1e-6), as far as there are levels;
/// 0 for one with NaN. Throws ValueError when there is no level. Lin et al. 2017.
KUSARI_API int64_t level_of_region(const Box& region, int64_t levels);

/// A second look at regions of images: each is taken from the map that shows it best as 7x7 averages of 2x2 bilinear
/// samples, and goes through two fully connected layers with ReLU, of which come its class and, for each class, its
/// box. Lin et al. 2017; chainercv's FasterRCNNFPN head.
class KUSARI_API RegionHead : public Chain {
 public:
  static constexpr int64_t kBins = 7;        ///< averages along height and width
  static constexpr int64_t kSamples = 2;     ///< of each, along both
  static constexpr int64_t kFirstLevel = 2;  ///< the first map is P2, of which a pixel is 4 of the image

  /// outputs: classes, and one for the background.
  RegionHead(int64_t channels, int64_t outputs, int64_t units = 1024);
  /// maps: P2, P3, .. (N, channels, H, W). regions: of each of the N images, in pixels of images four times as high and
  /// wide as P2; one at least. Returns codes of boxes (R, 4 outputs), see AnchorCoder, and scores of classes
  /// (R, outputs) before softmax, image by image. Throws ValueError for another number of images, and without regions.
  std::pair<Variable, Variable> operator()(std::span<const Variable> maps,
                                           const std::vector<std::vector<Box>>& regions) const;
  /// The same of a number of regions R that does not depend on what is in the images, for static graphs. rois: (maps,
  /// R, 4) float32, for each map the regions that it shows, and `nowhere` in the rows of the others, of which a row of
  /// `nowhere` alone gives what zeros would. image: (R) integers.
  std::pair<Variable, Variable> operator()(std::span<const Variable> maps, const Array& rois, const Array& image) const;
  static constexpr Box nowhere{-4096, -4096, -4095, -4095};  ///< outside of all images

  Child<Linear> fc6, fc7, loc, conf;

 private:
  Variable pooled(std::span<const Variable> maps, size_t level, const Array& rois, const Array& image) const;
  Variable hidden(const Variable& x) const;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
