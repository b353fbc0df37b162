#include "kusari/framework/training/extensions/detection_evaluator.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/training/detection/eval_semantic_segmentation.h"

namespace kusari::training::extensions {
namespace {

/// The base evaluates nothing by itself.
EvaluatorOptions without_calls() {
  EvaluatorOptions options;
  options.eval_func = updaters::LossFunction::of_all(
      [](std::span<const Variable>, std::span<const std::string>) { return Variable(); });
  return options;
}

/// The numbers under the names that a model's reports have.
DictSummary::Values reported(const DictSummary::Values& values, const Link& model) {
  Observation observation;
  {
    const auto scope = report_scope(observation);
    for (const auto& [key, value] : values) report({{key, value}}, model);
  }
  DictSummary summary;
  summary.add(observation);
  return summary.compute_mean();
}

void add_class_numbers(DictSummary::Values& values, const std::string& prefix, const std::vector<double>& numbers,
                       const std::vector<std::string>& names) {
  for (size_t c = 0; c < std::min(numbers.size(), names.size()); ++c) {
    if (!std::isnan(numbers[c])) values.emplace_back(prefix + names[c], numbers[c]);
  }
}

/// Where a component stands in examples.
std::optional<size_t> place_of(const std::string& component, const datasets::Keys& keys,
                               const datasets::Keys& components, size_t example_size) {
  const datasets::Keys& names = keys.empty() ? components : keys;
  const auto found = std::find(names.begin(), names.end(), component);
  const auto place = static_cast<size_t>(found - names.begin());
  if (found == names.end() || place >= example_size) return std::nullopt;
  return place;
}

}  // namespace

DetectionEvaluator::DetectionEvaluator(iterators::IteratorRef iterator, Link& model, Predict predict,
                                       datasets::Keys components, DetectionEvaluatorOptions options)
    : Evaluator(std::move(iterator), model, without_calls()),
      predict_{std::move(predict)},
      components_{std::move(components)},
      options_{std::move(options)} {}

DictSummary::Values DetectionEvaluator::evaluate() {
  if (options_.eval_hook) options_.eval_hook(*this);
  const auto no_graph = no_backprop_mode();
  iterators::Iterator& iterator = get_iterator();
  iterator.reset();
  const datasets::Keys keys = iterator.keys();
  std::vector<Detections> found;
  std::vector<metrics::GroundTruth> truth;
  for (const iterators::Batch& batch : iterator) {
    std::vector<Array> images;
    for (const datasets::Example& example : batch) {
      const auto component = [&](const char* name) -> const Array* {
        const std::optional<size_t> place = place_of(name, keys, components_, example.size());
        return place ? &example[*place] : nullptr;
      };
      const auto required = [&](const char* name) -> const Array& {
        if (const Array* const array = component(name)) return *array;
        throw ValueError("DetectionEvaluator: an example of " + std::to_string(example.size()) +
                         " components has no '" + name + "'");
      };
      images.push_back(required("image"));
      metrics::GroundTruth image{boxes_of(required("bbox")), required("label").to_vector<int32_t>()};
      if (const Array* const difficult = component("difficult")) image.difficult = difficult->to_vector<uint8_t>();
      if (const Array* const area = component("area")) image.area = area->to_vector<double>();
      if (const Array* const crowded = component("crowded")) image.crowded = crowded->to_vector<uint8_t>();
      truth.push_back(std::move(image));
    }
    for (Detections& detections : predict_(get_target(), images)) found.push_back(std::move(detections));
  }
  return reported(compare(found, truth), get_target());
}

void DetectionEvaluator::add_classes(DictSummary::Values& values, const std::string& prefix,
                                     const std::vector<double>& numbers) const {
  add_class_numbers(values, prefix, numbers, options_.label_names);
}

DetectionVOCEvaluator::DetectionVOCEvaluator(iterators::IteratorRef iterator, Link& model,
                                             metrics::VocEvaluationOptions evaluation,
                                             DetectionEvaluatorOptions options, Predict predict)
    : DetectionEvaluator(std::move(iterator), model, std::move(predict), {"image", "bbox", "label", "difficult"},
                         std::move(options)),
      evaluation_{evaluation} {}

DictSummary::Values DetectionVOCEvaluator::compare(std::span<const Detections> found,
                                                   std::span<const metrics::GroundTruth> truth) const {
  const metrics::VocMetrics result = metrics::eval_detection_voc(found, truth, evaluation_);
  DictSummary::Values values{{"map", result.map}};
  add_classes(values, "ap/", result.ap);
  return values;
}

DetectionCOCOEvaluator::DetectionCOCOEvaluator(iterators::IteratorRef iterator, Link& model,
                                               DetectionEvaluatorOptions options, Predict predict)
    : DetectionEvaluator(std::move(iterator), model, std::move(predict), {"image", "bbox", "label", "area", "crowded"},
                         std::move(options)) {}

DictSummary::Values DetectionCOCOEvaluator::compare(std::span<const Detections> found,
                                                    std::span<const metrics::GroundTruth> truth) const {
  const metrics::CocoMetrics result = metrics::eval_detection_coco(found, truth);
  const char* const names[] = {"map",  "map50", "map75",  "map_small", "map_medium", "map_large",
                               "mar1", "mar10", "mar100", "mar_small", "mar_medium", "mar_large"};
  DictSummary::Values values;
  for (size_t i = 0; i < std::size(names); ++i) values.emplace_back(names[i], result.stats()[i]);
  add_classes(values, "ap/", result.class_ap);
  return values;
}

SemanticSegmentationEvaluator::SemanticSegmentationEvaluator(iterators::IteratorRef iterator, Link& model,
                                                             DetectionEvaluatorOptions options, Predict predict)
    : Evaluator(std::move(iterator), model, without_calls()),
      predict_{std::move(predict)},
      options_{std::move(options)} {}

DictSummary::Values SemanticSegmentationEvaluator::evaluate() {
  if (options_.eval_hook) options_.eval_hook(*this);
  const auto no_graph = no_backprop_mode();
  iterators::Iterator& iterator = get_iterator();
  iterator.reset();
  const datasets::Keys keys = iterator.keys();
  metrics::SegmentationConfusion confusion;
  for (const iterators::Batch& batch : iterator) {
    std::vector<Array> images, labels;
    for (const datasets::Example& example : batch) {
      const auto image = place_of("image", keys, {"image", "label"}, example.size());
      const auto label = place_of("label", keys, {"image", "label"}, example.size());
      if (!image || !label) {
        throw ValueError("SemanticSegmentationEvaluator: an example of " + std::to_string(example.size()) +
                         " components has no image and label");
      }
      images.push_back(example[*image]);
      labels.push_back(example[*label]);
    }
    const std::vector<Array> predicted = predict_(get_target(), images);
    if (predicted.size() != images.size()) {
      throw ValueError("SemanticSegmentationEvaluator: the model gave " + std::to_string(predicted.size()) +
                       " predictions for " + std::to_string(images.size()) + " images");
    }
    for (size_t i = 0; i < labels.size(); ++i) confusion.add(predicted[i], labels[i]);
  }
  const metrics::SegmentationMetrics result = confusion.metrics();
  DictSummary::Values values{{"miou", result.miou},
                             {"pixel_accuracy", result.pixel_accuracy},
                             {"mean_class_accuracy", result.mean_class_accuracy}};
  add_class_numbers(values, "iou/", result.iou, options_.label_names);
  add_class_numbers(values, "class_accuracy/", result.class_accuracy, options_.label_names);
  return reported(values, get_target());
}

}  // namespace kusari::training::extensions
