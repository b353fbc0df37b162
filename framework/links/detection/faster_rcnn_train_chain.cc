#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/loss/sigmoid_cross_entropy.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/links/detection/detection_targets.h"
#include "kusari/framework/links/detection/faster_rcnn.h"
#include "kusari/framework/links/detection/faster_rcnn_targets.h"

namespace kusari::links {
namespace {

namespace F = functions;

const char* const kTwoLooksChain = "L::DetectionTrainChain<L::FasterRCNN>";

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

Variable constant(const Array& array, const Device& device) { return Variable(array.to_device(device), false); }

/// Arrays in one piece of memory, so that an export, which follows numbers by their memory, sees that what the host
/// makes depends on what it reads.
std::vector<Array> shared_arrays(const std::vector<Shape>& shapes, Dtype dtype, const Device& device) {
  int64_t size = 0;
  for (const Shape& shape : shapes) size += numel(shape);
  const Array all = zeros({size}, dtype, device);
  std::vector<Array> parts;
  int64_t begin = 0;
  for (const Shape& shape : shapes) {
    parts.push_back(all.slice(0, begin, numel(shape)).reshape(shape));
    begin += numel(shape);
  }
  return parts;
}

}  // namespace

/// What a static graph's replays compare with, in memory that stays: the host reads what the kernels before it wrote,
/// and the kernels behind it read what it writes.
struct DetectionTrainChain<FasterRCNN>::Recorded {
  Recorded(const FasterRCNN& model, const FasterRCNN::FirstLook& seen, const Variable& boxes, const Variable& labels) {
    const Device device = seen.locs.device();
    const int64_t images = seen.locs.shape()[0], anchors = seen.locs.shape()[1], outputs = model.n_classes() + 1;
    rows = images * model.region_samples();
    const std::vector<Array> reals = shared_arrays({seen.locs.shape(),
                                                    seen.confs.shape(),
                                                    boxes.shape(),
                                                    {images, anchors, 4},
                                                    {images},
                                                    {1, rows * outputs, 4},
                                                    {1},
                                                    {FasterRCNN::kPooledLevels, rows, 4}},
                                                   Dtype::float32, device);
    const std::vector<Array> numbers =
        shared_arrays({labels.shape(), {images, anchors}, {images * anchors}, {rows}, {1, rows * outputs}, {rows}},
                      Dtype::int32, device);
    locs = reals[0];
    confs = reals[1];
    bbox = reals[2];
    label = numbers[0];
    label.fill(int64_t{-1});
    anchor = {reals[3], numbers[1], numbers[2], reals[4]};
    region = {{}, rows, numbers[3], reals[5], numbers[4], reals[6]};
    rois = reals[7];
    image = numbers[5];
  }

  /// On the host, in each replay.
  void make(const FasterRCNN& model, int64_t height, int64_t width) const {
    const detail::BoxTruth truth(bbox, label, model.n_classes(), height, width);
    const AnchorComparison anchors = detail::anchor_comparison(model, truth);
    const FasterRCNN::FirstLook seen{{}, Variable(locs, false), Variable(confs, false)};
    const RegionComparison regions = detail::region_comparison(model, seen, truth, rows);
    for (const auto& [from, to] : {std::pair{&anchors.loc, &anchor.loc},
                                   {&anchors.label, &anchor.label},
                                   {&anchors.is_object, &anchor.is_object},
                                   {&anchors.divisors, &anchor.divisors},
                                   {&regions.column, &region.column},
                                   {&regions.loc, &region.loc},
                                   {&regions.label, &region.label},
                                   {&regions.divisor, &region.divisor}}) {
      to->copy_from(*from);
    }
    place(regions.regions);
  }

  int64_t rows;
  Array locs, confs, bbox, label;  // what the host reads
  AnchorComparison anchor;
  RegionComparison region;
  Array rois, image;  // as RegionHead takes them

