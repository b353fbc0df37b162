#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/vision_model.h"
#include "kusari/framework/links/normalization/batch_normalization.h"

namespace kusari::links {

/// Images of 224x224, or those of 32x32, for which the first two of the five strides of 2 are 1.
enum class MobileNetV2Stem : uint8_t { imagenet, cifar };

struct MobileNetV2Options {
  int64_t n_classes = 1000;
  MobileNetV2Stem stem = MobileNetV2Stem::imagenet;
  double dropout_ratio = 0.2;  ///< before the last affine map
  Initializer initial_w = {};  ///< of the convolutions; default: HeNormal by outputs
};

/// A 3x3 convolution of each channel and a 1x1 convolution, relu6 between: /depthwise, /bn1, /project, /bn2.
class KUSARI_API DepthwiseSeparable : public Chain {
 public:
  DepthwiseSeparable(int64_t in_channels, int64_t out_channels, int64_t stride, const Initializer& initial_w);
  Variable operator()(const Variable& x) const;

  Child<Convolution2D> depthwise;
  Child<BatchNormalization> bn1;
  Child<Convolution2D> project;
  Child<BatchNormalization> bn2;
};

/// Six times as many channels inside: /expand, /bn and /separable, beside the input where sizes and channels stay.
class KUSARI_API InvertedResidual : public Chain {
 public:
  InvertedResidual(int64_t in_channels, int64_t out_channels, int64_t stride, const Initializer& initial_w);
  Variable operator()(const Variable& x) const;

  Child<Convolution2D> expand;
  Child<BatchNormalization> bn;
  Child<DepthwiseSeparable> separable;

 private:
  bool is_residual_;
};

/// MobileNet version 2 of width 1. Layers: conv1, block0, blocks, conv2, pool, fc, prob. Sandler et al. 2018.
class KUSARI_API MobileNetV2 : public VisionModel {
 public:
  using Options = MobileNetV2Options;
  explicit MobileNetV2(Options options = {});

  Child<Convolution2D> conv1;
  Child<BatchNormalization> bn1;
  Child<DepthwiseSeparable> block0;
  Child<LinkList<InvertedResidual>> blocks;
  Child<Convolution2D> conv2;
  Child<BatchNormalization> bn2;
  Child<Linear> fc;

 protected:
  LayerTable layer_table() const override;

 private:
  double dropout_ratio_;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
