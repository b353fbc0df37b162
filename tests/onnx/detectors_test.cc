#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/links/detection/efficientdet.h"
#include "kusari/framework/links/detection/faster_rcnn.h"
#include "kusari/framework/links/detection/retinanet.h"
#include "kusari/framework/links/detection/ssd.h"
#include "kusari/framework/onnx/export_detector.h"
#include "kusari/framework/onnx/export_model.h"
#include "kusari/framework/onnx/load.h"
#include "kusari/tests/links/detection/drawn_weights.h"
#include "kusari/tests/scratch_directory.h"

// The networks of detectors, without what is done on the host and with it.
namespace kusari::testing {
namespace {

void expect_near(const Array& found, const Array& expected) {
  REQUIRE(found.shape() == expected.shape());
  const std::vector<float> x = found.to_vector<float>(), y = expected.to_vector<float>();
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) worst = std::fmax(worst, std::abs(x[i] - y[i]) / (1 + std::abs(y[i])));
  CHECK(worst < 1e-4);
}

template <class Model>
void check_export(Model model, int64_t size) {
  draw_weights(model);
  const auto no_graph = no_backprop_mode();
  const auto no_training = using_config(&Config::train, false);
  const ScratchDirectory folder;
  const Variable one(drawn_array("x", {1, 3, size, size}, -1, 1), false);
  onnx::export_model(model, {one}, folder / "net.onnx", {.output_names = {"locs", "confs"}, .dynamic_batch = true});
  const onnx::Model loaded = onnx::load(folder / "net.onnx");
  const Variable two(drawn_array("x", {2, 3, size, size}, -1, 1), false);
  const auto [locs, confs] = model(two);
  const Variables found = loaded.call({two});
  REQUIRE(found.size() == 2);
  expect_near(found[0].array(), locs.array());
  expect_near(found[1].array(), confs.array());
  const InferenceSession session(model);
  const Arrays inferred = session.run({two.array()});
  expect_near(inferred[0], locs.array());
  expect_near(inferred[1], confs.array());
}

TEST_CASE("the networks of detectors are exported, read again, and run in sessions") {
  check_export(L::RetinaNet({.n_classes = 3, .depth = 18}), 96);
  check_export(L::EfficientDet({.n_classes = 3}), 100);
  check_export(L::SSD300({.n_classes = 3}), 300);
  check_export(L::FasterRCNN({.n_classes = 3, .depth = 18}), 96);  // the first look
}

/// How many of the expected boxes are not among those found, with their classes, scores and images.
size_t missing(const std::vector<Detections>& expected, const Variables& found) {
  const std::vector<float> bbox = found[0].array().to_vector<float>(), score = found[2].array().to_vector<float>();
  const std::vector<int64_t> label = found[1].array().to_vector<int64_t>(),
                             image = found[3].array().to_vector<int64_t>();
  size_t count = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    for (size_t k = 0; k < expected[i].bbox.size(); ++k) {
      const Box& box = expected[i].bbox[k];
      bool is_found = false;
      for (size_t r = 0; r < score.size() && !is_found; ++r) {
        const float* const other = bbox.data() + 4 * r;
        const float distance = std::fmax(std::fmax(std::abs(other[0] - box.y_min), std::abs(other[1] - box.x_min)),
                                         std::fmax(std::abs(other[2] - box.y_max), std::abs(other[3] - box.x_max)));
        is_found = image[r] == static_cast<int64_t>(i) && label[r] == expected[i].label[k] && distance < 0.02F &&
                   std::abs(score[r] - expected[i].score[k]) < 1e-4F;
      }
      if (!is_found) ++count;
    }
  }
  return count;
}

template <class Model>
void check_export_of_boxes(Model model, int64_t size, const L::AnchorDecodeOptions& decoding, int opset) {
  draw_weights(model);
  // Scores that differ by more than rounding.
  for (const auto& [path, parameter] : model.namedparams()) {
    const bool is_last =
        path.find("/conf/out/") != std::string::npos || path.ends_with("/rpn/conf/W") || path.ends_with("/head/conf/W");
    if (is_last && path.ends_with("/W")) parameter->array() *= 10.0;
  }
  model.decoding = decoding;
  const ScratchDirectory folder;
  const Variable x(drawn_array("x", {2, 3, size, size}, -1, 1), false);
  onnx::export_detector(model, x, folder / "boxes.onnx", {.input_names = {"x"}, .opset = opset});
  const L::PreparedImage image{empty({3, size, size})};
  const std::vector<Detections> expected = model.find(x, {image, image});
  const auto no_graph = no_backprop_mode();
  const auto no_training = using_config(&Config::train, false);
  const Variables found = onnx::load(folder / "boxes.onnx").call({x});
  REQUIRE(found.size() == 4);
  const size_t count = expected[0].bbox.size() + expected[1].bbox.size();
  CAPTURE(size);
  REQUIRE(count > 20);
  REQUIRE(found[0].shape() == Shape{static_cast<int64_t>(count), 4});
  CHECK(missing(expected, found) <= count / 20);  // rounding may swap boxes whose scores or overlaps are nearly equal
  const std::vector<float> score = found[2].array().to_vector<float>();
  const auto first = static_cast<ptrdiff_t>(expected[0].bbox.size());
  CHECK(std::is_sorted(score.begin(), score.begin() + first, std::greater<>()));
  CHECK(std::is_sorted(score.begin() + first, score.end(), std::greater<>()));
}

