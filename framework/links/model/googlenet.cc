#include "kusari/framework/links/model/googlenet.h"

#include <utility>

#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/functions/normalization/local_response_normalization.h"
#include "kusari/framework/functions/pooling/average_pooling_nd.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/initializers/lecun.h"

namespace kusari::links {
namespace {

namespace F = functions;

// Of Caffe's model; in the order blue, green, red.
constexpr ImagePreparation kGoogLeNetPreparation = {.size = 224, .bgr = true, .mean = {104, 117, 123}};

// What Caffe calls "xavier".
Initializer weights(const GoogLeNetOptions& o) { return o.initial_w ? o.initial_w : initializers::LeCunUniform(); }

Variable halve(const Variable& h) { return F::max_pooling_2d(h, 3, {.stride = 2}); }
Variable normalize(const Variable& h) {
  return F::local_response_normalization(h, {.n = 5, .k = 1, .alpha = 1e-4 / 5});
}
Variable pool_for_loss(const Variable& h) { return F::average_pooling_2d(h, 5, {.stride = 3}); }

}  // namespace

// The numbers of an Inception module are those of table 1 in the paper.
GoogLeNet::GoogLeNet(Options o)
    : VisionModel(kGoogLeNetPreparation),
      conv1{*this, "conv1", 3, 64, 7, {.stride = 2, .pad = 3, .initial_w = weights(o)}},
      conv2_reduce{*this, "conv2_reduce", 64, 64, 1, {.initial_w = weights(o)}},
      conv2{*this, "conv2", 64, 192, 3, {.pad = 1, .initial_w = weights(o)}},
      inc3a{*this, "inc3a", 192, {64, 96, 128, 16, 32, 32}},
      inc3b{*this, "inc3b", 256, {128, 128, 192, 32, 96, 64}},
      inc4a{*this, "inc4a", 480, {192, 96, 208, 16, 48, 64}},
      inc4b{*this, "inc4b", 512, {160, 112, 224, 24, 64, 64}},
      inc4c{*this, "inc4c", 512, {128, 128, 256, 24, 64, 64}},
      inc4d{*this, "inc4d", 512, {112, 144, 288, 32, 64, 64}},
      inc4e{*this, "inc4e", 528, {256, 160, 320, 32, 128, 128}},
      inc5a{*this, "inc5a", 832, {256, 160, 320, 32, 128, 128}},
      inc5b{*this, "inc5b", 832, {384, 192, 384, 48, 128, 128}},
      loss3_fc{*this, "loss3_fc", 1024, o.n_classes, {.initial_w = weights(o)}},
      loss1_conv{*this, "loss1_conv", 512, 128, 1, {.initial_w = weights(o)}},
      loss1_fc1{*this, "loss1_fc1", 2048, 1024, {.initial_w = weights(o)}},
      loss1_fc2{*this, "loss1_fc2", 1024, o.n_classes, {.initial_w = weights(o)}},
      loss2_conv{*this, "loss2_conv", 528, 128, 1, {.initial_w = weights(o)}},
      loss2_fc1{*this, "loss2_fc1", 2048, 1024, {.initial_w = weights(o)}},
      loss2_fc2{*this, "loss2_fc2", 1024, o.n_classes, {.initial_w = weights(o)}} {}

VisionModel::LayerTable GoogLeNet::layer_table() const {
  using M = GoogLeNet;
  using V = Variable;
  static const Layer layers[] = {
      layer<M>("conv1", [](const M& m, const V& h) { return F::relu(m.conv1(h)); }),
      layer<M>("pool1", [](const M&, const V& h) { return normalize(halve(h)); }),
      layer<M>("conv2_reduce", [](const M& m, const V& h) { return F::relu(m.conv2_reduce(h)); }),
      layer<M>("conv2", [](const M& m, const V& h) { return normalize(F::relu(m.conv2(h))); }),
      layer<M>("pool2", [](const M&, const V& h) { return halve(h); }),
      layer<M>("inception_3a", [](const M& m, const V& h) { return m.inc3a(h); }),
      layer<M>("inception_3b", [](const M& m, const V& h) { return m.inc3b(h); }),
      layer<M>("pool3", [](const M&, const V& h) { return halve(h); }),
      layer<M>("inception_4a", [](const M& m, const V& h) { return m.inc4a(h); }),
      layer<M>("inception_4b", [](const M& m, const V& h) { return m.inc4b(h); }),
      layer<M>("inception_4c", [](const M& m, const V& h) { return m.inc4c(h); }),
      layer<M>("inception_4d", [](const M& m, const V& h) { return m.inc4d(h); }),
      layer<M>("inception_4e", [](const M& m, const V& h) { return m.inc4e(h); }),
      layer<M>("pool4", [](const M&, const V& h) { return halve(h); }),
      layer<M>("inception_5a", [](const M& m, const V& h) { return m.inc5a(h); }),
      layer<M>("inception_5b", [](const M& m, const V& h) { return m.inc5b(h); }),
      layer<M>("pool5", [](const M&, const V& h) { return F::average_pooling_2d(h, 7, {.stride = 1}); }),
      layer<M>("loss3_fc", [](const M& m, const V& h) { return m.loss3_fc(F::dropout(h, 0.4)); }),
      layer<M>("prob", [](const M&, const V& h) { return F::softmax(h); }),
      layer<M>(
          "loss1_fc2",
          [](const M& m,
             const V& h) { return m.loss1_fc2(F::relu(m.loss1_fc1(F::relu(m.loss1_conv(pool_for_loss(h)))))); },
          "inception_4a"),
      layer<M>(
          "loss2_fc2",
          [](const M& m,
             const V& h) { return m.loss2_fc2(F::relu(m.loss2_fc1(F::relu(m.loss2_conv(pool_for_loss(h)))))); },
          "inception_4d")};
  return {layers, "loss3_fc", "pool5"};
}

}  // namespace kusari::links
