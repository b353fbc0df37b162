#pragma once

// The detectors that the programs of this folder know, and the file in which a training says what it trained.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>
#include <nlohmann/json.hpp>

inline const std::vector<std::string> kDetectors{"retinanet_resnet18",   "retinanet_resnet50", "faster_rcnn_resnet18",
                                                 "faster_rcnn_resnet50", "efficientdet_d0",    "ssd300"};

struct DetectorSpec {
  std::string model = "retinanet_resnet18";
  std::vector<std::string> label_names = {};
  int64_t size = 512;       // side of the squares into which images are brought
  double anchor_scale = 4;  // RetinaNet's and Faster R-CNN's: size of the smallest anchors, in strides of 8 pixels
  bool frozen_bn = false;   // theirs

  int64_t n_classes() const { return static_cast<int64_t>(label_names.size()); }
};

// visit(detector), the detector being of its own class.
template <class Visit>
decltype(auto) with_detector(const DetectorSpec& spec, Visit visit) {
  using namespace kusari;
  const L::DetectorPreparation contained{.fit = L::DetectorFit::longer_side, .size = spec.size};
  if (spec.model == "efficientdet_d0") {
    return visit(L::EfficientDet({.n_classes = spec.n_classes(), .preparation = contained}));
  }
  if (spec.model == "ssd300") return visit(L::SSD300({.n_classes = spec.n_classes()}));
  if (std::find(kDetectors.begin(), kDetectors.end(), spec.model) == kDetectors.end()) {
    throw ValueError("there is no detector '" + spec.model + "'");
  }
  const int64_t depth = spec.model.ends_with("18") ? 18 : 50;
  if (spec.model.starts_with("faster_rcnn")) {
    return visit(L::FasterRCNN({.n_classes = spec.n_classes(),
                                .depth = depth,
                                .frozen_bn = spec.frozen_bn,
                                .grid = L::AnchorGrid({.levels = {2, 3, 4, 5, 6},  // of strides from 4 on
                                                       .scale = 2 * spec.anchor_scale,
                                                       .octaves = 1}),
                                .preparation = contained}));
  }
  return visit(L::RetinaNet({.n_classes = spec.n_classes(),
                             .depth = depth,
                             .frozen_bn = spec.frozen_bn,
                             .grid = L::AnchorGrid({.scale = spec.anchor_scale}),
                             .preparation = contained}));
}

// Whether it looks at images twice, and so is trained with boxes instead of targets for anchors.
inline bool looks_twice(const kusari::L::Detector& detector) {
  return dynamic_cast<const kusari::L::FasterRCNN*>(&detector) != nullptr;
}

inline std::unique_ptr<kusari::L::Detector> make_detector(const DetectorSpec& spec) {
  return with_detector(spec, [](auto detector) -> std::unique_ptr<kusari::L::Detector> {
    return std::make_unique<decltype(detector)>(std::move(detector));
  });
}

inline std::string spec_path(const std::string& result) {
  return (std::filesystem::path(result) / "detector.json").string();
}
inline std::string model_path(const std::string& result) {
  return (std::filesystem::path(result) / "model.npz").string();
}

inline void save_spec(const std::string& result, const DetectorSpec& spec) {
  const nlohmann::ordered_json text{{"model", spec.model},
                                    {"label_names", spec.label_names},
                                    {"size", spec.size},
                                    {"anchor_scale", spec.anchor_scale},
                                    {"frozen_bn", spec.frozen_bn}};
  std::ofstream out(spec_path(result));
  out << text.dump(2) << "\n";
  if (!out.flush()) throw kusari::IoError("cannot write " + spec_path(result));
}

// What the training in this folder has trained.
inline DetectorSpec load_spec(const std::string& result) {
  const std::string path = spec_path(result);
  std::ifstream in(path);
  if (!in) throw kusari::IoError("cannot read " + path + ": name the folder of a train_detection with --result");
  try {
    const auto text = nlohmann::json::parse(in);
    DetectorSpec spec;
    spec.model = text.at("model").get<std::string>();
    spec.label_names = text.at("label_names").get<std::vector<std::string>>();
    spec.size = text.at("size").get<int64_t>();
    spec.anchor_scale = text.at("anchor_scale").get<double>();
    spec.frozen_bn = text.at("frozen_bn").get<bool>();
    return spec;
  } catch (const nlohmann::json::exception& error) {
    throw kusari::IoError(path + " is not what train_detection writes: " + error.what());
  }
}

// The detector with its weights. weights: another file than the one in the folder, if not empty.
inline std::unique_ptr<kusari::L::Detector> load_detector(const DetectorSpec& spec, const std::string& result,
                                                          const std::string& weights, const kusari::Device& device) {
  auto detector = make_detector(spec);
  kusari::serializers::load_npz(weights.empty() ? model_path(result) : weights, *detector);
  detector->to(device);
  return detector;
}
