#include "kusari/framework/onnx/export_detector.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/onnx/export/write_model.h"

namespace kusari::onnx {
namespace {

using namespace exporting;
using Names = std::vector<std::string>;

const char* const kExport = "onnx::export_detector";
constexpr float kDropped = -1;  // the score of what no longer counts

/// Nodes behind those of the network, named after what they do.
class DetectionNodes {
 public:
  DetectionNodes(GraphBuilder& graph, const links::AnchorCoder& coder, const links::AnchorDecodeOptions& options)
      : graph_{graph}, coder_{coder}, options_{options} {}

  /// locs (N, K, 4) to corners within the image.
  std::string boxes(const std::string& locs) {
    const std::vector<Box>& anchors = coder_.anchors();
    const auto count = static_cast<int64_t>(anchors.size());
    std::vector<float> centres, sizes, steps;
    const auto [centre_variance, size_variance] = coder_.variance();
    for (const Box& anchor : anchors) {
      const float height = anchor.height(), width = anchor.width();
      centres.insert(centres.end(), {anchor.y_min + height / 2, anchor.x_min + width / 2});
      sizes.insert(sizes.end(), {height, width});
      steps.insert(steps.end(),
                   {height * static_cast<float>(centre_variance), width * static_cast<float>(centre_variance)});
    }
    const auto table = [&](const std::vector<float>& numbers) {
      return graph_.constant(from_host(numbers.data(), {count, 2}, Dtype::float32));
    };
    const std::string centre = make("Add", {make("Mul", {slice(locs, 2, 0, 2), table(steps)}), table(centres)});
    const std::string code = make("Mul", {slice(locs, 2, 2, 4), number(static_cast<float>(size_variance))});
    const std::string limited = make("Min", {code, number(std::log(1000.F / 16))});
    const std::string half = make("Mul", {make("Mul", {make("Exp", {limited}), table(sizes)}), number(0.5F)});
    const std::string corners =
        make("Concat", {make("Sub", {centre, half}), make("Add", {centre, half})}, {{"axis", int64_t{2}}});
    const auto bottom = static_cast<float>(coder_.height()), right = static_cast<float>(coder_.width());
    const std::vector<float> ends = {bottom, right, bottom, right};
    const std::string inside = make("Min", {corners, graph_.constant(from_host(ends.data(), {4}, Dtype::float32))});
    return make("Max", {inside, number(0)});
  }