 private:
  void place(const std::vector<std::vector<Box>>& regions) const {
    constexpr int64_t kLevels = FasterRCNN::kPooledLevels;
    std::vector<Box> by_level(static_cast<size_t>(kLevels * rows), RegionHead::nowhere);
    std::vector<int32_t> images(static_cast<size_t>(rows));
    size_t row = 0;
    for (size_t i = 0; i < regions.size(); ++i) {
      for (const Box& box : regions[i]) {
        by_level[static_cast<size_t>(level_of_region(box, kLevels) * rows) + row] = box;
        images[row++] = static_cast<int32_t>(i);
      }
    }
    rois.copy_from(bbox_array(by_level).reshape({kLevels, rows, 4}));
    image.copy_from(array(images, {rows}));
  }
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
  const int64_t height = x.shape()[2], width = x.shape()[3];
  if (GraphCapture::current() == nullptr) {
    learn(seen, bbox, label, height, width);
  } else {
    record(seen, bbox, label, height, width);
  }
  const Variable boxes = rpn_loc_loss + loc_loss, classes = rpn_conf_loss + conf_loss;
  loss = options.loc_weight == 1 ? classes + boxes : classes + options.loc_weight * boxes;
  report({{"loss", loss},
          {"loss/loc", loc_loss},
          {"loss/conf", conf_loss},
          {"loss/rpn_loc", rpn_loc_loss},
          {"loss/rpn_conf", rpn_conf_loss}},
         *this);
  if (GraphCapture* const capture = GraphCapture::current()) {
    for (Variable* const each : {&loss, &loc_loss, &conf_loss, &rpn_loc_loss, &rpn_conf_loss}) capture->kept(*each);
  }
  return loss;
}

void DetectionTrainChain<FasterRCNN>::learn(const FasterRCNN::FirstLook& seen, const Variable& bbox,
                                            const Variable& label, int64_t height, int64_t width) const {
  const detail::BoxTruth truth(bbox.array(), label.array(), model.n_classes(), height, width);
  compare_anchors(seen, detail::anchor_comparison(model, truth));
  const RegionComparison regions = detail::region_comparison(model, seen, truth, 0);
  if (regions.count == 0) {  // numbers that are NaN propose nothing
    conf_loss = loc_loss = Variable(zeros({}, detail::loss_dtype(seen.confs), seen.confs.device()), false);
    return;
  }
  compare_regions(model.look_again(seen, regions.regions), regions);
}

// The host works between two kernels of each replay.
void DetectionTrainChain<FasterRCNN>::record(const FasterRCNN::FirstLook& seen, const Variable& bbox,
                                             const Variable& label, int64_t height, int64_t width) const {
  if (model.region_samples() == 0) {
    GraphCapture::refuse(kTwoLooksChain, "region_samples is 0, so that the number of regions depends on the images");
    return learn(seen, bbox, label, height, width);
  }
  const std::shared_ptr<const Recorded> memory = [&] {
    const ScopedGraphCapture unseen(nullptr);
    return std::make_shared<const Recorded>(model, seen, bbox, label);
  }();
  memory->locs.copy_from(seen.locs.array());
  memory->confs.copy_from(seen.confs.array());
  memory->bbox.copy_from(bbox.array());
  memory->label.copy_from(label.array());
  static_code([this, memory, height, width] { memory->make(model, height, width); });
  // Copies, because a call's backward may come after the next call.
  const auto& [loc, anchor_label, is_object, divisors] = memory->anchor;
  compare_anchors(seen, {loc.copy(), anchor_label.copy(), is_object.copy(), divisors.copy()});
  const RegionComparison& all = memory->region;
  const std::pair<Variable, Variable> outputs =
      model.head({seen.maps.data(), FasterRCNN::kPooledLevels}, memory->rois.copy(), memory->image.copy());
  compare_regions(outputs, {{}, memory->rows, all.column.copy(), all.loc.copy(), all.label.copy(), all.divisor.copy()});
}

void DetectionTrainChain<FasterRCNN>::compare_anchors(const FasterRCNN::FirstLook& seen,
                                                      const AnchorComparison& with) const {
  const Device device = seen.confs.device();
  const Variable scores = F::reshape(F::cast(seen.confs, detail::loss_dtype(seen.confs)), {seen.confs.size()});
  rpn_conf_loss = F::sigmoid_cross_entropy(scores, constant(with.is_object, device));
  rpn_loc_loss =
      box_loss(seen.locs, constant(with.loc, device), with.label.to_device(device), with.divisors.to_device(device));
}

void DetectionTrainChain<FasterRCNN>::compare_regions(const std::pair<Variable, Variable>& outputs,
                                                      const RegionComparison& with) const {
  const auto& [locs, confs] = outputs;
  const Device device = confs.device();
  conf_loss = F::softmax_cross_entropy(F::cast(confs, detail::loss_dtype(confs)), constant(with.column, device));
  loc_loss = box_loss(F::reshape(locs, with.loc.shape()), constant(with.loc, device), with.label.to_device(device),
                      with.divisor.to_device(device));
}

}  // namespace kusari::links
