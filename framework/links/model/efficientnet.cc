#include "kusari/framework/links/model/efficientnet.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/activation/silu.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/functions/pooling/average_pooling_nd.h"
#include "kusari/framework/initializers/he.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

namespace F = functions;

const char* const kEfficientNet = "L::EfficientNet";

// B0's blocks: table 1 of the paper.
struct Stage {
  int64_t expansion, ksize, stride, n, out;
};
constexpr Stage kStages[] = {{1, 3, 1, 1, 16},  {6, 3, 2, 2, 24},  {6, 5, 2, 2, 40}, {6, 3, 2, 3, 80},
                             {6, 5, 1, 3, 112}, {6, 5, 2, 4, 192}, {6, 3, 1, 1, 320}};
constexpr int64_t kStageCount = 7, kStemChannels = 32, kTopChannels = 1280;

// What B0 .. B7 multiply B0's channels and blocks by, their images, and the dropout before the last layer.
struct Scaling {
  double width, depth;
  int64_t size;
  double dropout;
};
constexpr Scaling kScalings[] = {{1.0, 1.0, 224, 0.2}, {1.0, 1.1, 240, 0.2}, {1.1, 1.2, 260, 0.3},
                                 {1.2, 1.4, 300, 0.3}, {1.4, 1.8, 380, 0.4}, {1.6, 2.2, 456, 0.4},
                                 {1.8, 2.6, 528, 0.5}, {2.0, 3.1, 600, 0.5}};

const Scaling& scaling_of(int64_t phi) {
  argument::require(phi >= 0 && phi <= 7, kEfficientNet, "phi", phi, "be in [0, 7]");
  return kScalings[phi];
}

