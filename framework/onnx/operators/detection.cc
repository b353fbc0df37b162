#include <algorithm>
#include <numeric>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace {

/// In float32, as boxes are and as other runtimes compare: where an overlap is just the threshold, digits beyond would
/// decide otherwise.
struct Box {
  float top, left, bottom, right;
  float area() const { return (bottom - top) * (right - left); }
};

float overlap(const Box& a, const Box& b) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  const float both = height * width;
  return both / (a.area() + b.area() - both);
}

/// Boxes by falling score without those that overlap a better one too much, each as (image, class, box), on the host.
Operation non_max_suppression(const NodeReader& node) {
  node.expect_inputs(2);
  const bool by_center = node.flag("center_point_box", false);
  return [by_center](const Call& call) -> Values {
    const Shape boxes_shape = call.shape(0), scores_shape = call.shape(1);
    if (boxes_shape.ndim() != 3 || boxes_shape[2] != 4 || scores_shape.ndim() != 3 ||
        scores_shape[0] != boxes_shape[0] || scores_shape[2] != boxes_shape[1]) {
      throw TypeError("boxes has shape " + kusari::to_string(boxes_shape) + ", scores " +
                      kusari::to_string(scores_shape) +
                      ": they must be (images, boxes, 4) and (images, classes, boxes)");
    }
    const int64_t most = call.has(2) ? call.integer(2, "max_output_boxes_per_class") : 0;
    const float limit = call.has(3) ? static_cast<float>(call.real(3, "iou_threshold")) : 0;
    const bool has_least = call.has(4);
    const double least = has_least ? call.real(4, "score_threshold") : 0;
    const std::vector<double> given = call.reals(0), scores = call.reals(1);
    const std::vector<float> numbers(given.begin(), given.end());
    const int64_t images = boxes_shape[0], count = boxes_shape[1], classes = scores_shape[1];
    std::vector<int64_t> selected;
    for (int64_t image = 0; image < images; ++image) {
      std::vector<Box> boxes;
      for (int64_t i = 0; i < count; ++i) {
        const float* const b = numbers.data() + (image * count + i) * 4;
        if (by_center) {
          boxes.push_back({b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2});
        } else {
          boxes.push_back({std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])});
        }
      }
      for (int64_t c = 0; c < classes; ++c) {
        const double* const score = scores.data() + (image * classes + c) * count;
        std::vector<int64_t> order(static_cast<size_t>(count));
        std::iota(order.begin(), order.end(), 0);
        std::erase_if(order, [&](int64_t i) { return has_least && !(score[i] > least); });
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score[a] > score[b]; });
        std::vector<int64_t> kept;
        for (const int64_t i : order) {
          if (static_cast<int64_t>(kept.size()) >= most) break;
          const auto hides = [&](int64_t better) {
            return overlap(boxes[static_cast<size_t>(i)], boxes[static_cast<size_t>(better)]) > limit;
          };
          if (std::any_of(kept.begin(), kept.end(), hides)) continue;
          kept.push_back(i);
          selected.insert(selected.end(), {image, c, i});
        }
      }
    }
    return {Variable(
        from_host(selected.data(), {static_cast<int64_t>(selected.size() / 3), 3}, Dtype::int64, call.device()),
        false)};
  };
}

}  // namespace

std::span<const Operator> detection_operators() {
  static constexpr Operator kOperators[] = {
      {"NonMaxSuppression", non_max_suppression},
  };
  return kOperators;
}

}  // namespace kusari::onnx
