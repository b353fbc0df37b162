// Compares what was found with annotations, and prints the numbers as one line of JSON. What was found is in a file, in
// COCO's format, or is what a trained model finds.
//
//   eval_detection --annotations instances_val.json --results detections.json
//   eval_detection --result result --data bccd --root bccd-voc.tar
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <kusari/kusari.h>
#include <nlohmann/json.hpp>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/detection/data.h"
#include "kusari/examples/detection/detectors.h"
#include "kusari/examples/detection/finder.h"
#include "kusari/examples/precision.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string annotations = text("-a,--annotations", "", "What is to be found: a JSON file in COCO's format");
  std::string results = text("-r,--results", "", "What was found: a JSON list in COCO's format of results");
  bool voc = flag("--voc", "Print PASCAL VOC's average precisions");
  bool voc07 = flag("--voc07", "The same as in 2007, by 11 points", excludes("--voc"));
  bool coco = flag("--coco", "Print COCO's numbers (default: VOC's for --data bccd and voc, else COCO's)",
                   excludes("--voc"), excludes("--voc07"));
  std::string result = text("--result", "", "Output directory of a train_detection, whose model is to be tested");
  std::string weights = text("--weights", "", "Other weights than model.npz there");
  std::string save = text(
      "--save", "", "Write <this>annotations.json and <this>results.json in COCO's format, for a later comparison");
  DataFlags data = data_flags(*this);
  int64_t batchsize = count("-b,--batchsize", 8, "Images that go through the network together");
  std::string device = device_flag();
  std::string dtype = dtype_flag(*this);
};

/// JSON has no NaN.
nlohmann::ordered_json number(double value) {
  return std::isnan(value) ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
}

nlohmann::ordered_json coco_numbers(const metrics::CocoMetrics& coco) {
  return {{"AP", coco.ap},         {"AP50", coco.ap50},    {"AP75", coco.ap75},     {"APs", coco.ap_small},
          {"APm", coco.ap_medium}, {"APl", coco.ap_large}, {"AR1", coco.ar1},       {"AR10", coco.ar10},
          {"AR100", coco.ar100},   {"ARs", coco.ar_small}, {"ARm", coco.ar_medium}, {"ARl", coco.ar_large}};
}

nlohmann::ordered_json voc_numbers(const metrics::VocMetrics& voc, const std::vector<std::string>& label_names) {
  nlohmann::ordered_json line{{"map", number(voc.map)}, {"ap", nlohmann::ordered_json::object()}};
  for (size_t c = 0; c < label_names.size(); ++c) {
    line["ap"][label_names[c]] = c < voc.ap.size() ? number(voc.ap[c]) : nlohmann::ordered_json();
  }
  return line;
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
  std::vector<std::string> names;
  for (const datasets::CocoCategory& category : truth.categories) names.push_back(category.name);
  return voc_numbers(metrics::eval_detection_voc(found, boxes, {.use_07_metric = by_eleven}), names);
}

nlohmann::ordered_json evaluate_coco(const datasets::CocoAnnotations& truth,
                                     const std::vector<datasets::CocoResult>& results) {
  std::vector<int64_t> images, categories;
  for (const datasets::CocoImage& image : truth.images) images.push_back(image.id);
  for (const datasets::CocoCategory& category : truth.categories) categories.push_back(category.id);
  return coco_numbers(metrics::eval_detection_coco(images, categories, truth.annotations, results));
}

// What a model found in the images of a data set, and what there is.
struct Comparison {
  std::vector<Detections> found;
  std::vector<metrics::GroundTruth> truth;
  std::vector<datasets::transforms::Size> sizes;
  double ms_per_image = 0;
};

Comparison find_all(const datasets::Dataset& data, const L::Detector& detector, int64_t batchsize) {
  const datasets::Keys keys = data.keys();
  const auto place = [&](const char* key) {
    return static_cast<size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
  };
  const size_t difficult = place("difficult"), area = place("area"), crowded = place("crowded");
  Comparison comparison;
  double milliseconds = 0;
  for (const auto& batch :
       iterators::MultithreadIterator(data, batchsize, {.repeat = false, .shuffle = false, .n_threads = 1})) {
    std::vector<Array> images;
    for (const datasets::Example& example : batch) {
      images.push_back(example[data.component("image")]);
      comparison.sizes.emplace_back(images.back().shape(1), images.back().shape(2));
      metrics::GroundTruth truth{boxes_of(example[data.component("bbox")]),
                                 example[data.component("label")].to_vector<int32_t>()};
      if (difficult < keys.size()) truth.difficult = example[difficult].to_vector<uint8_t>();
      if (area < keys.size()) truth.area = example[area].to_vector<double>();
      if (crowded < keys.size()) truth.crowded = example[crowded].to_vector<uint8_t>();
      comparison.truth.push_back(std::move(truth));
    }
    Stopwatch watch;
    for (Detections& found : detector.predict(images)) comparison.found.push_back(std::move(found));
    milliseconds += watch.lap();
  }
  comparison.ms_per_image = milliseconds / static_cast<double>(std::max<size_t>(comparison.found.size(), 1));
  return comparison;
}

