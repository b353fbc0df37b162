#include "kusari/framework/links/model/mobilenet_v2.h"

#include <utility>

#include "kusari/framework/functions/activation/clipped_relu.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/functions/pooling/average_pooling_nd.h"
#include "kusari/framework/initializers/he.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {
namespace {

namespace F = functions;

constexpr int64_t kFirstChannels = 32, kLastChannels = 1280, kExpansion = 6;

// Blocks of one size: table 2 of the paper, without its first line.
struct Group {
  int64_t out, n, stride;
};
constexpr Group kGroups[] = {{24, 2, 2}, {32, 3, 2}, {64, 4, 2}, {96, 3, 1}, {160, 3, 2}, {320, 1, 1}};

Variable relu6(const Variable& x) { return F::clipped_relu(x, 6); }

ConvolutionOptions conv1x1(const Initializer& initial_w) { return {.nobias = true, .initial_w = initial_w}; }

Initializer weights(const MobileNetV2Options& o) {
  return o.initial_w ? o.initial_w : initializers::HeNormal(1, initializers::FanOption::fan_out);
}

bool is_small(const MobileNetV2Options& o) { return o.stem == MobileNetV2Stem::cifar; }

// As torchvision's weights expect; small images just 0 .. 1.
ImagePreparation preparation_for(const MobileNetV2Options& o) {
  if (is_small(o)) return {.size = 32, .deviation = {255, 255, 255}};
  return {.size = 224, .mean = {123.675, 116.28, 103.53}, .deviation = {58.395, 57.12, 57.375}};
}

LinkList<InvertedResidual> make_blocks(const MobileNetV2Options& o) {
  LinkList<InvertedResidual> blocks;
  int64_t in = 16;
  for (const Group& group : kGroups) {
    for (int64_t i = 0; i < group.n; ++i) {
      const bool keeps_size = i > 0 || (is_small(o) && &group == kGroups);
      blocks.append(InvertedResidual(in, group.out, keeps_size ? 1 : group.stride, weights(o)));
      in = group.out;
    }
  }
  return blocks;
}

}  // namespace

DepthwiseSeparable::DepthwiseSeparable(int64_t in_channels, int64_t out_channels, int64_t stride,
                                       const Initializer& initial_w)
    : depthwise{*this,
                "depthwise",
                in_channels,
                in_channels,
                3,
                {.stride = stride, .pad = 1, .nobias = true, .initial_w = initial_w, .groups = in_channels}},
      bn1{*this, "bn1", in_channels},
      project{*this, "project", in_channels, out_channels, 1, conv1x1(initial_w)},
      bn2{*this, "bn2", out_channels} {}

Variable DepthwiseSeparable::operator()(const Variable& x) const {
  const LinkCall call(*this);
  return bn2(project(relu6(bn1(depthwise(x)))));
}

InvertedResidual::InvertedResidual(int64_t in_channels, int64_t out_channels, int64_t stride,
                                   const Initializer& initial_w)
    : expand{*this,       "expand",
             in_channels, size_times("L::InvertedResidual", "in_channels", in_channels, kExpansion),
             1,           conv1x1(initial_w)},
      bn{*this, "bn", kExpansion * in_channels},
      separable{*this, "separable", kExpansion * in_channels, out_channels, stride, initial_w},
      is_residual_{stride == 1 && in_channels == out_channels} {}

Variable InvertedResidual::operator()(const Variable& x) const {
  const LinkCall call(*this);
  const Variable h = separable(relu6(bn(expand(x))));
  return is_residual_ ? x + h : h;
}

MobileNetV2::MobileNetV2(Options o)
    : VisionModel(preparation_for(o)),
      conv1{*this, "conv1",
            3,     kFirstChannels,
            3,     {.stride = is_small(o) ? 1 : 2, .pad = 1, .nobias = true, .initial_w = weights(o)}},
      bn1{*this, "bn1", kFirstChannels},
      block0{*this, "block0", kFirstChannels, 16, 1, weights(o)},
      blocks{*this, "blocks", make_blocks(o)},
      conv2{*this, "conv2", 320, kLastChannels, 1, conv1x1(weights(o))},
      bn2{*this, "bn2", kLastChannels},
      fc{*this, "fc", kLastChannels, o.n_classes},
      dropout_ratio_{o.dropout_ratio} {}

VisionModel::LayerTable MobileNetV2::layer_table() const {
  using M = MobileNetV2;
  using V = Variable;
  static const Layer layers[] = {
      layer<M>("conv1", [](const M& m, const V& h) { return relu6(m.bn1(m.conv1(h))); }),
      layer<M>("block0", [](const M& m, const V& h) { return m.block0(h); }),
      layer<M>("blocks",
               [](const M& m, const V& h) {
                 V y = h;
                 for (const InvertedResidual& block : m.blocks) y = block(y);
                 return y;
               }),
      layer<M>("conv2", [](const M& m, const V& h) { return relu6(m.bn2(m.conv2(h))); }),
      layer<M>("pool", [](const M&, const V& h) { return F::global_average_pooling_2d(h); }),
      layer<M>("fc", [](const M& m, const V& h) { return m.fc(F::dropout(h, m.dropout_ratio_)); }),
      layer<M>("prob", [](const M&, const V& h) { return F::softmax(h); })};
  return {layers, "fc", "pool"};
}

}  // namespace kusari::links
