#include "kusari/framework/links/model/resnet.h"

#include <span>
#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/pooling/average_pooling_nd.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/initializers/he.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

namespace F = functions;

// One block: `in` channels become `out`, a bottleneck works on `mid` between.
struct BlockPlan {
  int64_t in, mid, out, stride;
  bool downsample_1x1;
  Initializer initial_w;

  ConvolutionOptions conv(int64_t by = 1, int64_t pad = 0) const {
    return {.stride = by, .pad = pad, .nobias = true, .initial_w = initial_w};
  }
  ConvolutionOptions conv3x3(int64_t by) const { return conv(by, 1); }
};

// ReLU of the normalized convolution.
Variable normalized(const Convolution2D& conv, const BatchNormalization& bn, const Variable& x) {
  const F::ConvolutionWithSums h = conv.with_sums(x);
  return bn.relu(h.y, {.sums = h.sums});
}

// A block's input beside it, where it changes size and channels.
Variable projected(const Convolution2D& conv, const BatchNormalization& bn, const Variable& x) {
  const F::ConvolutionWithSums h = conv.with_sums(x);
  return bn(h.y, {.sums = h.sums});
}

// 1x1, 3x3, 1x1; beside them the input.
class BottleneckB : public Chain {
 public:
  explicit BottleneckB(const BlockPlan& p)
      : conv1{*this, "conv1", p.in, p.mid, 1, p.conv(p.downsample_1x1 ? p.stride : 1)},
        bn1{*this, "bn1", p.mid},
        conv2{*this, "conv2", p.mid, p.mid, 3, p.conv3x3(p.downsample_1x1 ? 1 : p.stride)},
        bn2{*this, "bn2", p.mid},
        conv3{*this, "conv3", p.mid, p.out, 1, p.conv()},
        bn3{*this, "bn3", p.out} {}
  Variable operator()(const Variable& x) const {
    const LinkCall call(*this);
    return add_to(x, x);
  }

 protected:
  Variable add_to(const Variable& shortcut, const Variable& x) const {
    const F::ConvolutionWithSums h = bn2.relu_convolution(bn1.relu_convolution(conv1.with_sums(x), conv2), conv3);
    return bn3.add_relu(h.y, shortcut, {.sums = h.sums});
  }

 private:
  Child<Convolution2D> conv1;
  Child<BatchNormalization> bn1;
  Child<Convolution2D> conv2;
  Child<BatchNormalization> bn2;
  Child<Convolution2D> conv3;
  Child<BatchNormalization> bn3;
};

// The same beside a 1x1 convolution of the input, which changes size and
// channels.
class BottleneckA : public BottleneckB {
 public:
  explicit BottleneckA(const BlockPlan& p)
      : BottleneckB(p), conv4{*this, "conv4", p.in, p.out, 1, p.conv(p.stride)}, bn4{*this, "bn4", p.out} {}
  Variable operator()(const Variable& x) const {
    const LinkCall call(*this);
    return add_to(projected(conv4, bn4, x), x);
  }

 private:
  Child<Convolution2D> conv4;
  Child<BatchNormalization> bn4;
};

// Two of 3x3; beside them the input.
class BasicB : public Chain {
 public:
  explicit BasicB(const BlockPlan& p)
      : conv1{*this, "conv1", p.in, p.out, 3, p.conv3x3(p.stride)},
        bn1{*this, "bn1", p.out},
        conv2{*this, "conv2", p.out, p.out, 3, p.conv3x3(1)},
        bn2{*this, "bn2", p.out} {}
  Variable operator()(const Variable& x) const {
    const LinkCall call(*this);
    return add_to(x, x);
  }

 protected:
  Variable add_to(const Variable& shortcut, const Variable& x) const {
    const F::ConvolutionWithSums h = bn1.relu_convolution(conv1.with_sums(x), conv2);
    return bn2.add_relu(h.y, shortcut, {.sums = h.sums});
  }

 private:
  Child<Convolution2D> conv1;
  Child<BatchNormalization> bn1;
  Child<Convolution2D> conv2;
  Child<BatchNormalization> bn2;
};

// The same beside a 1x1 convolution of the input.
class BasicA : public BasicB {
 public:
  explicit BasicA(const BlockPlan& p)
      : BasicB(p), conv3{*this, "conv3", p.in, p.out, 1, p.conv(p.stride)}, bn3{*this, "bn3", p.out} {}
  Variable operator()(const Variable& x) const {
    const LinkCall call(*this);
    return add_to(projected(conv3, bn3, x), x);
  }

 private:
  Child<Convolution2D> conv3;
  Child<BatchNormalization> bn3;
};

AnyLink make_block(const BlockPlan& p, bool bottleneck) {
  const bool changes = p.in != p.out || p.stride != 1;
  if (bottleneck) return changes ? AnyLink(BottleneckA(p)) : AnyLink(BottleneckB(p));
  return changes ? AnyLink(BasicA(p)) : AnyLink(BasicB(p));
}

ResidualBlocks make_blocks(int64_t n, bool bottleneck, BlockPlan p) {
  ResidualBlocks blocks;
  for (int64_t i = 0; i < n; ++i) {
    blocks.append(make_block(p, bottleneck));
    p.in = p.out;
    p.stride = 1;
  }
  return blocks;
}

