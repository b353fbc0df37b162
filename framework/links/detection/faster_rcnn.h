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
/// (N, K, 1) for each anchor of coder(H, W); that is what static_graph(model) replays and onnx::export_model writes.
/// onnx::export_detector writes both looks. How many regions there are depends on the images, and they are chosen on
/// the host: in static graphs and exports, propose(), find() and predict() throw StateError. `L::FasterRCNN({.n_classes
/// = 3, .depth = 18})`. Ren et al. 2015, Lin et al. 2017; chainercv.links.FasterRCNNFPNResNet50.
class KUSARI_API FasterRCNN : public Detector {
 public:
  using Options = FasterRCNNOptions;
  static constexpr int64_t kPooledLevels = 4;  ///< of the maps, P2 .. P5 are those that the second look sees
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
  /// What find() finds when the first look is done, as places in x, of the height and width given: for programs that
  /// replay look(x).
  std::vector<Detections> find_again(const FirstLook& seen, int64_t height, int64_t width,
                                     std::span<const ImageExtent> extents) const;
  /// FasterRCNNOptions::region_samples.
  int64_t region_samples() const noexcept { return region_coding_.samples; }

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

struct AnchorComparison;
struct RegionComparison;

/// FasterRCNN with its losses. A call takes prepared images (N, 3, H, W), their boxes (N, R, 4), and labels (N, R) of
/// integers, -1 in rows that only fill up; it makes the targets of both looks itself, drawing from kusari::random.
/// Returns the sum of all losses, and reports "loss", "loss/loc" and "loss/conf" (of the second look), "loss/rpn_loc"
/// and "loss/rpn_conf". Cross entropies are means over the anchors, or regions, that are drawn; so are the losses of
/// boxes, of which `options` has the kind and weight. What else is in `options` does not count here.
///
/// Static graphs record the whole call: the host makes the targets in each replay, as static_code does, and the head
/// looks at region_samples regions of each image, where fewer are drawn at regions that give nothing. Losses are those
/// of other calls to rounding. They are refused, with StateError, where region_samples is 0.
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
  struct Recorded;
  void learn(const FasterRCNN::FirstLook& seen, const Variable& bbox, const Variable& label, int64_t height,
             int64_t width) const;
  void record(const FasterRCNN::FirstLook& seen, const Variable& bbox, const Variable& label, int64_t height,
              int64_t width) const;
  void compare_anchors(const FasterRCNN::FirstLook& seen, const AnchorComparison& with) const;
  void compare_regions(const std::pair<Variable, Variable>& outputs, const RegionComparison& with) const;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
