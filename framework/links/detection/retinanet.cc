#include "kusari/framework/links/detection/retinanet.h"

#include <cmath>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/links/detection/head_outputs.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

const char* const kRetinaNet = "L::RetinaNet";
constexpr int64_t kRetinaChannels = 256, kHeadConvs = 4;

const Initializer& narrow_normal() {
  static const Initializer* const initializer = new Initializer(initializers::Normal(0.01));
  return *initializer;
}

LinkList<Convolution2D> head_convs(int64_t channels) {
  LinkList<Convolution2D> convs;
  for (int64_t i = 0; i < kHeadConvs; ++i) {
    convs.append(Convolution2D(channels, channels, 3, {.pad = 1, .initial_w = narrow_normal(), .relu = true}));
  }
  return convs;
}

// All levels have as many anchors at a place.
int64_t anchors_of(const RetinaNetOptions& o) {
  argument::require(o.grid.levels() == 5, kRetinaNet, "grid.levels()", o.grid.levels(), "be 5: P3 to P7");
  return o.grid.at_place(0);
}

double bias_of(const RetinaNetOptions& o) {
  argument::require(o.prior > 0 && o.prior < 1, kRetinaNet, "prior", o.prior, "be between 0 and 1");
  argument::positive(kRetinaNet, "n_classes", o.n_classes);
  return -std::log((1 - o.prior) / o.prior);
}

}  // namespace

RetinaNetHead::RetinaNetHead(int64_t channels, int64_t out_channels, double initial_bias)
    : convs{*this, "convs", head_convs(channels)},
      out{*this,        "out", channels,
          out_channels, 3,     {.pad = 1, .initial_w = narrow_normal(), .initial_bias = initial_bias}} {}

Variable RetinaNetHead::operator()(const Variable& x) const {
  const LinkCall call(*this);
  Variable h = x;
  for (const Convolution2D& conv : convs) h = conv(h);
  return out(h);
}

RetinaNet::RetinaNet(Options o)
    : Detector({.n_classes = o.n_classes,
                .grid = o.grid,
                .coding = {.matching = o.matching},
                .visualize = {.score_thresh = 0.5},
                .evaluate = {},
                .loss = {}},
               o.preparation),
      extractor{*this, "extractor", o.depth, {.fc6 = false, .frozen_bn = o.frozen_bn}},
      fpn{*this, "fpn",
          std::vector<int64_t>{ResNetN::stage_channels(o.depth, 3), ResNetN::stage_channels(o.depth, 4),
                               ResNetN::stage_channels(o.depth, 5)},
          FPNOptions{.channels = kRetinaChannels}},
      loc{*this, "loc", kRetinaChannels, anchors_of(o) * 4, 0.0},
      conf{*this, "conf", kRetinaChannels, anchors_of(o) * o.n_classes, bias_of(o)} {}

std::pair<Variable, Variable> RetinaNet::forward(const Variable& x) const {
  Activations maps = extractor(x, {"res3", "res4", "res5"});
  const Variable taken[] = {maps["res3"], maps["res4"], maps["res5"]};
  maps.clear();
  std::vector<Variable> locs, confs;
  for (const Variable& map : fpn(taken)) {
    locs.push_back(detail::by_anchor(loc(map), 4));
    confs.push_back(detail::by_anchor(conf(map), n_classes()));
  }
  return detail::joined_levels(locs, confs);
}

}  // namespace kusari::links
