#pragma once

#include <cstdint>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/vision_model.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/links/optional_child.h"

namespace kusari::links {

/// How a ResNet begins: 7x7 with stride 2 and max pooling for images of 224x224, or 3x3 with stride 1 and no pooling
/// for those of 32x32.
enum class ResNetStem : uint8_t { imagenet, cifar };

struct ResNetOptions {
  int64_t n_classes = 1000;
  ResNetStem stem = ResNetStem::imagenet;
  bool downsample_1x1 = false;  ///< stride 2 in the first 1x1 convolution of a bottleneck, instead of the 3x3 one
  Initializer initial_w = {};   ///< of the convolutions; default: HeNormal
  bool fc6 = true;              ///< false: without "fc6" and "prob"; a call gives "pool5"
  bool frozen_bn = false;       ///< see BatchNormalization::freeze
};

/// Residual blocks of one size: the first, "a", may change size and channels, the others are "b1", "b2", ...
class KUSARI_API ResidualBlocks : public ChainList<AnyLink> {
 public:
  Variable operator()(const Variable& x) const;

 protected:
  std::string list_name(size_t index) const override;
};

/// What all ResNets share: conv1 - bn1 - pool1 - res2 - res3 - res4 - res5 - pool5 - fc6 - prob, which are the layers'
/// names. He et al. 2015.
class KUSARI_API ResNet : public VisionModel {
 public:
  using Options = ResNetOptions;

  Child<Convolution2D> conv1;
  Child<BatchNormalization> bn1;
  Child<ResidualBlocks> res2, res3, res4, res5;
  OptionalChild<Linear> fc6;

 protected:
  /// Numbers of blocks in res2 .. res5, and whether a block is three convolutions (1x1, 3x3, 1x1) or two of 3x3.
  struct Plan {
    int64_t blocks[4];
    bool bottleneck;
    bool chainer = false;  ///< as in Chainer: conv1 with a bias, pool1 without padding, Caffe's images
  };
  ResNet(const Plan& plan, Options options);
  ResNet(const ResNet&) = default;
  ResNet(ResNet&&) noexcept = default;
  ResNet& operator=(const ResNet&) = default;
  ResNet& operator=(ResNet&&) noexcept = default;

  LayerTable layer_table() const override;

 private:
  ResNetStem stem_;
  bool chainer_;
};

/// The ResNets as they are usually trained today: no bias beside a normalization, stride 2 in the 3x3 convolutions,
/// images in red, green, blue. `L::ResNet18({.n_classes = 10, .stem = L::ResNetStem::cifar})`.
class KUSARI_API ResNet18 : public ResNet {
 public:
  explicit ResNet18(Options options = {}) : ResNet({{2, 2, 2, 2}, false}, std::move(options)) {}
};
class KUSARI_API ResNet34 : public ResNet {
 public:
  explicit ResNet34(Options options = {}) : ResNet({{3, 4, 6, 3}, false}, std::move(options)) {}
};
class KUSARI_API ResNet50 : public ResNet {
 public:
  explicit ResNet50(Options options = {}) : ResNet({{3, 4, 6, 3}, true}, std::move(options)) {}
};
class KUSARI_API ResNet101 : public ResNet {
 public:
  explicit ResNet101(Options options = {}) : ResNet({{3, 4, 23, 3}, true}, std::move(options)) {}
};
class KUSARI_API ResNet152 : public ResNet {
 public:
  explicit ResNet152(Options options = {}) : ResNet({{3, 8, 36, 3}, true}, std::move(options)) {}
};

/// One of these, chosen when it is made. depth: 18, 34, 50, 101 or 152; ValueError for another.
class KUSARI_API ResNetN : public ResNet {
 public:
  explicit ResNetN(int64_t depth, Options options = {}) : ResNet(plan_of_depth(depth), std::move(options)) {}
  /// Channels of res2 .. res5: stage_channels(50, 5) is 2048.
  static int64_t stage_channels(int64_t depth, int64_t stage);

 private:
  static Plan plan_of_depth(int64_t depth);
};

struct ResNetLayersOptions {
  int64_t n_classes = 1000;
  bool downsample_1x1 = true;  ///< stride 2 in the first 1x1 convolution of a bottleneck, instead of the 3x3 one
  Initializer initial_w = {};  ///< of the convolutions; default: HeNormal
};

/// Chainer's ResNets, after the original Caffe models: its .npz files load. chainer.links.ResNet50Layers.
class KUSARI_API ResNetLayers : public ResNet {
 public:
  using Options = ResNetLayersOptions;

 protected:
  ResNetLayers(const Plan& plan, Options options);
};
class KUSARI_API ResNet50Layers : public ResNetLayers {
 public:
  explicit ResNet50Layers(Options options = {}) : ResNetLayers({{3, 4, 6, 3}, true, true}, std::move(options)) {}
};
class KUSARI_API ResNet101Layers : public ResNetLayers {
 public:
  explicit ResNet101Layers(Options options = {}) : ResNetLayers({{3, 4, 23, 3}, true, true}, std::move(options)) {}
};
class KUSARI_API ResNet152Layers : public ResNetLayers {
 public:
  explicit ResNet152Layers(Options options = {}) : ResNetLayers({{3, 8, 36, 3}, true, true}, std::move(options)) {}
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
