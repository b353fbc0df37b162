#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/connection/se_block.h"
#include "kusari/framework/links/model/vision_model.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/links/optional_child.h"

namespace kusari::links {

struct EfficientNetOptions {
  int64_t n_classes = 1000;
  int64_t phi = 0;             ///< B0 to B7: wider, deeper, for larger images
  bool top = true;             ///< false: without "top", "fc" and "prob"; a call gives the means of "stage7"
  double drop_connect = 0.2;   ///< how often the last block is left out beside its input; the first never
  Initializer initial_w = {};  ///< of the convolutions; default: HeNormal by outputs
};

/// What an MBConv is.
struct MBConvSizes {
  int64_t in_channels, out_channels;
  int64_t expansion;      ///< so many times as many channels inside
  int64_t ksize, stride;  ///< of the depthwise convolution
  double drop_connect;    ///< how often it is left out beside its input
};

/// Inverted residual block: more channels by a 1x1 convolution, a depthwise one, squeeze and excitation, fewer channels
/// by another 1x1 convolution, beside the input where sizes and channels stay; with swish.
class KUSARI_API MBConv : public Chain {
 public:
  MBConv(const MBConvSizes& sizes, const Initializer& initial_w);
  Variable operator()(const Variable& x) const;

  OptionalChild<Convolution2D> expand;  ///< absent when no channels are added, as is bn0
  OptionalChild<BatchNormalization> bn0;
  Child<Convolution2D> depthwise;
  Child<BatchNormalization> bn1;
  Child<SEBlock> se;
  Child<Convolution2D> project;
  Child<BatchNormalization> bn2;

 private:
  bool is_residual_;
  double drop_connect_;
};

/// EfficientNet. Layers: stem, stage1, .., stage7, top, pool, fc, prob. B0 has 5,288,548 parameters for 1000 classes,
/// 3,595,388 without its top; stage3, stage5 and stage7 are what detectors take, with strides 8, 16 and 32. Tan and Le
/// 2019.
class KUSARI_API EfficientNet : public VisionModel {
 public:
  using Options = EfficientNetOptions;
  /// Throws ValueError for options out of range.
  explicit EfficientNet(Options options = {});
  /// The channels of stage1 .. stage7 of B<phi>: stage_channels(0, 3) is 40.
  static int64_t stage_channels(int64_t phi, int64_t stage);

  Child<Convolution2D> stem;
  Child<BatchNormalization> stem_bn;
  Child<LinkList<LinkList<MBConv>>> stages;
  OptionalChild<Convolution2D> top;
  OptionalChild<BatchNormalization> top_bn;
  OptionalChild<Linear> fc;

 protected:
  LayerTable layer_table() const override;

 private:
  double dropout_ratio_;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
