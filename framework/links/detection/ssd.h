#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/detection/detector.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct SSD300Options {
  int64_t n_classes = 20;      ///< without the background
  Initializer initial_w = {};  ///< default: HeNormal, and in Multibox Normal(0.01)
  /// For weights that come from Caffe's VGG16, as ChainerCV's and torchvision's do, SSD300::caffe_preparation().
  DetectorPreparation preparation = {
      .fit = DetectorFit::stretch, .size = 300, .mean = {123, 117, 104}, .deviation = {58, 57, 57}};
};

/// Vectors over channels, brought to length 1 and scaled for each channel: F::normalize(x) * scale.
/// x: (N, C, H, W). chainercv.links.model.ssd.Normalize.
class KUSARI_API Normalize : public Link {
 public:
  explicit Normalize(int64_t channels, Initializer initial_scale = 0, double norm_eps = 1e-5);
  Variable operator()(const Variable& x) const;

  Parameter scale;  ///< (channels)
  double eps;
};

/// VGG16 with its last layers as convolutions, and eight more: six maps for images of 300x300.
class KUSARI_API VGG16Extractor300 : public Chain {
 public:
  explicit VGG16Extractor300(const Initializer& initial_w);
  /// x: (N, 3, 300, 300). Returns maps of 38, 19, 10, 5, 3 and 1.
  Variables operator()(const Variable& x) const;

  Child<Convolution2D> conv1_1, conv1_2, conv2_1, conv2_2, conv3_1, conv3_2, conv3_3, conv4_1, conv4_2, conv4_3;
  Child<Normalize> norm4;
  Child<Convolution2D> conv5_1, conv5_2, conv5_3, conv6, conv7;
  Child<Convolution2D> conv8_1, conv8_2, conv9_1, conv9_2, conv10_1, conv10_2, conv11_1, conv11_2;
};

/// Boxes and classes at each place of each map, by a 3x3 convolution for each.
class KUSARI_API Multibox : public Chain {
 public:
  /// outputs: scores for each anchor; anchors: at a place of each map; channels: of each map.
  Multibox(int64_t outputs, const std::vector<int64_t>& anchors, const std::vector<int64_t>& channels,
           const Initializer& initial_w);
  /// xs: the maps. Returns codes (N, K, 4) and scores (N, K, outputs). Throws ValueError for another number of maps.
  std::pair<Variable, Variable> operator()(std::span<const Variable> xs) const;

  Child<LinkList<Convolution2D>> loc, conf;

 private:
  int64_t outputs_;
};

/// Single shot multibox detector for images of 300x300; confs has a number for the background before those of the
/// classes. 26,285,486 parameters for 20 classes. Parameter paths are ChainerCV's: its .npz files load, for images
/// that caffe_preparation() prepares. Liu et al. 2016; chainercv.links.SSD300.
class KUSARI_API SSD300 : public Detector {
 public:
  using Options = SSD300Options;
  explicit SSD300(Options options = {});
  /// Images of 300 x 300 less their mean alone. Random weights learn nothing of numbers that large.
  static DetectorPreparation caffe_preparation();

  Child<VGG16Extractor300> extractor;
  Child<Multibox> multibox;

 protected:
  std::pair<Variable, Variable> forward(const Variable& x) const override;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
