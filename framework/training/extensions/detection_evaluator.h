#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/detection/box.h"
#include "kusari/framework/training/detection/eval_detection_coco.h"
#include "kusari/framework/training/detection/eval_detection_voc.h"
#include "kusari/framework/training/extensions/evaluator.h"

namespace kusari::training::extensions {

/// A link that finds objects: `predict` takes images and gives what it found in each.
template <class Model>
concept DetectorType = LinkType<Model> && requires(Model& model, const std::vector<Array>& images) {
  { model.predict(images) } -> std::convertible_to<std::vector<Detections>>;
};

/// A link that classifies pixels: `predict` takes images and gives labels (H, W) of each.
template <class Model>
concept SegmenterType = LinkType<Model> && requires(Model& model, const std::vector<Array>& images) {
  { model.predict(images) } -> std::convertible_to<std::vector<Array>>;
};

struct DetectionEvaluatorOptions {
  std::vector<std::string> label_names = {};  ///< with them the numbers of each class are reported too
  Callable<void(Evaluator&)> eval_hook = {};  ///< called before each evaluation
};

/// What the evaluators of detectors share: they show a model the images of a data set, a batch at a time, and compare
/// what it finds with the annotations. An example is (image, bbox, label, ...), in any order if there are keys; without
/// keys what follows is "difficult" for VOC's, "area" and "crowded" for COCO's.
class KUSARI_API DetectionEvaluator : public Evaluator {
 public:
  using Predict = Callable<std::vector<Detections>(Link& model, const std::vector<Array>& images)>;

 protected:
  DetectionEvaluator(iterators::IteratorRef iterator, Link& model, Predict predict, datasets::Keys components,
                     DetectionEvaluatorOptions options);
  DictSummary::Values evaluate() final;
  /// Names of numbers, and the numbers; of classes by label.
  virtual DictSummary::Values compare(std::span<const Detections> found,
                                      std::span<const metrics::GroundTruth> truth) const = 0;
  /// Adds `prefix` and the name of each class whose number is not NaN.
  void add_classes(DictSummary::Values& values, const std::string& prefix, const std::vector<double>& numbers) const;

 private:
  Predict predict_;
  datasets::Keys components_;
  DetectionEvaluatorOptions options_;
};

/// Reports "map" and, of each class that there is, "ap/<name>" as PASCAL VOC has them: "validation/main/map". Once an
/// epoch unless told otherwise. Throws ValueError for an iterator that repeats.
/// chainercv.extensions.DetectionVOCEvaluator.
class KUSARI_API DetectionVOCEvaluator final : public DetectionEvaluator {
 public:
  template <DetectorType Model>
  DetectionVOCEvaluator(iterators::IteratorRef iterator, Model& model, metrics::VocEvaluationOptions evaluation = {},
                        DetectionEvaluatorOptions options = {})
      : DetectionVOCEvaluator(std::move(iterator), model, evaluation, std::move(options),
                              [](Link& link, const std::vector<Array>& images) {
                                return std::vector<Detections>(static_cast<Model&>(link).predict(images));
                              }) {}

 protected:
  DictSummary::Values compare(std::span<const Detections> found,
                              std::span<const metrics::GroundTruth> truth) const override;

 private:
  DetectionVOCEvaluator(iterators::IteratorRef iterator, Link& model, metrics::VocEvaluationOptions evaluation,
                        DetectionEvaluatorOptions options, Predict predict);
  metrics::VocEvaluationOptions evaluation_;
};

/// The same with the twelve numbers of COCO: "map", "map50", "map75", "map_small", "map_medium", "map_large", "mar1",
/// "mar10", "mar100", "mar_small", "mar_medium", "mar_large", and "ap/<name>".
/// chainercv.extensions.DetectionCOCOEvaluator.
class KUSARI_API DetectionCOCOEvaluator final : public DetectionEvaluator {
 public:
  template <DetectorType Model>
  DetectionCOCOEvaluator(iterators::IteratorRef iterator, Model& model, DetectionEvaluatorOptions options = {})
      : DetectionCOCOEvaluator(std::move(iterator), model, std::move(options),
                               [](Link& link, const std::vector<Array>& images) {
                                 return std::vector<Detections>(static_cast<Model&>(link).predict(images));
                               }) {}

 protected:
  DictSummary::Values compare(std::span<const Detections> found,
                              std::span<const metrics::GroundTruth> truth) const override;

 private:
  DetectionCOCOEvaluator(iterators::IteratorRef iterator, Link& model, DetectionEvaluatorOptions options,
                         Predict predict);
};

/// Reports "miou", "pixel_accuracy", "mean_class_accuracy", and with names of classes "iou/<name>" and
/// "class_accuracy/<name>" of those that there are. An example is (image, label), label (H, W) integers with -1 for
/// pixels that do not count. chainercv.extensions.SemanticSegmentationEvaluator.
class KUSARI_API SemanticSegmentationEvaluator final : public Evaluator {
 public:
  using Predict = Callable<std::vector<Array>(Link& model, const std::vector<Array>& images)>;
  template <SegmenterType Model>
  SemanticSegmentationEvaluator(iterators::IteratorRef iterator, Model& model, DetectionEvaluatorOptions options = {})
      : SemanticSegmentationEvaluator(std::move(iterator), model, std::move(options),
                                      [](Link& link, const std::vector<Array>& images) {
                                        return std::vector<Array>(static_cast<Model&>(link).predict(images));
                                      }) {}

 protected:
  DictSummary::Values evaluate() override;

 private:
  SemanticSegmentationEvaluator(iterators::IteratorRef iterator, Link& model, DetectionEvaluatorOptions options,
                                Predict predict);
  Predict predict_;
  DetectionEvaluatorOptions options_;
};

}  // namespace kusari::training::extensions
