#include "kusari/framework/links/detection/detection_train_chain.h"

#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/kernels/hard_negatives.h"
#include "kusari/framework/links/detection/detection_targets.h"

namespace kusari::links {
namespace {

namespace F = functions;

const char* const kTrainChain = "L::DetectionTrainChain";

const DetectionLossOptions& checked_options(const DetectionLossOptions& o) {
  argument::finite_not_negative(kTrainChain, "negative_ratio", o.negative_ratio);
  argument::finite_positive(kTrainChain, "delta", o.delta);
  argument::finite_not_negative(kTrainChain, "loc_weight", o.loc_weight);
  return o;
}

void check_targets(const Variable& locs, const Variable& gt_locs, const Variable& gt_labels) {
  for (const auto& [name, value] : {std::pair{"gt_locs", &gt_locs}, {"gt_labels", &gt_labels}}) {
    detail::expect_target(name, *value);
  }
  const Shape& shape = locs.shape();
  if (gt_locs.shape() != shape || !is_floating(gt_locs.dtype())) {
    detail::refuse_target("gt_locs", gt_locs, "floating, of the shape of the model's codes, " + to_string(shape));
  }
  const Shape labels{shape[0], shape[1]};
  if (gt_labels.shape() != labels || is_floating(gt_labels.dtype())) {
    detail::refuse_target("gt_labels", gt_labels, "integers, a label for each anchor, " + to_string(labels));
  }
}

void refuse_beyond(const Array& labels, int64_t n_classes) {
  for (const int64_t label : labels.to_vector<int64_t>()) {
    if (label < n_classes) continue;
    argument::refuse(kTrainChain, "label", std::to_string(label),
                     ("be less than " + std::to_string(n_classes) + ", the number of classes").c_str());
  }
}

// On another device the host would have to wait for the labels, in each call.
void check_labels(const Array& labels, int64_t n_classes) {
  if (!labels.device().is_cpu() && !config().debug) return;
  if (GraphCapture::current() == nullptr) return refuse_beyond(labels, n_classes);
  const Array seen = [&] {
    const ScopedGraphCapture unseen(nullptr);
    return labels.copy();
  }();
  seen.copy_from(labels);
  static_code([seen, n_classes] { refuse_beyond(seen, n_classes); });
}

// Sums of images, (N), over their divisors.
Variable divided(const Variable& sums, const Array& divisors) {
  return F::sum(sums / Variable(divisors.astype(sums.dtype()), false));
}

Variable multibox_loss(const DetectionLossOptions& o, const Variable& confs, const Array& labels,
                       const Array& divisors) {
  const Shape& shape = confs.shape();
  const Array t = labels.astype(Dtype::int32).contiguous();
  // The background is class 0, and what does not count -1.
  const Array classes = (t + int64_t{1}).astype(Dtype::int32).reshape({shape[0] * shape[1]});
  const Variable flat = F::reshape(F::cast(confs, detail::loss_dtype(confs)), {shape[0] * shape[1], shape[2]});
  const Variable losses = F::reshape(
      F::softmax_cross_entropy(flat, Variable(classes, false), {.reduce = F::Reduce::no}), {shape[0], shape[1]});
  const Array counts = empty({shape[0], shape[1]}, Dtype::float32, confs.device());
  launch<kernels::HardNegatives>(confs.device(), o.negative_ratio, losses.array().astype(Dtype::float32).contiguous(),
                                 t, counts);
  return divided(F::sum(losses * Variable(counts.astype(losses.dtype()), false), 1), divisors);
}

}  // namespace

DetectionTrainChainBase::DetectionTrainChainBase(const DetectionLossOptions& loss_options)
    : options{checked_options(loss_options)} {}

// The last graph goes before the next one grows.
void DetectionTrainChainBase::forget() const {
  loss = Variable();
  loc_loss = Variable();
  conf_loss = Variable();
}

Variable DetectionTrainChainBase::box_loss(const Variable& locs, const Variable& gt_locs, const Array& labels,
                                           const Array& divisors) const {
  checked_options(options);
  const Dtype wide = detail::loss_dtype(locs);
  const Variable d = F::cast(locs, wide) - F::cast(gt_locs, wide);
  Variable each;
  if (options.loc == BoxLoss::l1) {
    each = F::absolute(d);
  } else {
    const Variable near = F::clip(d, -options.delta, options.delta);
    each = near * (d - 0.5 * near);
    if (options.loc == BoxLoss::smooth_l1) each = each / options.delta;
  }
  const Variable counts(Array(labels >= int64_t{0}).astype(wide).expand_dims(2), false);
  return divided(F::sum(each * counts, {1, 2}), divisors);
}

Variable DetectionTrainChainBase::compare(const std::pair<Variable, Variable>& outputs, const Variable& gt_locs,
                                          const Variable& gt_labels, const Variable& positives) const {
  const auto& [locs, confs] = outputs;
  check_targets(locs, gt_locs, gt_labels);
  const Array& labels = gt_labels.array();
  const bool has_background = options.conf == ClassLoss::multibox;
  check_labels(labels, confs.shape(2) - (has_background ? 1 : 0));
  const Array counted = positives.is_defined() ? positives.array() : Array();
  const Array divisors = F::detection_divisors(options.normalizer, labels, counted, detail::loss_dtype(locs));
  loc_loss = box_loss(locs, gt_locs, labels, divisors);
  if (has_background) {
    conf_loss = multibox_loss(options, confs, labels, divisors);
  } else {
    conf_loss = F::sigmoid_focal_loss(
        confs, gt_labels,
        {.alpha = options.alpha, .gamma = options.gamma, .normalizer = options.normalizer, .positives = counted});
  }
  loss = options.loc_weight == 1 ? conf_loss + loc_loss : conf_loss + options.loc_weight * loc_loss;
  report({{"loss", loss}, {"loss/loc", loc_loss}, {"loss/conf", conf_loss}}, *this);
  if (GraphCapture* const capture = GraphCapture::current()) {
    capture->kept(loss);
    capture->kept(loc_loss);
    capture->kept(conf_loss);
  }
  return loss;
}

}  // namespace kusari::links