// A multiple of 8, no more than a tenth below.
int64_t scaled_channels(int64_t channels, const Scaling& scaling) {
  const double wide = static_cast<double>(channels) * scaling.width;
  const int64_t rounded = std::max<int64_t>(8, static_cast<int64_t>(wide + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * wide ? rounded + 8 : rounded;
}

int64_t scaled_blocks(int64_t n, const Scaling& scaling) {
  return static_cast<int64_t>(std::ceil(static_cast<double>(n) * scaling.depth));
}

// Of the original implementation.
BatchNormalizationOptions slow_averages() { return {.decay = 0.99, .eps = 1e-3}; }

Initializer weights(const EfficientNetOptions& o) {
  return o.initial_w ? o.initial_w : initializers::HeNormal(1, initializers::FanOption::fan_out);
}

ConvolutionOptions pointwise_conv(const Initializer& initial_w) { return {.nobias = true, .initial_w = initial_w}; }

LinkList<LinkList<MBConv>> make_stages(const EfficientNetOptions& o) {
  const Scaling& scaling = scaling_of(o.phi);
  argument::zero_to_below_one(kEfficientNet, "drop_connect", o.drop_connect);
  int64_t total = 0, done = 0;
  for (const Stage& stage : kStages) total += scaled_blocks(stage.n, scaling);
  LinkList<LinkList<MBConv>> stages;
  int64_t in = scaled_channels(kStemChannels, scaling);
  for (const Stage& stage : kStages) {
    LinkList<MBConv> blocks;
    const int64_t out = scaled_channels(stage.out, scaling);
    for (int64_t i = 0; i < scaled_blocks(stage.n, scaling); ++i, ++done) {
      blocks.append(MBConv({.in_channels = in,
                            .out_channels = out,
                            .expansion = stage.expansion,
                            .ksize = stage.ksize,
                            .stride = i == 0 ? stage.stride : 1,
                            .drop_connect = o.drop_connect * static_cast<double>(done) / static_cast<double>(total)},
                           weights(o)));
      in = out;
    }
    stages.append(std::move(blocks));
  }
  return stages;
}

// The channels inside a block.
int64_t expanded(const MBConvSizes& s) {
  const char* const call = "L::MBConv";
  argument::count(call, "in_channels", s.in_channels);
  argument::count(call, "expansion", s.expansion);
  argument::require(s.ksize >= 1 && s.ksize <= 101 && s.ksize % 2 == 1, call, "ksize", s.ksize, "be odd, in [1, 101]");
  argument::zero_to_below_one(call, "drop_connect", s.drop_connect);
  return s.expansion * s.in_channels;
}

// The whole branch of an example is left out, and those of others count for more.
Variable drop_connect(const Variable& h, double ratio) {
  if (ratio == 0 || !config().train) return h;
  const Variable one(ones({h.shape()[0], 1, 1, 1}, h.dtype(), h.device()), false);
  return h * F::dropout(one, ratio);
}

}  // namespace

MBConv::MBConv(const MBConvSizes& s, const Initializer& initial_w)
    : expand{*this, "expand", s.expansion != 1,
             Convolution2D(s.in_channels, expanded(s), 1, pointwise_conv(initial_w))},
      bn0{*this, "bn0", s.expansion != 1, BatchNormalization(expanded(s), slow_averages())},
      depthwise{
          *this,
          "depthwise",
          expanded(s),
          expanded(s),
          s.ksize,
          {.stride = s.stride, .pad = s.ksize / 2, .nobias = true, .initial_w = initial_w, .groups = expanded(s)}},
      bn1{*this, "bn1", expanded(s), slow_averages()},
      se{*this,
         "se",
         expanded(s),
         {.squeezed = std::max<int64_t>(1, s.in_channels / 4),
          .activation = SEActivation::swish,
          .initial_w = initial_w}},
      project{*this, "project", expanded(s), s.out_channels, 1, pointwise_conv(initial_w)},
      bn2{*this, "bn2", s.out_channels, slow_averages()},
      is_residual_{s.stride == 1 && s.in_channels == s.out_channels},
      drop_connect_{s.drop_connect} {}

Variable MBConv::operator()(const Variable& x) const {
  const LinkCall call(*this);
  Variable h = x;
  if (expand.is_present()) h = F::silu(bn0(expand(h)));
  h = bn2(project(se(F::silu(bn1(depthwise(h))))));
  return is_residual_ ? drop_connect(h, drop_connect_) + x : h;
}

EfficientNet::EfficientNet(Options o)
    : VisionModel(
          {.size = scaling_of(o.phi).size, .mean = {123.675, 116.28, 103.53}, .deviation = {58.395, 57.12, 57.375}}),
      stem{*this, "stem",
           3,     scaled_channels(kStemChannels, scaling_of(o.phi)),
           3,     {.stride = 2, .pad = 1, .nobias = true, .initial_w = weights(o)}},
      stem_bn{*this, "stem_bn", scaled_channels(kStemChannels, scaling_of(o.phi)), slow_averages()},
      stages{*this, "stages", make_stages(o)},
      top{*this, "top", o.top,
          Convolution2D(stage_channels(o.phi, kStageCount),
                        o.top ? scaled_channels(kTopChannels, scaling_of(o.phi)) : 1, 1, pointwise_conv(weights(o)))},
      top_bn{*this, "top_bn", o.top,
             BatchNormalization(o.top ? scaled_channels(kTopChannels, scaling_of(o.phi)) : 1, slow_averages())},
      fc{*this, "fc", o.top, Linear(o.top ? scaled_channels(kTopChannels, scaling_of(o.phi)) : kInfer, o.n_classes)},
      dropout_ratio_{scaling_of(o.phi).dropout} {}

int64_t EfficientNet::stage_channels(int64_t phi, int64_t stage) {
  argument::require(stage >= 1 && stage <= kStageCount, "L::EfficientNet::stage_channels", "stage", stage,
                    "be in [1, 7]");
  return scaled_channels(kStages[stage - 1].out, scaling_of(phi));
}

VisionModel::LayerTable EfficientNet::layer_table() const {
  using M = EfficientNet;
  using V = Variable;
  const auto stage = []<size_t kIndex>(std::integral_constant<size_t, kIndex>) {
    return [](const M& m, const V& h) {
      V y = h;
      for (const MBConv& block : m.stages[kIndex]) y = block(y);
      return y;
    };
  };
  static const Layer layers[] = {
      layer<M>("stem", [](const M& m, const V& h) { return F::silu(m.stem_bn(m.stem(h))); }),
      layer<M>("stage1", stage(std::integral_constant<size_t, 0>())),
      layer<M>("stage2", stage(std::integral_constant<size_t, 1>())),
      layer<M>("stage3", stage(std::integral_constant<size_t, 2>())),
      layer<M>("stage4", stage(std::integral_constant<size_t, 3>())),
      layer<M>("stage5", stage(std::integral_constant<size_t, 4>())),
      layer<M>("stage6", stage(std::integral_constant<size_t, 5>())),
      layer<M>("stage7", stage(std::integral_constant<size_t, 6>())),
      layer<M>("top", [](const M& m, const V& h) { return F::silu(m.top_bn(m.top(h))); }),
      layer<M>("pool", [](const M&, const V& h) { return F::global_average_pooling_2d(h); }),
      layer<M>("fc", [](const M& m, const V& h) { return m.fc(F::dropout(h, m.dropout_ratio_)); }),
      layer<M>("prob", [](const M&, const V& h) { return F::softmax(h); })};
  static const Layer features[] = {layers[0], layers[1], layers[2], layers[3], layers[4],
                                   layers[5], layers[6], layers[7], layers[9]};
  if (!fc.is_present()) return {features, "pool", "pool"};
  return {layers, "fc", "pool"};
}

}  // namespace kusari::links