TEST_CASE("detectors are exported with what finds boxes in their outputs") {
  using Decoding = L::AnchorDecodeOptions;
  const Decoding of_levels{.score_thresh = 0.05, .candidates = 40, .min_size = 4, .limit = 30};
  check_export_of_boxes(L::RetinaNet({.n_classes = 3, .depth = 18}), 96, of_levels, 21);
  const Decoding best_alone{.score_thresh = 0.05, .candidates = 0, .best_class_only = true, .nms_thresh = 0.3};
  check_export_of_boxes(L::EfficientDet({.n_classes = 3}), 128, best_alone, 13);
  const Decoding softmax{.scores = L::AnchorScores::softmax, .score_thresh = 0.1, .nms_thresh = 0.45};
  check_export_of_boxes(L::SSD300({.n_classes = 3}), 300, softmax, 17);
}

TEST_CASE("Faster R-CNN is exported with both looks, and what proposes regions between them") {
  using Decoding = L::AnchorDecodeOptions;
  L::FasterRCNNOptions options{.n_classes = 3, .depth = 18};
  // Fewer candidates than some levels have anchors, fewer regions than candidates, on all four maps.
  options.proposals = {.test_candidates = 60, .test_limit = 100, .min_size = 6};
  const Decoding all{.scores = L::AnchorScores::softmax, .score_thresh = 0.05, .candidates = 0, .min_size = 0.01};
  check_export_of_boxes(L::FasterRCNN(options), 256, all, 21);
  const Decoding best{.scores = L::AnchorScores::softmax,
                      .score_thresh = 0.05,
                      .candidates = 50,
                      .best_class_only = true,
                      .nms_thresh = 0.4,
                      .limit = 40};
  check_export_of_boxes(L::FasterRCNN(options), 128, best, 13);
}

/// What the file of a detector with drawn weights finds in an image of zeros.
template <class Model>
Variables found_in_zeros(Model& model) {
  draw_weights(model);
  const ScratchDirectory folder;
  const Variable x(zeros({1, 3, 64, 64}), false);
  onnx::export_detector(model, x, folder / "boxes.onnx");
  const auto no_graph = no_backprop_mode();
  const auto no_training = using_config(&Config::train, false);
  return onnx::load(folder / "boxes.onnx").call({x});
}

TEST_CASE("an exported Faster R-CNN may propose nothing") {
  L::FasterRCNN model({.n_classes = 2, .depth = 18, .proposals = {.min_size = 1000}});
  const Variables found = found_in_zeros(model);
  CHECK(found[0].shape() == Shape{0, 4});
  CHECK(found[2].shape() == Shape{0});
}

TEST_CASE("export_detector finds nothing where no score is high enough") {
  L::RetinaNet model({.n_classes = 2, .depth = 18});
  model.decoding.score_thresh = 0.9999999;
  const Variables found = found_in_zeros(model);
  CHECK(found[0].shape() == Shape{0, 4});
  CHECK(found[1].shape() == Shape{0});
  CHECK(found[2].shape() == Shape{0});
}

TEST_CASE("export_detector names what it cannot write") {
  L::EfficientDet model({.n_classes = 2});
  const ScratchDirectory folder;
  const Variable x(zeros({1, 3, 64, 64}), false);
  const auto message = [&](const onnx::ExportOptions& options, const Variable& images) {
    try {
      onnx::export_detector(model, images, folder / "boxes.onnx", options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message({.dynamic_batch = true}, x) ==
        "onnx::export_detector: dynamic_batch: the number of images must be that of x");
  CHECK(message({.output_names = {"a", "b"}}, x) ==
        "onnx::export_detector: output_names has 2 names: there are four outputs, bbox, label, score and image_index");
  CHECK(message({.input_names = {"bbox"}}, x).find("output_names: 'bbox' is empty, or names something else") !=
        std::string::npos);
  CHECK(
      message({}, Variable(zeros({3, 64, 64}), false)) ==
      "onnx::export_detector: x has shape (3, 64, 64): it must be (images, 3, height, width), with an image at least");
  model.use_preset("evaluate");
  CHECK(message({}, x).find("decoding.soft_nms has no ONNX operator") != std::string::npos);
}

TEST_CASE("what Faster R-CNN chooses on the host is not exported, and the error says why") {
  L::FasterRCNN model({.n_classes = 2, .depth = 18});
  const ScratchDirectory folder;
  const Variable x(drawn_array("x", {1, 3, 64, 64}, -1, 1), false);
  const auto message = [&](const auto& callable, std::initializer_list<Variable> inputs) {
    try {
      onnx::export_model(callable, inputs, folder / "net.onnx");
    } catch (const StateError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto found = [&](const Variable& images) {
    const L::PreparedImage image{empty({3, 64, 64})};
    return Variable(bbox_array(model.find(images, {image})[0].bbox), false);
  };
  CHECK(message(found, {x})
            .find("L::FasterRCNN::propose, whose regions depend on the numbers in the image, reads an "
                  "array") != std::string::npos);
  L::DetectionTrainChain chain(model);
  const Variable bbox(array<float>({5, 5, 40, 50}, {1, 1, 4}), false), label(zeros({1, 1}, Dtype::int32), false);
  CHECK(message(chain, {x, bbox, label}).find("outside of functions: it would become a constant") != std::string::npos);
  model.decoding.scores = L::AnchorScores::sigmoid;
  CHECK_THROWS_AS(onnx::export_detector(model, x, folder / "boxes.onnx"), ValueError);
}

}  // namespace
}  // namespace kusari::testing
