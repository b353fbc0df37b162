#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/detection/anchor_coder.h"
#include "kusari/framework/links/detection/detector.h"
#include "kusari/framework/links/link.h"

namespace kusari::links {

/// Which regions are looked at again.
struct ProposalOptions {
  int64_t train_candidates = 2000;  ///< of each level the anchors with the best scores, while config.train is on
  int64_t test_candidates = 1000;   ///< and otherwise
  int64_t train_limit = 2000;       ///< so many regions are left of an image, while config.train is on
  int64_t test_limit = 1000;        ///< and otherwise
  double nms_thresh = 0.7;          ///< within each level, regions are dropped whose IoU with a better one is above it
  double min_size = 1e-3;           ///< regions less high or wide, in pixels, are dropped
};

/// What says at each place of a level whether there is anything: a 3x3 convolution with ReLU, and two of 1x1, which all
/// levels share. Ren et al. 2015.
class KUSARI_API RegionProposalHead : public Chain {
 public:
  /// at_place: anchors at a place.
  RegionProposalHead(int64_t channels, int64_t at_place);
  /// maps: (N, channels, H, W) of each level. Returns codes of boxes (N, K, 4) and one score (N, K, 1) for each anchor.
  std::pair<Variable, Variable> operator()(std::span<const Variable> maps) const;

  Child<Convolution2D> conv, loc, conf;
};

/// The regions of each image, best first. locs, confs: what RegionProposalHead gives; extents: of the images, at whose
/// edges regions end. On the host; no gradients pass.
KUSARI_API std::vector<std::vector<Box>> propose_regions(const AnchorCoder& coder, const Variable& locs,
                                                         const Variable& confs, std::span<const ImageExtent> extents,
                                                         const ProposalOptions& options);

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
