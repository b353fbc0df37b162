#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/reporter.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/loss/sigmoid_cross_entropy.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/links/detection/detection_targets.h"
#include "kusari/framework/links/detection/faster_rcnn.h"

namespace kusari::links {
namespace {

namespace F = functions;

void check_boxes(const Variable& x, const Variable& bbox, const Variable& label) {
  for (const auto& [name, value] : {std::pair{"x", &x}, {"bbox", &bbox}, {"label", &label}}) {
    detail::expect_target(name, *value);
  }
  if (x.shape().ndim() != 4) detail::refuse_target("x", x, "images, (N, 3, H, W)");
  const Shape& shape = bbox.shape();
  if (shape.ndim() != 3 || shape[0] != x.shape()[0] || shape[2] != 4 || !is_floating(bbox.dtype())) {
    detail::refuse_target("bbox", bbox, "floating, boxes of each image, (N, R, 4)");
  }
  if (label.shape() != Shape{shape[0], shape[1]} || is_floating(label.dtype())) {
    detail::refuse_target("label", label, "integers, a label for each box, " + to_string(Shape{shape[0], shape[1]}));
  }
}

Variable constant(const Array& host, const Variable& beside) {
  return Variable(host.to_device(beside.device()), false);
}

Array from_vector(const std::vector<int32_t>& values, const Shape& shape) { return array(values, shape); }

}  // namespace

/// The boxes of a batch, on the host.
struct DetectionTrainChain<FasterRCNN>::Truth {
  Truth(const Variable& x, const Variable& boxes, const Variable& labels)
      : height{x.shape()[2]}, width{x.shape()[3]}, extents(static_cast<size_t>(x.shape()[0])) {
    const auto most = static_cast<size_t>(labels.shape()[1]);
    const std::vector<int32_t> all = labels.array().to_vector<int32_t>();
    for (size_t i = 0; i < extents.size(); ++i) {
      extents[i] = {static_cast<double>(height), static_cast<double>(width)};
      std::vector<Box> own = boxes_of(boxes.array().at(static_cast<int64_t>(i)));
      std::vector<Box>& kept = bbox.emplace_back();
      std::vector<int32_t>& kept_labels = label.emplace_back();
      for (size_t k = 0; k < most; ++k) {
        if (all[i * most + k] < 0) continue;
        kept.push_back(own[k]);
        kept_labels.push_back(all[i * most + k]);
      }
    }
  }

