#include "kusari/framework/links/detection/faster_rcnn_targets.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kusari/framework/core/argument.h"

namespace kusari::links::detail {

BoxTruth::BoxTruth(const Array& boxes, const Array& labels, int64_t n_classes, int64_t image_height,
                   int64_t image_width)
    : height{image_height}, width{image_width}, extents(static_cast<size_t>(labels.shape(0))) {
  const auto most = static_cast<size_t>(labels.shape(1));
  const std::vector<int32_t> all = labels.to_vector<int32_t>();
  for (size_t i = 0; i < extents.size(); ++i) {
    extents[i] = {static_cast<double>(height), static_cast<double>(width)};
    const std::vector<Box> own = boxes_of(boxes.at(static_cast<int64_t>(i)));
    std::vector<Box>& kept = bbox.emplace_back();
    std::vector<int32_t>& kept_labels = label.emplace_back();
    for (size_t k = 0; k < most; ++k) {
      const int32_t t = all[i * most + k];
      if (t < 0) continue;
      if (t >= n_classes) {
        argument::refuse("L::DetectionTrainChain", "label", std::to_string(t),
                         ("be in [0, " + std::to_string(n_classes) + ")").c_str());
      }
      kept.push_back(own[k]);
      kept_labels.push_back(t);
    }
  }
}

AnchorComparison anchor_comparison(const FasterRCNN& model, const BoxTruth& truth) {
  const AnchorCoder coder = model.coder(truth.height, truth.width);
  const auto images = static_cast<int64_t>(truth.bbox.size()), anchors = static_cast<int64_t>(coder.anchors().size());
  AnchorComparison result{empty({images, anchors, 4}), empty({images, anchors}, Dtype::int32), {}, {}};
  for (int64_t i = 0; i < images; ++i) {
    const auto at = static_cast<size_t>(i);
    const AnchorTargets targets = coder.encode(truth.bbox[at], truth.label[at]);
    result.loc.at(i).copy_from(targets.loc);
    result.label.at(i).copy_from(targets.label);
  }
  std::vector<int32_t> is_object = result.label.to_vector<int32_t>();
  int64_t drawn = 0;
  for (int32_t& t : is_object) {
    t = t == kIgnoredAnchor ? -1 : t == kBackgroundAnchor ? 0 : 1;
    if (t >= 0) ++drawn;
  }
  result.is_object = array(is_object, {images * anchors});
  result.divisors = full({images}, static_cast<double>(std::max<int64_t>(drawn, 1)), Dtype::float32);
  return result;
}

RegionComparison region_comparison(const FasterRCNN& model, const FasterRCNN::FirstLook& seen, const BoxTruth& truth,
                                   int64_t rows) {
  RegionComparison result;
  result.regions = model.propose(seen, truth.height, truth.width, truth.extents);
  std::vector<int32_t> classes;
  std::vector<float> codes;
  for (size_t i = 0; i < result.regions.size(); ++i) {
    std::vector<Box>& regions = result.regions[i];
    regions.insert(regions.end(), truth.bbox[i].begin(), truth.bbox[i].end());
    const AnchorTargets targets =
        model.region_coder(regions, truth.height, truth.width).encode(truth.bbox[i], truth.label[i]);
    const int32_t* const label = targets.label.data<int32_t>();
    const float* const loc = targets.loc.data<float>();
    std::vector<Box> drawn;
    for (size_t k = 0; k < regions.size(); ++k) {
      if (label[k] == kIgnoredAnchor) continue;
      drawn.push_back(regions[k]);
      classes.push_back(label[k]);
      codes.insert(codes.end(), loc + 4 * k, loc + 4 * k + 4);
    }
    regions = std::move(drawn);
  }

  result.count = static_cast<int64_t>(classes.size());
  if (rows == 0) rows = result.count;
  const int64_t outputs = model.n_classes() + 1;
  result.column = full({rows}, int64_t{-1}, Dtype::int32);
  result.loc = zeros({1, rows * outputs, 4});
  result.label = full({1, rows * outputs}, int64_t{-1}, Dtype::int32);
  result.divisor = full({1}, static_cast<double>(std::max<int64_t>(result.count, 1)), Dtype::float32);
  int32_t* const column = result.column.data<int32_t>();
  int32_t* const label = result.label.data<int32_t>();
  float* const loc = result.loc.data<float>();
  for (size_t k = 0; k < classes.size(); ++k) {
    column[k] = classes[k] + 1;
    if (classes[k] < 0) continue;
    const size_t own = k * static_cast<size_t>(outputs) + static_cast<size_t>(column[k]);
    label[own] = 0;
    std::copy_n(codes.data() + 4 * k, 4, loc + 4 * own);
  }
  return result;
}

}  // namespace kusari::links::detail
