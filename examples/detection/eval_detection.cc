// Compares detections with annotations, both in COCO's format, and prints the numbers as one line of JSON.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <kusari/kusari.h>
#include <nlohmann/json.hpp>

#include "kusari/examples/common/flags.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string annotations =
      text("-a,--annotations", "", "What is to be found: a JSON file in COCO's format", required());
  std::string results = text("-r,--results", "", "What was found: a JSON list in COCO's format of results", required());
  bool voc = flag("--voc", "Print PASCAL VOC's average precisions instead");
  bool voc07 = flag("--voc07", "The same as in 2007, by 11 points", excludes("--voc"));
};

/// JSON has no NaN.
nlohmann::ordered_json number(double value) {
  return std::isnan(value) ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
}

template <class Entry>
Box box_of(const Entry& entry) {
  return {static_cast<float>(entry.y), static_cast<float>(entry.x), static_cast<float>(entry.y + entry.height),
          static_cast<float>(entry.x + entry.width)};
}

nlohmann::ordered_json evaluate_voc(const datasets::CocoAnnotations& truth,
                                    const std::vector<datasets::CocoResult>& results, bool by_eleven) {
  std::map<int64_t, size_t> images;
  std::map<int64_t, int32_t> labels;
  for (const datasets::CocoImage& image : truth.images) images.emplace(image.id, images.size());
  for (const datasets::CocoCategory& category : truth.categories) {
    labels.emplace(category.id, static_cast<int32_t>(labels.size()));
  }
  std::vector<Detections> found(images.size());
  std::vector<metrics::GroundTruth> boxes(images.size());
  for (const datasets::CocoAnnotation& annotation : truth.annotations) {
    metrics::GroundTruth& image = boxes[images.at(annotation.image)];
    image.bbox.push_back(box_of(annotation));
    image.label.push_back(labels.at(annotation.category));
    image.difficult.push_back(annotation.is_difficult || annotation.is_crowd);
  }
  for (const datasets::CocoResult& result : results) {
    const auto image = images.find(result.image);
    const auto label = labels.find(result.category);
    if (image == images.end() || label == labels.end()) continue;
    Detections& own = found[image->second];
    own.bbox.push_back(box_of(result));
    own.label.push_back(label->second);
    own.score.push_back(static_cast<float>(result.score));
  }
  const metrics::VocMetrics voc = metrics::eval_detection_voc(found, boxes, {.use_07_metric = by_eleven});
  nlohmann::ordered_json line{{"map", number(voc.map)}, {"ap", nlohmann::ordered_json::object()}};
  for (size_t c = 0; c < truth.categories.size(); ++c) {
    line["ap"][truth.categories[c].name] = c < voc.ap.size() ? number(voc.ap[c]) : nlohmann::ordered_json();
  }
  return line;
}

nlohmann::ordered_json evaluate_coco(const datasets::CocoAnnotations& truth,
                                     const std::vector<datasets::CocoResult>& results) {
  std::vector<int64_t> images, categories;
  for (const datasets::CocoImage& image : truth.images) images.push_back(image.id);
  for (const datasets::CocoCategory& category : truth.categories) categories.push_back(category.id);
  const metrics::CocoMetrics coco = metrics::eval_detection_coco(images, categories, truth.annotations, results);
  return {{"AP", coco.ap},         {"AP50", coco.ap50},    {"AP75", coco.ap75},     {"APs", coco.ap_small},
          {"APm", coco.ap_medium}, {"APl", coco.ap_large}, {"AR1", coco.ar1},       {"AR10", coco.ar10},
          {"AR100", coco.ar100},   {"ARs", coco.ar_small}, {"ARm", coco.ar_medium}, {"ARl", coco.ar_large}};
}

void evaluate(const Arguments& args) {
  const datasets::CocoAnnotations truth = datasets::read_coco_annotations(args.annotations);
  const std::vector<datasets::CocoResult> results = datasets::read_coco_results(args.results);
  const nlohmann::ordered_json line =
      args.voc || args.voc07 ? evaluate_voc(truth, results, args.voc07) : evaluate_coco(truth, results);
  std::printf("%s\n", line.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Detections against annotations", evaluate);
}