  /// confs (N, K, C) to scores (N, C, K) of those that go on, kDropped elsewhere.
  std::string scores(const std::string& confs, const std::string& boxes, int64_t images, int64_t columns) {
    const bool is_softmax = options_.scores == links::AnchorScores::softmax;
    const int64_t classes = is_softmax ? columns - 1 : columns;
    std::string scores;
    if (is_softmax) {
      scores = slice(make("Softmax", {confs}, {{"axis", int64_t{2}}}), 2, 1, columns);
    } else {
      scores = make("Sigmoid", {confs});
    }
    scores = kept(scores, make("GreaterOrEqual", {scores, number(static_cast<float>(options_.score_thresh))}));
    if (options_.best_class_only) {
      std::vector<int64_t> labels;
      for (int64_t c = 0; c < classes; ++c) labels.push_back(c);
      const std::string best = make("ArgMax", {scores}, {{"axis", int64_t{2}}, {"keepdims", int64_t{1}}});
      scores = kept(scores, make("Equal", {best, graph_.integers(labels)}));
    }
    scores = best_of_levels(scores, images, classes);
    const std::string size = make("Sub", {slice(boxes, 2, 2, 4), slice(boxes, 2, 0, 2)});
    const std::string is_there = make("Greater", {size, number(0)});
    const std::string is_large = make("GreaterOrEqual", {size, number(static_cast<float>(options_.min_size))});
    const std::string counts = make("And", {is_there, is_large});
    scores = kept(scores, make("And", {slice(counts, 2, 0, 1), slice(counts, 2, 1, 2)}));
    return make("Transpose", {scores}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  }

  /// (R, 3): image, class and box of what no better box of its class hides; of one image after another.
  std::string selected(const std::string& boxes, const std::string& scores) {
    const auto count = static_cast<int64_t>(coder_.anchors().size());
    const int64_t most = options_.limit > 0 ? std::min(options_.limit, count) : count;
    // ONNX drops boxes above the threshold, and keeps scores above theirs.
    const std::string overlap = number(below(static_cast<float>(options_.nms_thresh)), true);
    const std::string least = number(below(static_cast<float>(std::max(options_.score_thresh, 0.0))), true);
    return make("NonMaxSuppression", {boxes, scores, graph_.integers({most}), overlap, least});
  }

  /// bbox, label, score and image_index of the best of image i.
  Names best_of_image(const std::string& selected, const std::string& boxes, const std::string& scores, int64_t i,
                      int64_t images) {
    std::string rows = selected;
    if (images > 1) {
      const std::string image = column(selected, 0);
      rows = make("Compress", {selected, make("Equal", {image, graph_.integers({i})})}, {{"axis", int64_t{0}}});
    }
    const std::string score = make("GatherND", {scores, rows});
    std::string count = make("Shape", {score});
    if (options_.limit > 0) count = make("Min", {count, graph_.integers({options_.limit})});
    const std::string value = graph_.fresh("detection/score"), order = graph_.fresh("detection/order");
    add("TopK", {score, count}, {value, order}, {{"axis", int64_t{0}}});
    const std::string best = make("Gather", {rows, order}, {{"axis", int64_t{0}}});
    const std::string places = make("Gather", {best, graph_.integers({0, 2})}, {{"axis", int64_t{1}}});
    return {make("GatherND", {boxes, places}), column(best, 1), value, column(best, 0)};
  }

  std::string cast(const std::string& value, Dtype from) {
    if (from == Dtype::float32) return value;
    return make("Cast", {value}, {{"to", NodeWriter::type_number(Dtype::float32)}});
  }
  void add(const std::string& type, const Names& inputs, const Names& outputs, const Attributes& attributes = {}) {
    graph_.add({type, "", "", inputs, outputs, attributes}, "/detection");
  }

 private:
  static float below(float value) { return std::nextafter(value, std::numeric_limits<float>::lowest()); }

  std::string make(const std::string& type, const Names& inputs, const Attributes& attributes = {}) {
    const std::string result = graph_.fresh("detection/" + type);
    add(type, inputs, {result}, attributes);
    return result;
  }
  std::string number(float value, bool is_list = false) {
    return graph_.constant(from_host(&value, is_list ? Shape{1} : Shape{}, Dtype::float32));
  }
  std::string slice(const std::string& value, int64_t axis, int64_t begin, int64_t end) {
    return make("Slice", {value, graph_.integers({begin}), graph_.integers({end}), graph_.integers({axis})});
  }
  std::string column(const std::string& rows, int64_t i) {
    const std::string index = graph_.constant(from_host(&i, {}, Dtype::int64));
    return make("Gather", {rows, index}, {{"axis", int64_t{1}}});
  }
  std::string kept(const std::string& scores, const std::string& condition) {
    return make("Where", {condition, scores, number(kDropped)});
  }

  /// Of each level's scores (N, K, C) options.candidates.
  std::string best_of_levels(const std::string& scores, int64_t images, int64_t classes) {
    const int64_t most = options_.candidates;
    Names levels;
    bool is_limited = false;
    int64_t begin = 0;
    for (const int64_t count : coder_.level_counts()) {
      if (count == 0) continue;
      std::string level = slice(scores, 1, begin, begin + count);
      begin += count;
      if (most > 0 && count * classes > most) {
        is_limited = true;
        const std::string flat = make("Reshape", {level, graph_.integers({images, -1})});
        const std::string value = graph_.fresh("detection/best"), order = graph_.fresh("detection/order");
        add("TopK", {flat, graph_.integers({most})}, {value, order}, {{"axis", int64_t{1}}});
        const std::string worst = make("Reshape", {slice(value, 1, most - 1, most), graph_.integers({images, 1, 1})});
        level = kept(level, make("GreaterOrEqual", {level, worst}));
      }
      levels.push_back(level);
    }
    return is_limited ? make("Concat", levels, {{"axis", int64_t{1}}}) : scores;
  }

  GraphBuilder& graph_;
  const links::AnchorCoder& coder_;
  const links::AnchorDecodeOptions& options_;
};

void check(const links::Detector& model, const ExportOptions& options) {
  const auto refuse = [](const std::string& what) { throw ValueError(std::string(kExport) + ": " + what); };
  if (options.dynamic_batch) refuse("dynamic_batch: the number of images must be that of x");
  if (options.train) refuse("train: boxes are found in evaluation alone");
  if (model.decoding.soft_nms) {
    refuse("decoding.soft_nms has no ONNX operator: use_preset(\"visualize\"), or reset it, for plain suppression");
  }
  if (model.decoding.nms_by_level) refuse("decoding.nms_by_level has no ONNX operator");
  if (!options.output_names.empty() && options.output_names.size() != 4) {
    refuse("output_names has " + std::to_string(options.output_names.size()) +
           " names: there are four outputs, bbox, label, score and image_index");
  }
  argument::not_nan(kExport, "decoding.score_thresh", model.decoding.score_thresh);
  argument::not_nan(kExport, "decoding.nms_thresh", model.decoding.nms_thresh);
  argument::not_negative(kExport, "decoding.candidates", model.decoding.candidates);
  argument::not_negative(kExport, "decoding.limit", model.decoding.limit);
}

}  // namespace

void export_detector(const links::Detector& model, const Variable& x, const std::string& path,
                     const ExportOptions& options) {
  check(model, options);
  const bool is_defined = x.is_defined() && x.array().is_defined();
  if (!is_defined || x.ndim() != 4 || x.shape()[0] == 0) {
    throw TypeError(std::string(kExport) + ": x " +
                    (is_defined ? "has shape " + to_string(x.shape()) : "is undefined") +
                    ": it must be (images, 3, height, width), with an image at least");
  }
  Names names = options.output_names;
  if (names.empty()) names = {"bbox", "label", "score", "image_index"};
  ExportOptions network = options;
  network.output_names.clear();
  const links::AnchorCoder coder = model.coder(x.shape()[2], x.shape()[3]);
  const auto append = [&](GraphBuilder& graph) {
    const Trace& trace = graph.trace();
    const Value &locs = graph.value(trace.results[0]), &confs = graph.value(trace.results[1]);
    const Shape shape = confs.array.shape();
    const int64_t images = shape[0];
    DetectionNodes nodes(graph, coder, model.decoding);
    const std::string boxes = nodes.boxes(nodes.cast(graph.name_of(trace.results[0]), locs.array.dtype()));
    const std::string scores =
        nodes.scores(nodes.cast(graph.name_of(trace.results[1]), confs.array.dtype()), boxes, images, shape[2]);
    const std::string selected = nodes.selected(boxes, scores);
    std::vector<Names> parts;
    for (int64_t i = 0; i < images; ++i) parts.push_back(nodes.best_of_image(selected, boxes, scores, i, images));
    std::vector<Port> outputs;
    for (const std::string& name : names) {
      if (name.empty() || graph.fresh(name) != name) {
        throw ValueError(std::string(kExport) + ": output_names: '" + name +
                         "' is empty, or names something else in the graph");
      }
    }
    for (size_t k = 0; k < names.size(); ++k) {
      Names of_images;
      for (const Names& part : parts) of_images.push_back(part[k]);
      nodes.add(images > 1 ? "Concat" : "Identity", of_images, {names[k]},
                images > 1 ? Attributes{{"axis", int64_t{0}}} : Attributes{});
      const bool is_real = k == 0 || k == 2;
      Port port{names[k], is_real ? Dtype::float32 : Dtype::int64, k == 0 ? Shape{0, 4} : Shape{0}, {"detections"}};
      if (k == 0) port.symbols.emplace_back();
      outputs.push_back(std::move(port));
    }
    graph.set_outputs(std::move(outputs));
  };
  const Variable inputs[] = {x};
  write_model(detail::model_call(model), detail::link_of(model), inputs, path, network, append);
}

}  // namespace kusari::onnx
