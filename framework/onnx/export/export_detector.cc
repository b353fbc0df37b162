#include "kusari/framework/onnx/export_detector.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/links/detection/faster_rcnn.h"
#include "kusari/framework/onnx/export/detection_nodes.h"
#include "kusari/framework/onnx/export/region_nodes.h"
#include "kusari/framework/onnx/export/write_model.h"

namespace kusari::onnx {
namespace {

using namespace exporting;
const char* const kExport = "onnx::export_detector";

/// Of each level's scores (N, K, C) options.candidates.
std::string best_of_levels(const DetectionNodes& nodes, const std::string& scores, const std::vector<int64_t>& counts,
                           int64_t most, int64_t images, int64_t classes) {
  GraphBuilder& graph = nodes.graph();
  Names levels;
  bool is_limited = false;
  int64_t begin = 0;
  for (const int64_t count : counts) {
    if (count == 0) continue;
    std::string level = nodes.slice(scores, 1, begin, begin + count);
    begin += count;
    if (most > 0 && count * classes > most) {
      is_limited = true;
      const std::string flat = nodes.make("Reshape", {level, graph.integers({images, -1})});
      const std::string best = nodes.top(flat, graph.integers({most}))[0];
      const std::string worst =
          nodes.make("Reshape", {nodes.slice(best, 1, most - 1, most), graph.integers({images, 1, 1})});
      level = nodes.kept(level, nodes.make("GreaterOrEqual", {level, worst}));
    }
    levels.push_back(level);
  }
  return is_limited ? nodes.make("Concat", levels, {{"axis", int64_t{1}}}) : scores;
}

/// What an image's anchors stand for: bbox, label, score and image_index of each image.
std::vector<Names> find_by_anchors(const DetectionNodes& nodes, const links::Detector& model, int64_t height,
                                   int64_t width) {
  GraphBuilder& graph = nodes.graph();
  const Trace& trace = graph.trace();
  const links::AnchorCoder coder = model.coder(height, width);
  const links::AnchorDecodeOptions& options = model.decoding;
  const Value &locs = graph.value(trace.results[0]), &confs = graph.value(trace.results[1]);
  const Shape shape = confs.array.shape();
  const int64_t images = shape[0];
  const bool is_softmax = options.scores == links::AnchorScores::softmax;
  const int64_t classes = is_softmax ? shape[2] - 1 : shape[2];

  const std::string boxes = nodes.corners(nodes.cast(graph.name_of(trace.results[0]), locs.array.dtype()),
                                          nodes.places(coder.anchors()), coder.variance(), height, width);
  const std::string outputs = nodes.cast(graph.name_of(trace.results[1]), confs.array.dtype());
  std::string scores = is_softmax
                           ? nodes.slice(nodes.make("Softmax", {outputs}, {{"axis", int64_t{2}}}), 2, 1, shape[2])
                           : nodes.make("Sigmoid", {outputs});
  scores = nodes.kept_from(scores, options.score_thresh, options.best_class_only, classes);
  scores = best_of_levels(nodes, scores, coder.level_counts(), options.candidates, images, classes);
  scores = nodes.kept(scores, nodes.are_large(boxes, options.min_size));
  scores = nodes.make("Transpose", {scores}, {{"perm", std::vector<int64_t>{0, 2, 1}}});

  const auto count = static_cast<int64_t>(coder.anchors().size());
  const int64_t most = options.limit > 0 ? std::min(options.limit, count) : count;
  const std::string rows =
      nodes.selected(boxes, scores, most, below(options.nms_thresh), below(std::max(options.score_thresh, 0.0)));
  std::vector<Names> found;
  for (int64_t i = 0; i < images; ++i) {
    found.push_back(nodes.best_of_image(rows, boxes, scores, i, images, 0, options.limit));
  }
  return found;
}

void check(const links::Detector& model, const ExportOptions& options) {
  const auto refuse = [](const std::string& what) { throw ValueError(std::string(kExport) + ": " + what); };
  if (options.dynamic_batch) refuse("dynamic_batch: the number of images must be that of x");
  if (!options.dynamic_axes.empty()) refuse("dynamic_axes: the sizes must be those of x");
  if (options.train) refuse("train: boxes are found in evaluation alone");
  if (model.decoding.soft_nms) {
    refuse("decoding.soft_nms has no ONNX operator: use_preset(\"visualize\"), or reset it, for plain suppression");
  }
  if (model.decoding.nms_by_level) refuse("decoding.nms_by_level has no ONNX operator");
  if (dynamic_cast<const links::FasterRCNN*>(&model) != nullptr &&
      model.decoding.scores != links::AnchorScores::softmax) {
    refuse("decoding.scores must be softmax, which Faster R-CNN's second look is trained for");
  }
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
  const int64_t height = x.shape()[2], width = x.shape()[3];
  const auto* const looks_twice = dynamic_cast<const links::FasterRCNN*>(&model);
  const auto append = [&](GraphBuilder& graph) {
    const DetectionNodes nodes(graph);
    const std::vector<Names> parts = looks_twice != nullptr ? find_in_regions(nodes, *looks_twice, height, width)
                                                            : find_by_anchors(nodes, model, height, width);
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
      const bool are_many = parts.size() > 1;
      nodes.add(are_many ? "Concat" : "Identity", of_images, {names[k]},
                are_many ? Attributes{{"axis", int64_t{0}}} : Attributes{});
      const bool is_real = k == 0 || k == 2;
      Port port{names[k], is_real ? Dtype::float32 : Dtype::int64, k == 0 ? Shape{0, 4} : Shape{0}, {"detections"}};
      if (k == 0) port.symbols.emplace_back();
      outputs.push_back(std::move(port));
    }
    graph.set_outputs(std::move(outputs));
  };
  detail::ModelCall call = detail::model_call(model);
  if (looks_twice != nullptr) {
    call = [looks_twice](std::span<const Variable> inputs) { return first_look(*looks_twice, inputs[0]); };
  }
  const Variable inputs[] = {x};
  write_model(call, detail::link_of(model), inputs, path, network, append);
}

}  // namespace kusari::onnx
