#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "kusari/framework/core/config.h"
#include "kusari/framework/links/detection/detection_train_chain.h"
#include "kusari/framework/links/detection/faster_rcnn.h"
#include "kusari/framework/links/detection/retinanet.h"
#include "kusari/framework/links/detection/ssd.h"
#include "kusari/tests/golden_data.h"
#include "kusari/tests/links/detection/drawn_weights.h"

// The same weights, images and boxes as torchvision's networks had, see tests/golden/detection/make_networks.py.
namespace kusari::testing {
namespace {

namespace F = functions;
using nlohmann::json;

json network_cases(const char* network) {
  std::ifstream file(golden_path("detection/networks.json"));
  return json::parse(file).at(network);
}

void check_projections(const json& expected, const std::string& name, const Array& x, double tolerance) {
  CAPTURE(name);
  double norm = 0;
  for (const double value : x.to_vector<double>()) norm += value * value;
  for (size_t i = 0; i < 2; ++i) {
    const double found = projection(name + "." + std::to_string(i), x);
    CHECK(std::abs(found - expected.at(i).get<double>()) <= tolerance * std::sqrt(norm));
  }
}

std::vector<Box> boxes_of(const json& bbox) {
  std::vector<Box> boxes;
  for (const json& box : bbox) boxes.push_back({box.at(0), box.at(1), box.at(2), box.at(3)});
  return boxes;
}

/// What the images' boxes make of the anchors, one image after the other.
struct Targets {
  Array loc, label;
};

Targets encoded(const json& expected, const L::AnchorCoder& coder) {
  const auto images = static_cast<int64_t>(expected.at("bbox").size());
  const auto anchors = static_cast<int64_t>(coder.anchors().size());
  const Targets targets{empty({images, anchors, 4}), empty({images, anchors}, Dtype::int32)};
  for (int64_t i = 0; i < images; ++i) {
    const auto at = static_cast<size_t>(i);
    const L::AnchorTargets one =
        coder.encode(boxes_of(expected.at("bbox").at(at)), expected.at("label").at(at).get<std::vector<int32_t>>());
    targets.loc.at(i).copy_from(one.loc);
    targets.label.at(i).copy_from(one.label);
  }
  return targets;
}

void check_labels(const json& expected, const Array& labels) {
  json found = json::array();
  const std::vector<int32_t> values = labels.to_vector<int32_t>();
  for (size_t k = 0; k < values.size(); ++k) {
    if (values[k] != L::kBackgroundAnchor) found.push_back({k, values[k]});
  }
  CHECK(found == expected);
}

/// The gradients of all parameters, to a ten-thousandth of their length.
void check_gradients_of(const json& expected, Link& model) {
  size_t compared = 0;
  for (const auto& [path, parameter] : model.namedparams()) {
    CAPTURE(path);
    REQUIRE(expected.contains(path));
    const double norm = expected.at(path).at(0), weighted = expected.at(path).at(1);
    double found = 0;
    for (const double value : parameter->grad().to_vector<double>()) found += value * value;
    CHECK(std::sqrt(found) == doctest::Approx(norm).epsilon(1e-4));
    // A projection of that many numbers of differences of a ten-thousandth.
    CHECK(std::abs(projection("gradient of " + path, parameter->grad()) - weighted) <= 1e-4 * norm + 1e-9);
    ++compared;
  }
  CHECK(compared == expected.size());
}

float largest_difference(const Box& a, const Box& b) {
  return std::max({std::abs(a.y_min - b.y_min), std::abs(a.x_min - b.x_min), std::abs(a.y_max - b.y_max),
                   std::abs(a.x_max - b.x_max)});
}

void check_found(const json& expected, const std::vector<Detections>& found) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    REQUIRE(found[i].label == expected.at(i).at("label").get<std::vector<int32_t>>());
    for (size_t k = 0; k < found[i].label.size(); ++k) {
      CAPTURE(k);
      CHECK(found[i].score[k] == doctest::Approx(expected.at(i).at("score").at(k).get<double>()).epsilon(1e-4));
      CHECK(largest_difference(found[i].bbox[k], boxes_of(expected.at(i).at("bbox"))[k]) < 2e-3F);
    }
  }
}

/// Anchors, matching, outputs, losses and gradients.
template <class Model>
void check_training(const json& expected, L::DetectionTrainChain<Model>& chain, const Array& x) {
  const L::AnchorCoder coder = chain.model.coder(x.shape(2), x.shape(3));
  check_projections(expected.at("anchors"), "anchors", bbox_array(coder.anchors()), 1e-7);
  const Targets targets = encoded(expected, coder);
  check_labels(expected.at("labels"), targets.label.at(0));
  chain.cleargrads();
  Variable loss = chain(x, targets.loc, targets.label);
  CHECK(chain.conf_loss.template item<double>() ==
        doctest::Approx(expected.at("loss/conf").get<double>()).epsilon(1e-5));
  CHECK(chain.loc_loss.template item<double>() == doctest::Approx(expected.at("loss/loc").get<double>()).epsilon(1e-5));
  loss.backward();
  check_gradients_of(expected.at("gradients"), chain.model);
}

