#pragma once

#include <cstdint>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/separable_convolution_2d.h"
#include "kusari/framework/links/detection/bifpn.h"
#include "kusari/framework/links/detection/detector.h"
#include "kusari/framework/links/model/efficientnet.h"
#include "kusari/framework/links/normalization/batch_normalization.h"

namespace kusari::links {

struct EfficientDetOptions {
  int64_t n_classes = 90;
  int64_t phi = 0;            ///< D0 to D4: EfficientNet-B0 to B4, wider pyramids and larger images
  double drop_connect = 0.2;  ///< of the EfficientNet
  AnchorMatching matching = AnchorMatching::efficientdet;
  DetectorPreparation preparation = {.size = 0};  ///< size 0: 512, 640, 768, 896 or 1024 by phi
};

/// What an EfficientDetHead is: its convolutions and levels, and its outputs at each place.
struct EfficientDetHeadSizes {
  int64_t channels, repeats, levels, out_channels;
};

/// What EfficientDet says at each place: separable convolutions with swish that all levels share, between them
/// normalizations of each level's own, and a last separable convolution.
class KUSARI_API EfficientDetHead : public Chain {
 public:
  EfficientDetHead(const EfficientDetHeadSizes& sizes, double initial_bias);
  /// x: the map of a level.
  Variable operator()(const Variable& x, int64_t level) const;

  Child<LinkList<SeparableConvolution2D>> convs;
  Child<LinkList<BatchNormalization>> bns;  ///< of level l behind convolution r: number r * levels + l
  Child<SeparableConvolution2D> out;

 private:
  int64_t levels_;
};

/// EfficientNet, BiFPN over P3 .. P7 and two heads: D0 with 90 classes has 3,880,067 parameters. Focal loss with alpha
/// 0.25 and gamma 1.5, Huber loss of boxes with delta 0.1 times 50 / 4; images in proportion on 512 x 512.
/// `L::EfficientDet({.n_classes = 20})`. Tan et al. 2020.
class KUSARI_API EfficientDet : public Detector {
 public:
  using Options = EfficientDetOptions;
  explicit EfficientDet(Options options = {});

  Child<EfficientNet> extractor;
  Child<BiFPN> fpn;
  Child<EfficientDetHead> loc, conf;

 protected:
  std::pair<Variable, Variable> forward(const Variable& x) const override;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
