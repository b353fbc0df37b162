#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/detection/detection_train_chain.h"
#include "kusari/framework/links/detection/detector.h"
#include "kusari/framework/links/detection/fpn.h"
#include "kusari/framework/links/detection/region_head.h"
#include "kusari/framework/links/detection/region_proposals.h"
#include "kusari/framework/links/model/resnet.h"

namespace kusari::links {

struct FasterRCNNOptions {
  int64_t n_classes = 80;
  int64_t depth = 50;      ///< of the ResNet: 18, 34, 50, 101 or 152
  bool frozen_bn = false;  ///< the ResNet's normalizations do not learn and use their averages, for small batches
  AnchorGrid grid = AnchorGrid::faster_rcnn();
  DetectorPreparation preparation = {.fit = DetectorFit::shorter_side, .size = 800, .divisor = 32};
  ProposalOptions proposals = {};
  int64_t anchor_samples = 256;  ///< anchors of an image from which the proposals learn, half positive at most; 0: all
  int64_t region_samples = 512;  ///< regions from which the head learns, a quarter positive at most; 0: all
};

/// Finds objects in two looks: a ResNet with a feature pyramid P2 .. P6 of 256 channels proposes regions, and a head
/// looks at each of them again. 90 classes over ResNet-50: 41,755,286 parameters and 53,120 of its normalizations. With
/// torchvision's anchors, rules and losses. A call gives the first look alone: codes of boxes (N, K, 4) and one score
/// (N, K, 1) for each anchor of coder(H, W).
///
/// How many regions there are depends on the images, so that neither static graphs nor ONNX files can hold it: both are
/// refused, with StateError. `L::FasterRCNN({.n_classes = 3, .depth = 18})`. Ren et al. 2015, Lin et al. 2017;
/// chainercv.links.FasterRCNNFPNResNet50.
class KUSARI_API FasterRCNN : public Detector {
 public:
  using Options = FasterRCNNOptions;
  explicit FasterRCNN(Options options = {});

  /// What the first look gives.
  struct FirstLook {
    Variables maps;        ///< P2 .. P6
    Variable locs, confs;  ///< as a call gives them
  };
  FirstLook look(const Variable& x) const;
  /// The regions of each image that are looked at again, best first, see propose_regions. extents: of the images, at
  /// whose edges regions end. The detector's x has the height and width given.
  std::vector<std::vector<Box>> propose(const FirstLook& seen, int64_t height, int64_t width,
                                        std::span<const ImageExtent> extents) const;
  /// The second look, see RegionHead.
  std::pair<Variable, Variable> look_again(const FirstLook& seen, const std::vector<std::vector<Box>>& regions) const;
  /// Makes targets for the regions of one image, and boxes of the second look.
  AnchorCoder region_coder(const std::vector<Box>& regions, int64_t height, int64_t width) const;

  Child<ResNetN> extractor;
  Child<FPN> fpn;
  Child<RegionProposalHead> rpn;
  Child<RegionHead> head;
  ProposalOptions proposals;

 protected:
  std::pair<Variable, Variable> forward(const Variable& x) const override;
  std::vector<Detections> detect(const Variable& x, std::span<const ImageExtent> extents) const override;

 private:
  AnchorCoderOptions region_coding_;
};

/// FasterRCNN with its losses. A call takes prepared images (N, 3, H, W), their boxes (N, R, 4), and labels (N, R) of
/// integers, -1 in rows that only fill up; it makes the targets of both looks itself, drawing from kusari::random.
/// Returns the sum of all losses, and reports "loss", "loss/loc" and "loss/conf" (of the second look), "loss/rpn_loc"
/// and "loss/rpn_conf". Cross entropies are means over the anchors, or regions, that are drawn; so are the losses of
/// boxes, of which `options` has the kind and weight. What else is in `options` does not count here.
template <>
class KUSARI_API DetectionTrainChain<FasterRCNN> : public DetectionTrainChainBase {
 public:
  using Options = DetectionTrainChainOptions;
  explicit DetectionTrainChain(FasterRCNN detector, const Options& chain_options = {});

  Variable operator()(const Variable& x, const Variable& bbox, const Variable& label) const;

  Child<FasterRCNN> model;
  mutable Variable rpn_loc_loss;   ///< of the last call
  mutable Variable rpn_conf_loss;  ///< likewise

 private:
  struct Truth;
  void compare_first(const FasterRCNN::FirstLook& seen, const Truth& truth) const;
  void compare_second(const FasterRCNN::FirstLook& seen, const Truth& truth) const;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