/// What is found in outputs, with torchvision's bounds.
std::vector<Detections> found_in(const json& expected, const L::Detector& model, const Array& x,
                                 L::AnchorDecodeOptions options) {
  const auto evaluation = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  const auto [locs, confs] = model(x);
  options.score_thresh = expected.at("score_thresh");
  std::vector<Detections> found;
  for (int64_t i = 0; i < x.shape(0); ++i) {
    found.push_back(model.coder(x.shape(2), x.shape(3)).decode(locs.array().at(i), confs.array().at(i), options));
  }
  return found;
}

TEST_CASE("RetinaNet computes what torchvision's does") {
  for (const json& expected : network_cases("retinanet")) {
    CAPTURE(expected.at("depth").get<int>());
    L::RetinaNet model(
        {.n_classes = expected.at("classes"), .depth = expected.at("depth"), .grid = L::AnchorGrid::torchvision()});
    draw_weights(model);
    model.to(Dtype::float64);
    const Array x = drawn_array("x", {2, 3, expected.at("height"), expected.at("width")}, -2, 2).astype(Dtype::float64);
    check_found(expected.at("found"), found_in(expected, model, x, {.limit = 300}));
    L::DetectionTrainChain chain(
        model, {.loss = L::DetectionLossOptions{.loc = L::BoxLoss::l1, .normalizer = F::DetectionNormalizer::image}});
    check_training(expected, chain, x);
  }
}

TEST_CASE("SSD300 computes what torchvision's does") {
  for (const json& expected : network_cases("ssd300")) {
    L::SSD300 model({.n_classes = expected.at("classes")});
    model.extractor.norm4.eps = 0;  // torchvision's is 1e-12, and no sum
    draw_weights(model);
    model.to(Dtype::float64);
    const Array x = drawn_array("x", {1, 3, 300, 300}, -2, 2).astype(Dtype::float64);
    L::AnchorDecodeOptions options = model.decoding;
    check_found(expected.at("found"), found_in(expected, model, x, options));
    L::DetectionTrainChain chain(model);
    check_training(expected, chain, x);
  }
}

/// What both looks of a Faster R-CNN find, with torchvision's bounds, in images of which the second fills a part of x.
void check_looks(const json& expected, L::FasterRCNN& model, const Array& x) {
  const auto evaluation = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  std::vector<L::ImageExtent> extents;
  std::vector<L::PreparedImage> images;
  for (const json& size : expected.at("sizes")) {
    extents.push_back({size.at(0), size.at(1)});
    images.push_back({zeros({3, size.at(0), size.at(1)})});
  }
  const std::vector<std::vector<Box>> regions = model.propose(model.look(x), x.shape(2), x.shape(3), extents);
  REQUIRE(regions.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    CAPTURE(i);
    const std::vector<Box> truth = boxes_of(expected.at("regions").at(i));
    REQUIRE(regions[i].size() == truth.size());
    float worst = 0;
    for (size_t k = 0; k < truth.size(); ++k) worst = std::max(worst, largest_difference(regions[i][k], truth[k]));
    CHECK(worst < 1e-4F);
  }
  model.use_preset("evaluate");
  model.decoding.score_thresh = expected.at("score_thresh");
  check_found(expected.at("found"), model.find(x, images));
}

TEST_CASE("Faster R-CNN computes what torchvision's does") {
  for (const json& expected : network_cases("faster_rcnn")) {
    CAPTURE(expected.at("depth").get<int>());
    L::FasterRCNN model(
        {.n_classes = expected.at("classes"),
         .depth = expected.at("depth"),
         .proposals = {.train_candidates = 60, .test_candidates = 50, .train_limit = 100, .test_limit = 80},
         .anchor_samples = 0,
         .region_samples = 0});
    draw_weights(model);
    model.to(Dtype::float64);
    const Array x = drawn_array("x", {2, 3, expected.at("height"), expected.at("width")}, -2, 2).astype(Dtype::float64);
    const L::AnchorCoder coder = model.coder(x.shape(2), x.shape(3));
    check_projections(expected.at("anchors"), "anchors", bbox_array(coder.anchors()), 1e-7);
    const std::vector<Box> boxes = boxes_of(expected.at("bbox").at(0));
    const std::vector<int32_t> classes = expected.at("label").at(0);
    check_labels(expected.at("labels"), coder.encode(boxes, classes).label);
    check_looks(expected, model, x);

    L::DetectionTrainChain chain(model);
    const Array bbox = zeros({2, 3, 4}), label = full({2, 3}, -1, Dtype::int32);  // the second image has none
    bbox.at(0).copy_from(bbox_array(boxes));
    label.at(0).copy_from(array(classes, {3}));
    chain.cleargrads();
    Variable loss = chain(x, bbox, label);
    for (const auto& [name, value] : {std::pair{"loss/rpn_conf", &chain.rpn_conf_loss},
                                      {"loss/rpn_loc", &chain.rpn_loc_loss},
                                      {"loss/conf", &chain.conf_loss},
                                      {"loss/loc", &chain.loc_loss}}) {
      CAPTURE(name);
      CHECK(value->item<double>() == doctest::Approx(expected.at(name).get<double>()).epsilon(1e-5));
    }
    loss.backward();
    check_gradients_of(expected.at("gradients"), chain.model);
  }
}

}  // namespace
}  // namespace kusari::testing