// Channels of res<number>, and what goes into it.
BlockPlan plan_of(int number, bool bottleneck, const ResNetOptions& o, const Initializer& initial_w) {
  const int64_t mid = int64_t{64} << (number - 2), widening = bottleneck ? 4 : 1;
  return {.in = number == 2 ? 64 : mid / 2 * widening,
          .mid = mid,
          .out = mid * widening,
          .stride = number == 2 ? 1 : 2,
          .downsample_1x1 = o.downsample_1x1,
          .initial_w = initial_w};
}

Initializer weights(const ResNetOptions& o) { return o.initial_w ? o.initial_w : initializers::HeNormal(); }

ImagePreparation preparation_for(ResNetStem stem, bool chainer) {
  if (chainer) return {.size = 224, .bgr = true, .mean = {103.063, 115.903, 123.152}};
  // Over ImageNet's photos, as torchvision's weights expect; for small images
  // just 0 .. 1.
  if (stem == ResNetStem::imagenet) {
    return {.size = 224, .mean = {123.675, 116.28, 103.53}, .deviation = {58.395, 57.12, 57.375}};
  }
  return {.size = 32, .deviation = {255, 255, 255}};
}

ConvolutionOptions stem_options(const ResNetOptions& o, bool chainer) {
  const bool large = o.stem == ResNetStem::imagenet;
  return {.stride = large ? 2 : 1, .pad = large ? 3 : 1, .nobias = !chainer, .initial_w = weights(o)};
}

}  // namespace

Variable ResidualBlocks::operator()(const Variable& x) const {
  const LinkCall call(*this);
  Variable h = x;
  for (const AnyLink& block : *this) h = block(h);
  return h;
}

std::string ResidualBlocks::list_name(size_t index) const { return index == 0 ? "a" : "b" + std::to_string(index); }

ResNet::ResNet(const Plan& p, Options o)
    : VisionModel(preparation_for(o.stem, p.chainer)),
      conv1{*this, "conv1", 3, 64, o.stem == ResNetStem::imagenet ? 7 : 3, stem_options(o, p.chainer)},
      bn1{*this, "bn1", 64},
      res2{*this, "res2", make_blocks(p.blocks[0], p.bottleneck, plan_of(2, p.bottleneck, o, weights(o)))},
      res3{*this, "res3", make_blocks(p.blocks[1], p.bottleneck, plan_of(3, p.bottleneck, o, weights(o)))},
      res4{*this, "res4", make_blocks(p.blocks[2], p.bottleneck, plan_of(4, p.bottleneck, o, weights(o)))},
      res5{*this, "res5", make_blocks(p.blocks[3], p.bottleneck, plan_of(5, p.bottleneck, o, weights(o)))},
      fc6{*this, "fc6", o.fc6, Linear(o.fc6 ? (p.bottleneck ? 2048 : 512) : kInfer, o.n_classes)},
      stem_{o.stem},
      chainer_{p.chainer} {
  if (o.frozen_bn) freeze_batch_normalization(*this);
}

ResNetLayers::ResNetLayers(const Plan& plan, Options o)
    : ResNet(plan,
             ResNetOptions{
                 .n_classes = o.n_classes, .downsample_1x1 = o.downsample_1x1, .initial_w = std::move(o.initial_w)}) {}

VisionModel::LayerTable ResNet::layer_table() const {
  static const Layer layers[] = {
      layer<ResNet>("conv1", [](const ResNet& m, const Variable& h) { return normalized(m.conv1, m.bn1, h); }),
      layer<ResNet>("pool1",
                    [](const ResNet& m, const Variable& h) {
                      if (m.stem_ == ResNetStem::cifar) return h;
                      if (m.chainer_) return F::max_pooling_2d(h, 3, {.stride = 2});
                      return F::max_pooling_2d(h, 3, {.stride = 2, .pad = 1, .cover_all = false});
                    }),
      layer<ResNet>("res2", [](const ResNet& m, const Variable& h) { return m.res2(h); }),
      layer<ResNet>("res3", [](const ResNet& m, const Variable& h) { return m.res3(h); }),
      layer<ResNet>("res4", [](const ResNet& m, const Variable& h) { return m.res4(h); }),
      layer<ResNet>("res5", [](const ResNet& m, const Variable& h) { return m.res5(h); }),
      layer<ResNet>("pool5", [](const ResNet&, const Variable& h) { return F::global_average_pooling_2d(h); }),
      layer<ResNet>("fc6", [](const ResNet& m, const Variable& h) { return m.fc6(h); }),
      layer<ResNet>("prob", [](const ResNet&, const Variable& h) { return F::softmax(h); })};
  if (!fc6.is_present()) return {std::span(layers).first(7), "pool5", "pool5"};
  return {layers, "fc6", "pool5"};
}

ResNet::Plan ResNetN::plan_of_depth(int64_t depth) {
  switch (depth) {
    case 18:
      return {{2, 2, 2, 2}, false};
    case 34:
      return {{3, 4, 6, 3}, false};
    case 50:
      return {{3, 4, 6, 3}, true};
    case 101:
      return {{3, 4, 23, 3}, true};
    case 152:
      return {{3, 8, 36, 3}, true};
    default:
      argument::refuse("L::ResNetN", "depth", std::to_string(depth), "be 18, 34, 50, 101 or 152");
  }
}

int64_t ResNetN::stage_channels(int64_t depth, int64_t stage) {
  argument::require(stage >= 2 && stage <= 5, "L::ResNetN::stage_channels", "stage", stage, "be in [2, 5]");
  return (int64_t{64} << (stage - 2)) * (plan_of_depth(depth).bottleneck ? 4 : 1);
}

}  // namespace kusari::links
