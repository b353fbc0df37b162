#include "kusari/framework/links/detection/ssd.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/normalization/l2_normalization.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/initializers/he.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/links/detection/head_outputs.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

namespace F = functions;

// There is no normalization on the way: with LeCun's weights each of 23 ReLUs would halve the variance.
Initializer inner_weights(const Initializer& initial_w) { return initial_w ? initial_w : initializers::HeNormal(); }

// Of VGG16: 3x3 unless dilated.
ConvolutionOptions vgg_conv(const Initializer& initial_w, int64_t dilate = 1) {
  return {.pad = dilate, .initial_w = inner_weights(initial_w), .dilate = dilate, .relu = true};
}

ConvolutionOptions added_conv(const Initializer& initial_w, int64_t stride = 1, int64_t pad = 0) {
  return {.stride = stride, .pad = pad, .initial_w = inner_weights(initial_w), .relu = true};
}

// At first boxes move little, and no class is preferred by much.
Initializer last_weights(const Initializer& initial_w) { return initial_w ? initial_w : initializers::Normal(0.01); }

LinkList<Convolution2D> box_convs(int64_t numbers, const std::vector<int64_t>& anchors,
                                  const std::vector<int64_t>& channels, const Initializer& initial_w) {
  if (anchors.size() != channels.size()) {
    throw ValueError("L::Multibox: anchors has " + std::to_string(anchors.size()) + " entries and channels " +
                     std::to_string(channels.size()) + ": there must be as many");
  }
  argument::count("L::Multibox", "anchors.size()", static_cast<int64_t>(anchors.size()));
  argument::require(numbers >= 1 && numbers <= 1'000'000, "L::Multibox", "outputs", numbers, "be in [1, 1000000]");
  for (const int64_t at_place : anchors) argument::count("L::Multibox", "anchors[i]", at_place);
  LinkList<Convolution2D> convs;
  for (size_t i = 0; i < anchors.size(); ++i) {
    convs.append(Convolution2D(channels[i], anchors[i] * numbers, 3, {.pad = 1, .initial_w = last_weights(initial_w)}));
  }
  return convs;
}

std::vector<int64_t> anchors_at_places(const AnchorGrid& grid) {
  std::vector<int64_t> anchors;
  for (int64_t i = 0; i < grid.levels(); ++i) anchors.push_back(grid.at_place(i));
  return anchors;
}

}  // namespace

Normalize::Normalize(int64_t channels, Initializer initial_scale, double norm_eps)
    : scale{*this, "scale", {argument::positive("L::Normalize", "channels", channels)}, std::move(initial_scale)},
      eps{norm_eps} {}

Variable Normalize::operator()(const Variable& x) const {
  const LinkCall call(*this);
  return F::normalize(x, eps, 1) * F::reshape(scale, {scale.shape()[0], 1, 1});
}

VGG16Extractor300::VGG16Extractor300(const Initializer& w)
    : conv1_1{*this, "conv1_1", 3, 64, 3, vgg_conv(w)},
      conv1_2{*this, "conv1_2", 64, 64, 3, vgg_conv(w)},
      conv2_1{*this, "conv2_1", 64, 128, 3, vgg_conv(w)},
      conv2_2{*this, "conv2_2", 128, 128, 3, vgg_conv(w)},
      conv3_1{*this, "conv3_1", 128, 256, 3, vgg_conv(w)},
      conv3_2{*this, "conv3_2", 256, 256, 3, vgg_conv(w)},
      conv3_3{*this, "conv3_3", 256, 256, 3, vgg_conv(w)},
      conv4_1{*this, "conv4_1", 256, 512, 3, vgg_conv(w)},
      conv4_2{*this, "conv4_2", 512, 512, 3, vgg_conv(w)},
      conv4_3{*this, "conv4_3", 512, 512, 3, vgg_conv(w)},
      norm4{*this, "norm4", 512, 20.0},
      conv5_1{*this, "conv5_1", 512, 512, 3, vgg_conv(w)},
      conv5_2{*this, "conv5_2", 512, 512, 3, vgg_conv(w)},
      conv5_3{*this, "conv5_3", 512, 512, 3, vgg_conv(w)},
      conv6{*this, "conv6", 512, 1024, 3, vgg_conv(w, 6)},
      conv7{*this, "conv7", 1024, 1024, 1, added_conv(w)},
      conv8_1{*this, "conv8_1", 1024, 256, 1, added_conv(w)},
      conv8_2{*this, "conv8_2", 256, 512, 3, added_conv(w, 2, 1)},
      conv9_1{*this, "conv9_1", 512, 128, 1, added_conv(w)},
      conv9_2{*this, "conv9_2", 128, 256, 3, added_conv(w, 2, 1)},
      conv10_1{*this, "conv10_1", 256, 128, 1, added_conv(w)},
      conv10_2{*this, "conv10_2", 128, 256, 3, added_conv(w)},
      conv11_1{*this, "conv11_1", 256, 128, 1, added_conv(w)},
      conv11_2{*this, "conv11_2", 128, 256, 3, added_conv(w)} {}

