#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/functions/detection/box.h"
#include "kusari/framework/functions/loss/sigmoid_focal_loss.h"
#include "kusari/framework/links/detection/anchor_coder.h"
#include "kusari/framework/links/detection/anchor_grid.h"
#include "kusari/framework/links/link.h"

namespace kusari::links {

/// How images of any size become what a detector takes.
enum class DetectorFit : uint8_t {
  /// In proportion, so that the longer side is `size`; the rest of size x size is filled at the bottom and to the
  /// right.
  longer_side,
  /// In proportion, so that the shorter side is `size`, or the longer one max_size if it would be larger; filled to the
  /// largest of the images of one call, and to multiples of `divisor`.
  shorter_side,
  /// Height and width become `size`.
  stretch,
};

/// y = (x - mean) / deviation for each channel, x in 0 .. 255 and red first; what is filled is 0 then.
struct DetectorPreparation {
  DetectorFit fit = DetectorFit::longer_side;
  int64_t size = 512;
  int64_t max_size = 1333;  ///< of shorter_side
  int64_t divisor = 128;    ///< of shorter_side
  std::array<double, 3> mean = {123.675, 116.28, 103.53};
  std::array<double, 3> deviation = {58.395, 57.12, 57.375};
};

/// An image as a detector takes it, and what makes boxes of its own boxes.
struct PreparedImage {
  Array image;         ///< (3, height, width) float32, channels innermost in memory, on the CPU; nothing filled yet
  double y_scale = 1;  ///< new height / old height
  double x_scale = 1;  ///< new width / old width
};

/// The part of a picture, from its upper left, that an image fills.
struct ImageExtent {
  double height, width;
};

/// How far off boxes count: of each of the four differences d.
enum class BoxLoss : uint8_t {
  smooth_l1,  ///< d^2 / (2 delta) for |d| <= delta, else |d| - delta / 2
  huber,      ///< delta times smooth_l1
  l1,         ///< |d|
};

/// How classes are learnt.
enum class ClassLoss : uint8_t {
  focal,     ///< F::sigmoid_focal_loss
  multibox,  ///< softmax, of the background only the hardest anchors of each image: Liu et al. 2016
};

/// loss = loss/conf + loc_weight * loss/loc, where both are sums over anchors, divided by the normalizer.
struct DetectionLossOptions {
  ClassLoss conf = ClassLoss::focal;
  double alpha = 0.25;        ///< of focal
  double gamma = 2;           ///< of focal
  double negative_ratio = 3;  ///< of multibox: background anchors for each positive one
  BoxLoss loc = BoxLoss::smooth_l1;
  double delta = 0.11;    ///< of smooth_l1 and huber
  double loc_weight = 1;  ///< EfficientDet: 50 / 4
  functions::DetectionNormalizer normalizer = functions::DetectionNormalizer::batch;
};

/// A network that finds objects by anchors: what RetinaNet, EfficientDet, SSD300 and FasterRCNN share.
class KUSARI_API Detector : public Chain {
 public:
  /// x: (N, 3, H, W), prepared: sizes, means and deviations as `preparation` says. Returns (locs, confs): codes of
  /// boxes (N, K, 4), see AnchorCoder, and scores of classes (N, K, C) before sigmoid or softmax, for the K anchors
  /// that coder(H, W) has, in their order.
  std::pair<Variable, Variable> operator()(const Variable& x) const;

  /// What it finds in images: boxes as places in the images, best first. images: (3, H, W) of any sizes and dtype, 0 ..
  /// 255, red first, as data sets have them; also (1, H, W), (H, W), (H, W, C). All go through the network in one
  /// batch, or, where they are prepared to different sizes, padded to the largest. config.train is off, and there is no
  /// graph. Throws ValueError for an image of another shape.
  std::vector<Detections> predict(const std::vector<Array>& images) const;
  /// The same of images that are prepared already, x being batch_of(images). Throws ValueError for another number of
  /// images than x has.
  std::vector<Detections> find(const Variable& x, const std::vector<PreparedImage>& images) const;
  /// Which boxes predict() gives: those worth a look ("visualize", the default), or all that count in an evaluation
  /// ("evaluate"). Sets `decoding`. Throws ValueError for another name.
  void use_preset(const std::string& preset);

  /// Makes targets of boxes, and boxes of outputs, for prepared images of this size. Copies share their anchors, so
  /// that data sets' transforms may keep one.
  AnchorCoder coder(int64_t height, int64_t width) const;
  /// One image prepared, without what `preparation` fills.
  PreparedImage prepare(const Array& image) const;
  /// Prepared images as one batch (N, 3, H, W) of config.dtype on the detector's device, filled as `preparation` says.
  Array batch_of(const std::vector<PreparedImage>& images) const;

  int64_t n_classes() const noexcept { return plan_.n_classes; }
  const AnchorGrid& grid() const noexcept { return plan_.grid; }
  /// How it is meant to be trained.
  const DetectionLossOptions& loss_options() const noexcept { return plan_.loss; }

  DetectorPreparation preparation;  ///< may be changed to fit weights and data
  AnchorDecodeOptions decoding;     ///< likewise

 protected:
  /// What one detector does differently than others.
  struct Plan {
    int64_t n_classes;
    AnchorGrid grid;
    AnchorCoderOptions coding;
    AnchorDecodeOptions visualize, evaluate;
    DetectionLossOptions loss;
  };
  Detector(Plan plan, const DetectorPreparation& image_preparation);
  Detector(const Detector&) = default;
  Detector(Detector&&) noexcept = default;
  Detector& operator=(const Detector&) = default;
  Detector& operator=(Detector&&) noexcept = default;

  virtual std::pair<Variable, Variable> forward(const Variable& x) const = 0;
  /// What find() gives, as places in x. extents: of the images that fill x.
  virtual std::vector<Detections> detect(const Variable& x, std::span<const ImageExtent> extents) const;

 private:
  struct Coders;
  Plan plan_;
  Shared<Coders> coders_;  // those made so far
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