// The floats as they are: JSON's numbers are doubles.
nlohmann::ordered_json corner_and_size(const Box& box) {
  const double x = box.x_min, y = box.y_min;
  return {x, y, static_cast<double>(box.x_max) - x, static_cast<double>(box.y_max) - y};
}

void save_json(const std::string& path, const nlohmann::ordered_json& text) {
  std::ofstream out(path);
  out << text.dump() << "\n";
  if (!out.flush()) throw IoError("cannot write " + path);
}

// Ids count from 1.
void save(const std::string& prefix, const Comparison& comparison, const std::vector<std::string>& label_names) {
  nlohmann::ordered_json images = nlohmann::ordered_json::array(), categories = images, annotations = images,
                         results = images;
  for (size_t c = 0; c < label_names.size(); ++c) categories.push_back({{"id", c + 1}, {"name", label_names[c]}});
  for (size_t i = 0; i < comparison.truth.size(); ++i) {
    images.push_back({{"id", i + 1},
                      {"file_name", std::to_string(i)},
                      {"height", comparison.sizes[i].height},
                      {"width", comparison.sizes[i].width}});
    const metrics::GroundTruth& truth = comparison.truth[i];
    for (size_t k = 0; k < truth.bbox.size(); ++k) {
      const bool is_difficult = !truth.difficult.empty() && truth.difficult[k] != 0;
      annotations.push_back({{"id", annotations.size() + 1},
                             {"image_id", i + 1},
                             {"category_id", truth.label[k] + 1},
                             {"bbox", corner_and_size(truth.bbox[k])},
                             {"area", truth.area.empty() ? static_cast<double>(truth.bbox[k].area()) : truth.area[k]},
                             {"iscrowd", !truth.crowded.empty() && truth.crowded[k] != 0 ? 1 : 0},
                             {"difficult", is_difficult ? 1 : 0}});
    }
    const Detections& found = comparison.found[i];
    for (size_t k = 0; k < found.bbox.size(); ++k) {
      results.push_back({{"image_id", i + 1},
                         {"category_id", found.label[k] + 1},
                         {"bbox", corner_and_size(found.bbox[k])},
                         {"score", found.score[k]}});
    }
  }
  save_json(prefix + "annotations.json",
            {{"images", images}, {"categories", categories}, {"annotations", annotations}});
  save_json(prefix + "results.json", results);
}

nlohmann::ordered_json evaluate_model(const Arguments& args) {
  const DetectorSpec spec = load_spec(args.result);
  const auto detector = load_detector(spec, args.result, args.weights, get_device(args.device));
  detector->use_preset("evaluate");
  const auto [train, test, label_names] = load_test_data(args.data);
  if (label_names != spec.label_names) throw ValueError("the model was trained with other classes than the data have");
  const Comparison comparison = find_all(*test, *detector, args.batchsize);
  if (!args.save.empty()) save(args.save, comparison, label_names);
  const bool by_voc = args.voc || args.voc07 || (!args.coco && args.data.data != "coco");
  nlohmann::ordered_json line =
      by_voc
          ? voc_numbers(metrics::eval_detection_voc(comparison.found, comparison.truth, {.use_07_metric = args.voc07}),
                        label_names)
          : coco_numbers(metrics::eval_detection_coco(comparison.found, comparison.truth));
  line["images"] = comparison.found.size();
  line["ms_per_image"] = std::round(comparison.ms_per_image * 1000) / 1000;
  return line;
}

nlohmann::ordered_json evaluate_files(const Arguments& args) {
  if (args.annotations.empty() || args.results.empty()) {
    throw ValueError("name --annotations and --results, or the --result of a training and its --data");
  }
  const datasets::CocoAnnotations truth = datasets::read_coco_annotations(args.annotations, args.data.skip_broken);
  for (const std::string& problem : truth.problems)
    std::fprintf(stderr, "eval_detection: left out: %s\n", problem.c_str());
  const std::vector<datasets::CocoResult> results = datasets::read_coco_results(args.results);
  return args.voc || args.voc07 ? evaluate_voc(truth, results, args.voc07) : evaluate_coco(truth, results);
}

void evaluate(const Arguments& args) {
  const nlohmann::ordered_json line = args.result.empty() ? evaluate_files(args) : evaluate_model(args);
  std::printf("%s\n", line.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Detections against annotations", evaluate);
}