Variables VGG16Extractor300::operator()(const Variable& x) const {
  const LinkCall call(*this);
  Variables maps;
  Variable h = F::max_pooling_2d(conv1_2(conv1_1(x)), 2);
  h = F::max_pooling_2d(conv2_2(conv2_1(h)), 2);
  h = F::max_pooling_2d(conv3_3(conv3_2(conv3_1(h))), 2);
  h = conv4_3(conv4_2(conv4_1(h)));
  maps.push_back(norm4(h));
  h = conv5_3(conv5_2(conv5_1(F::max_pooling_2d(h, 2))));
  h = conv7(conv6(F::max_pooling_2d(h, 3, {.stride = 1, .pad = 1})));
  maps.push_back(h);
  for (const auto& [narrow, wide] :
       {std::pair{&conv8_1, &conv8_2}, {&conv9_1, &conv9_2}, {&conv10_1, &conv10_2}, {&conv11_1, &conv11_2}}) {
    h = (*wide)((*narrow)(h));
    maps.push_back(h);
  }
  return maps;
}

Multibox::Multibox(int64_t outputs, const std::vector<int64_t>& anchors, const std::vector<int64_t>& channels,
                   const Initializer& initial_w)
    : loc{*this, "loc", box_convs(4, anchors, channels, initial_w)},
      conf{*this, "conf", box_convs(outputs, anchors, channels, initial_w)},
      outputs_{outputs} {}

std::pair<Variable, Variable> Multibox::operator()(std::span<const Variable> xs) const {
  if (xs.size() != loc.size()) {
    throw ValueError("L::Multibox: there are " + std::to_string(xs.size()) + " maps: it must be " +
                     std::to_string(loc.size()));
  }
  const LinkCall call(*this);
  std::vector<Variable> locs, confs;
  for (size_t i = 0; i < xs.size(); ++i) {
    locs.push_back(detail::by_anchor(loc[i](xs[i]), 4));
    confs.push_back(detail::by_anchor(conf[i](xs[i]), outputs_));
  }
  return detail::joined_levels(locs, confs);
}

SSD300::SSD300(Options o)
    : Detector(
          {.n_classes = o.n_classes,
           .grid = AnchorGrid::ssd(),
           .coding = {.matching = AnchorMatching::ssd, .variance = {0.1, 0.2}},
           .visualize =
               {.scores = AnchorScores::softmax, .score_thresh = 0.6, .candidates = 0, .nms_thresh = 0.45, .limit = 0},
           .evaluate =
               {.scores = AnchorScores::softmax, .score_thresh = 0.01, .candidates = 0, .nms_thresh = 0.45, .limit = 0},
           .loss = {.conf = ClassLoss::multibox, .delta = 1, .normalizer = functions::DetectionNormalizer::positives}},
          o.preparation),
      extractor{*this, "extractor", o.initial_w},
      multibox{*this,
               "multibox",
               argument::positive("L::SSD300", "n_classes", o.n_classes) + 1,
               anchors_at_places(grid()),
               std::vector<int64_t>{512, 1024, 512, 256, 256, 256},
               o.initial_w} {}

DetectorPreparation SSD300::caffe_preparation() {
  return {.fit = DetectorFit::stretch, .size = 300, .mean = {123, 117, 104}, .deviation = {1, 1, 1}};
}

std::pair<Variable, Variable> SSD300::forward(const Variable& x) const {
  const Variables maps = extractor(x);
  return multibox({maps.data(), maps.size()});
}

}  // namespace kusari::links
