#pragma once

#include <optional>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/detection/detector.h"
#include "kusari/framework/links/in_use.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {

struct DetectionTrainChainOptions {
  std::optional<DetectionLossOptions> loss = std::nullopt;  ///< default: the model's loss_options()
};

/// What the chains of all detectors share.
class KUSARI_API DetectionTrainChainBase : public Chain {
 public:
  // Each call writes these, so one chain is called by one thread at a time.
  mutable Variable loss;       ///< of the last call
  mutable Variable loc_loss;   ///< of boxes
  mutable Variable conf_loss;  ///< of classes
  DetectionLossOptions options;

 protected:
  explicit DetectionTrainChainBase(const DetectionLossOptions& loss_options);
  DetectionTrainChainBase(const DetectionTrainChainBase&) = default;
  DetectionTrainChainBase(DetectionTrainChainBase&&) noexcept = default;
  DetectionTrainChainBase& operator=(const DetectionTrainChainBase&) = default;
  DetectionTrainChainBase& operator=(DetectionTrainChainBase&&) noexcept = default;
  void forget() const;
  Variable compare(const std::pair<Variable, Variable>& outputs, const Variable& gt_locs, const Variable& gt_labels,
                   const Variable& positives) const;
  /// The loss of boxes of each image, divided by its divisor, over all images: of codes (N, K, 4) where labels (N, K)
  /// are 0 or more. divisors: (N).
  Variable box_loss(const Variable& locs, const Variable& gt_locs, const Array& labels, const Array& divisors) const;

  mutable kusari::detail::InUse in_use_;
};

/// A detector with its loss: `L::DetectionTrainChain chain(L::RetinaNet({.n_classes = 3}))`. A call takes prepared
/// images (N, 3, H, W) and what AnchorCoder::encode makes of their boxes: locs (N, K, 4), labels (N, K), and if wanted
/// `positives` (N); otherwise the labels that are 0 or more are the positives. Returns the loss, a float32 scalar
/// also where the network computes in 16 bits, and reports "loss", "loss/loc" (before its weight) and "loss/conf". A
/// call sets members, so threads need a copy each. Throws TypeError for targets of other shapes and dtypes, ValueError
/// for a label beyond the model's classes, on the CPU or with config.debug; elsewhere it is not looked at.
template <class Model>
class DetectionTrainChain : public DetectionTrainChainBase {
  static_assert(std::is_base_of_v<Detector, Model>, "DetectionTrainChain takes a Detector");

 public:
  using Options = DetectionTrainChainOptions;
  explicit DetectionTrainChain(Model detector, const Options& chain_options = {})
      : DetectionTrainChainBase(chain_options.loss.value_or(detector.loss_options())),
        model{*this, "model", std::move(detector)} {}

  Variable operator()(const Variable& x, const Variable& gt_locs, const Variable& gt_labels,
                      const Variable& positives) const {
    const LinkCall hooked(*this);
    const kusari::detail::ScopedUse use(in_use_, "DetectionTrainChain");
    forget();
    return compare(model(x), gt_locs, gt_labels, positives);
  }
  Variable operator()(const Variable& x, const Variable& gt_locs, const Variable& gt_labels) const {
    return (*this)(x, gt_locs, gt_labels, Variable());
  }

  Child<Model> model;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
