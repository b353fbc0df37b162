#include "kusari/framework/onnx/export/detection_nodes.h"

#include <cmath>
#include <limits>
#include <utility>

namespace kusari::onnx::exporting {

float below(double value) { return std::nextafter(static_cast<float>(value), std::numeric_limits<float>::lowest()); }

void DetectionNodes::add(const std::string& type, const Names& inputs, const Names& outputs,
                         const Attributes& attributes) const {
  graph_.add({type, "", "", inputs, outputs, attributes}, "/detection");
}

std::string DetectionNodes::make(const std::string& type, const Names& inputs, const Attributes& attributes) const {
  const std::string result = graph_.fresh("detection/" + type);
  add(type, inputs, {result}, attributes);
  return result;
}

std::string DetectionNodes::number(float value, bool is_list) const {
  return graph_.constant(from_host(&value, is_list ? Shape{1} : Shape{}, Dtype::float32));
}

std::string DetectionNodes::slice(const std::string& value, int64_t axis, int64_t begin, int64_t end) const {
  return make("Slice", {value, graph_.integers({begin}), graph_.integers({end}), graph_.integers({axis})});
}

std::string DetectionNodes::unsqueeze(const std::string& value, int64_t axis) const {
  return make("Unsqueeze", {value, graph_.integers({axis})});
}

std::string DetectionNodes::squeeze(const std::string& value, int64_t axis) const {
  return make("Squeeze", {value, graph_.integers({axis})});
}

std::string DetectionNodes::column(const std::string& rows, int64_t i) const {
  const std::string index = graph_.constant(from_host(&i, {}, Dtype::int64));
  return make("Gather", {rows, index}, {{"axis", int64_t{1}}});
}

std::string DetectionNodes::cast(const std::string& value, Dtype from, Dtype to) const {
  return from == to ? value : make("Cast", {value}, {{"to", NodeWriter::type_number(to)}});
}

std::array<std::string, 2> DetectionNodes::top(const std::string& value, const std::string& count) const {
  const std::string best = graph_.fresh("detection/best"), order = graph_.fresh("detection/order");
  add("TopK", {value, count}, {best, order}, {{"axis", int64_t{-1}}});
  return {best, order};
}

DetectionNodes::Places DetectionNodes::places(const std::vector<Box>& anchors) const {
  std::vector<float> centres, sizes;
  for (const Box& anchor : anchors) {
    const float height = anchor.height(), width = anchor.width();
    centres.insert(centres.end(), {anchor.y_min + height / 2, anchor.x_min + width / 2});
    sizes.insert(sizes.end(), {height, width});
  }
  const auto table = [&](const std::vector<float>& numbers) {
    return graph_.constant(from_host(numbers.data(), {static_cast<int64_t>(anchors.size()), 2}, Dtype::float32));
  };
  return {table(centres), table(sizes)};
}

DetectionNodes::Places DetectionNodes::places(const std::string& boxes) const {
  const std::string low = slice(boxes, -1, 0, 2), size = make("Sub", {slice(boxes, -1, 2, 4), low});
  return {make("Add", {low, make("Mul", {size, number(0.5F)})}), size};
}

std::string DetectionNodes::corners(const std::string& codes, const Places& at, const std::array<double, 2>& variance,
                                    int64_t height, int64_t width) const {
  const auto scaled = [&](const std::string& code, double by) {
    return by == 1 ? code : make("Mul", {code, number(static_cast<float>(by))});
  };
  const std::string shift = make("Mul", {scaled(slice(codes, -1, 0, 2), variance[0]), at.sizes});
  const std::string centre = make("Add", {shift, at.centres});
  const std::string code = scaled(slice(codes, -1, 2, 4), variance[1]);
  const std::string limited = make("Min", {code, number(std::log(1000.F / 16))});
  const std::string half = make("Mul", {make("Mul", {make("Exp", {limited}), at.sizes}), number(0.5F)});
  const std::string whole =
      make("Concat", {make("Sub", {centre, half}), make("Add", {centre, half})}, {{"axis", int64_t{-1}}});
  const auto bottom = static_cast<float>(height), right = static_cast<float>(width);
  const std::vector<float> ends = {bottom, right, bottom, right};
  const std::string inside = make("Min", {whole, graph_.constant(from_host(ends.data(), {4}, Dtype::float32))});
  return make("Max", {inside, number(0)});
}

std::string DetectionNodes::are_large(const std::string& boxes, double min_size) const {
  const std::string size = make("Sub", {slice(boxes, -1, 2, 4), slice(boxes, -1, 0, 2)});
  const std::string is_there = make("Greater", {size, number(0)});
  const std::string is_large = make("GreaterOrEqual", {size, number(static_cast<float>(min_size))});
  const std::string counts = make("And", {is_there, is_large});
  return make("And", {slice(counts, -1, 0, 1), slice(counts, -1, 1, 2)});
}

std::string DetectionNodes::kept(const std::string& scores, const std::string& condition) const {
  return make("Where", {condition, scores, number(kDropped)});
}

std::string DetectionNodes::kept_from(const std::string& scores, double least, bool best_class_only,
                                      int64_t classes) const {
  const std::string high = kept(scores, make("GreaterOrEqual", {scores, number(static_cast<float>(least))}));
  if (!best_class_only) return high;
  std::vector<int64_t> labels;
  for (int64_t c = 0; c < classes; ++c) labels.push_back(c);
  const std::string best = make("ArgMax", {high}, {{"axis", int64_t{-1}}, {"keepdims", int64_t{1}}});
  return kept(high, make("Equal", {best, graph_.integers(labels)}));
}

std::string DetectionNodes::selected(const std::string& boxes, const std::string& scores, int64_t most, float overlap,
                                     float least) const {
  return make("NonMaxSuppression",
              {boxes, scores, graph_.integers({most}), number(overlap, true), number(least, true)});
}

Names DetectionNodes::best_of_image(const std::string& all, const std::string& boxes, const std::string& scores,
                                    int64_t image, int64_t images, int64_t column_of_images, int64_t limit) const {
  std::string rows = all;
  if (images > 1) {
    const std::string is_own = make("Equal", {column(all, column_of_images), graph_.integers({image})});
    rows = make("Compress", {all, is_own}, {{"axis", int64_t{0}}});
  }
  const std::string score = make("GatherND", {scores, rows});
  std::string count = make("Shape", {score});
  if (limit > 0) count = make("Min", {count, graph_.integers({limit})});
  const auto [value, order] = top(score, count);
  const std::string best = make("Gather", {rows, order}, {{"axis", int64_t{0}}});
  const std::string places = make("Gather", {best, graph_.integers({0, 2})}, {{"axis", int64_t{1}}});
  return {make("GatherND", {boxes, places}), column(best, 1 - column_of_images), value, column(best, column_of_images)};
}

}  // namespace kusari::onnx::exporting