  int64_t height, width;
  std::vector<ImageExtent> extents;
  std::vector<std::vector<Box>> bbox;
  std::vector<std::vector<int32_t>> label;
};

DetectionTrainChain<FasterRCNN>::DetectionTrainChain(FasterRCNN detector, const Options& chain_options)
    : DetectionTrainChainBase(chain_options.loss.value_or(detector.loss_options())),
      model{*this, "model", std::move(detector)} {}

Variable DetectionTrainChain<FasterRCNN>::operator()(const Variable& x, const Variable& bbox,
                                                     const Variable& label) const {
  const LinkCall hooked(*this);
  const kusari::detail::ScopedUse use(in_use_, "DetectionTrainChain");
  forget();
  rpn_loc_loss = Variable();
  rpn_conf_loss = Variable();
  check_boxes(x, bbox, label);
  const FasterRCNN::FirstLook seen = model.look(x);
  const Truth truth(x, bbox, label);
  compare_first(seen, truth);
  compare_second(seen, truth);
  const Variable boxes = rpn_loc_loss + loc_loss, classes = rpn_conf_loss + conf_loss;
  loss = options.loc_weight == 1 ? classes + boxes : classes + options.loc_weight * boxes;
  report({{"loss", loss},
          {"loss/loc", loc_loss},
          {"loss/conf", conf_loss},
          {"loss/rpn_loc", rpn_loc_loss},
          {"loss/rpn_conf", rpn_conf_loss}},
         *this);
  return loss;
}

// The anchors that are drawn say whether there is anything, and where.
void DetectionTrainChain<FasterRCNN>::compare_first(const FasterRCNN::FirstLook& seen, const Truth& truth) const {
  const int64_t images = seen.locs.shape()[0], anchors = seen.locs.shape()[1];
  const AnchorCoder coder = model.coder(truth.height, truth.width);
  const Array loc = empty({images, anchors, 4}), label = empty({images, anchors}, Dtype::int32);
  for (int64_t i = 0; i < images; ++i) {
    const auto at = static_cast<size_t>(i);
    const AnchorTargets targets = coder.encode(truth.bbox[at], truth.label[at]);
    loc.at(i).copy_from(targets.loc);
    label.at(i).copy_from(targets.label);
  }
  // 1: an object, 0: background, -1: does not count.
  std::vector<int32_t> is_object = label.to_vector<int32_t>();
  int64_t drawn = 0;
  for (int32_t& t : is_object) {
    t = t == kIgnoredAnchor ? -1 : t == kBackgroundAnchor ? 0 : 1;
    if (t >= 0) ++drawn;
  }
  const Dtype wide = detail::loss_dtype(seen.confs);
  const Variable scores = F::reshape(F::cast(seen.confs, wide), {images * anchors});
  rpn_conf_loss = F::sigmoid_cross_entropy(scores, constant(from_vector(is_object, {images * anchors}), seen.confs));
  const Array divisors = full({images}, static_cast<double>(std::max<int64_t>(drawn, 1)), wide, seen.locs.device());
  rpn_loc_loss = box_loss(seen.locs, constant(loc, seen.locs), label.to_device(seen.locs.device()), divisors);
}

// The regions that are drawn, of which the boxes themselves are some, say of which class they are, and where.
void DetectionTrainChain<FasterRCNN>::compare_second(const FasterRCNN::FirstLook& seen, const Truth& truth) const {
  std::vector<std::vector<Box>> regions = model.propose(seen, truth.height, truth.width, truth.extents);
  std::vector<int32_t> classes;
  std::vector<float> codes;
  for (size_t i = 0; i < regions.size(); ++i) {
    regions[i].insert(regions[i].end(), truth.bbox[i].begin(), truth.bbox[i].end());
    const AnchorTargets targets =
        model.region_coder(regions[i], truth.height, truth.width).encode(truth.bbox[i], truth.label[i]);
    const int32_t* const label = targets.label.data<int32_t>();
    const float* const loc = targets.loc.data<float>();
    std::vector<Box> drawn;
    for (size_t k = 0; k < regions[i].size(); ++k) {
      if (label[k] == kIgnoredAnchor) continue;
      drawn.push_back(regions[i][k]);
      classes.push_back(label[k]);
      codes.insert(codes.end(), loc + 4 * k, loc + 4 * k + 4);
    }
    regions[i] = std::move(drawn);
  }
  const auto count = static_cast<int64_t>(classes.size());
  const Dtype wide = detail::loss_dtype(seen.confs);
  const Device device = seen.confs.device();
  if (count == 0) {  // numbers that are NaN propose nothing
    conf_loss = loc_loss = Variable(zeros({}, wide, device), false);
    return;
  }
  const auto [locs, confs] = model.look_again(seen, regions);
  // The background is class 0; each class has a box of its own.
  std::vector<int32_t> columns = classes;
  std::vector<int64_t> rows;
  for (int32_t& column : columns) {
    ++column;
    rows.push_back(static_cast<int64_t>(rows.size()));
  }
  const Array column_indices = from_vector(columns, {count}).to_device(device);
  conf_loss = F::softmax_cross_entropy(F::cast(confs, wide), Variable(column_indices, false));
  const Variable own = F::get_item(F::reshape(locs, {count, model.n_classes() + 1, 4}),
                                   {array(rows, {count}).to_device(device), column_indices.astype(Dtype::int64)});
  loc_loss =
      box_loss(F::reshape(own, {1, count, 4}), constant(array(codes, {1, count, 4}), locs),
               from_vector(classes, {1, count}).to_device(device), full({1}, static_cast<double>(count), wide, device));
}

}  // namespace kusari::links
