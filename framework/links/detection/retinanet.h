#pragma once

#include <cstdint>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/detection/detector.h"
#include "kusari/framework/links/detection/fpn.h"
#include "kusari/framework/links/model/resnet.h"

namespace kusari::links {

struct RetinaNetOptions {
  int64_t n_classes = 80;
  int64_t depth = 50;      ///< of the ResNet: 18, 34, 50, 101 or 152
  bool frozen_bn = false;  ///< the ResNet's normalizations do not learn and use their averages, for small batches
  AnchorGrid grid = AnchorGrid();  ///< AnchorGrid::torchvision() for its weights
  AnchorMatching matching = AnchorMatching::retinanet;
  DetectorPreparation preparation = {.fit = DetectorFit::shorter_side, .size = 800};
  double prior = 0.01;  ///< what each class of each anchor is thought to be before training
};

/// What RetinaNet says at each place of a level: four 3x3 convolutions with ReLU and a last one.
class KUSARI_API RetinaNetHead : public Chain {
 public:
  /// out_channels: anchors at a place times the numbers for each.
  RetinaNetHead(int64_t channels, int64_t out_channels, double initial_bias);
  Variable operator()(const Variable& x) const;

  Child<LinkList<Convolution2D>> convs;
  Child<Convolution2D> out;
};

/// A ResNet, a feature pyramid P3 .. P7 of 256 channels over res3, res4 and res5, and two heads that all levels share.
/// 91 classes over ResNet-50: 34,014,999 parameters and 53,120 of its normalizations. Focal loss with alpha 0.25 and
/// gamma 2, smooth L1 with delta 0.11; images with shorter side 800, longer one at most 1333.
/// `L::RetinaNet({.n_classes = 3, .depth = 18})`. Lin et al. 2017.
class KUSARI_API RetinaNet : public Detector {
 public:
  using Options = RetinaNetOptions;
  explicit RetinaNet(Options options = {});

  Child<ResNetN> extractor;
  Child<FPN> fpn;
  Child<RetinaNetHead> loc, conf;

 protected:
  std::pair<Variable, Variable> forward(const Variable& x) const override;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
