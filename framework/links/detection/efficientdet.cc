#include "kusari/framework/links/detection/efficientdet.h"

#include <cmath>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/activation/silu.h"
#include "kusari/framework/links/detection/head_outputs.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

namespace F = functions;

// D0 .. D4: of the pyramid, the heads and the images.
struct Compound {
  int64_t channels, cells, repeats, size;
};
constexpr Compound kCompounds[] = {
    {64, 3, 3, 512}, {88, 4, 3, 640}, {112, 5, 3, 768}, {160, 6, 4, 896}, {224, 7, 4, 1024}};
constexpr int64_t kLevels = 5, kAnchors = 9;

const Compound& compound_of(const EfficientDetOptions& o) {
  argument::require(o.phi >= 0 && o.phi <= 4, "L::EfficientDet", "phi", o.phi, "be in [0, 4]");
  argument::positive("L::EfficientDet", "n_classes", o.n_classes);
  return kCompounds[o.phi];
}

DetectorPreparation preparation_of(const EfficientDetOptions& o) {
  DetectorPreparation preparation = o.preparation;
  if (preparation.size == 0) preparation.size = compound_of(o).size;
  return preparation;
}

EfficientDetHeadSizes head_sizes(const EfficientDetOptions& o, int64_t numbers) {
  const Compound& compound = compound_of(o);
  return {compound.channels, compound.repeats, kLevels, kAnchors * numbers};
}

LinkList<SeparableConvolution2D> head_convs_of(const EfficientDetHeadSizes& sizes) {
  argument::count("L::EfficientDetHead", "repeats", sizes.repeats);
  argument::require(sizes.levels >= 1 && sizes.levels <= 20, "L::EfficientDetHead", "levels", sizes.levels,
                    "be in [1, 20]");
  LinkList<SeparableConvolution2D> convs;
  for (int64_t i = 0; i < sizes.repeats; ++i) {
    convs.append(SeparableConvolution2D(sizes.channels, sizes.channels, 3, {.pad = 1}));
  }
  return convs;
}

LinkList<BatchNormalization> head_bns_of(const EfficientDetHeadSizes& sizes) {
  LinkList<BatchNormalization> bns;
  for (int64_t i = 0; i < sizes.repeats * sizes.levels; ++i) {
    bns.append(BatchNormalization(sizes.channels, {.decay = 0.99, .eps = 1e-3}));
  }
  return bns;
}

}  // namespace

EfficientDetHead::EfficientDetHead(const EfficientDetHeadSizes& sizes, double initial_bias)
    : convs{*this, "convs", head_convs_of(sizes)},
      bns{*this, "bns", head_bns_of(sizes)},
      out{*this, "out", sizes.channels, sizes.out_channels, 3, {.pad = 1, .initial_bias = initial_bias}},
      levels_{sizes.levels} {}

Variable EfficientDetHead::operator()(const Variable& x, int64_t level) const {
  argument::require(level >= 0 && level < levels_, "L::EfficientDetHead", "level", level,
                    "be one of the head's levels");
  const LinkCall call(*this);
  Variable h = x;
  for (size_t i = 0; i < convs.size(); ++i) {
    h = F::silu(bns[i * static_cast<size_t>(levels_) + static_cast<size_t>(level)](convs[i](h)));
  }
  return out(h);
}

EfficientDet::EfficientDet(Options o)
    : Detector({.n_classes = o.n_classes,
                .grid = AnchorGrid(),
                .coding = {.matching = o.matching},
                .visualize = {.score_thresh = 0.4, .best_class_only = true},
                .evaluate = {.score_thresh = 0.001,
                             .candidates = 0,
                             .best_class_only = true,
                             .soft_nms = functions::SoftNmsOptions{}},
                .loss = {.gamma = 1.5, .loc = BoxLoss::huber, .delta = 0.1, .loc_weight = 12.5}},
               preparation_of(o)),
      extractor{*this, "extractor", {.phi = o.phi, .top = false, .drop_connect = o.drop_connect}},
      fpn{*this, "fpn",
          std::vector<int64_t>{EfficientNet::stage_channels(o.phi, 3), EfficientNet::stage_channels(o.phi, 5),
                               EfficientNet::stage_channels(o.phi, 7)},
          BiFPNOptions{.channels = compound_of(o).channels, .repeats = compound_of(o).cells, .levels = kLevels}},
      loc{*this, "loc", head_sizes(o, 4), 0.0},
      conf{*this, "conf", head_sizes(o, o.n_classes), -std::log(0.99 / 0.01)} {}

std::pair<Variable, Variable> EfficientDet::forward(const Variable& x) const {
  Activations maps = extractor(x, {"stage3", "stage5", "stage7"});
  const Variable taken[] = {maps["stage3"], maps["stage5"], maps["stage7"]};
  maps.clear();
  std::vector<Variable> locs, confs;
  int64_t level = 0;
  for (const Variable& map : fpn(taken)) {
    locs.push_back(detail::by_anchor(loc(map, level), 4));
    confs.push_back(detail::by_anchor(conf(map, level), n_classes()));
    ++level;
  }
  return detail::joined_levels(locs, confs);
}

}  // namespace kusari::links
