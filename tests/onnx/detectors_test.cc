#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/links/detection/efficientdet.h"
#include "kusari/framework/links/detection/faster_rcnn.h"
#include "kusari/framework/links/detection/retinanet.h"
#include "kusari/framework/links/detection/ssd.h"
#include "kusari/framework/onnx/export_model.h"
#include "kusari/framework/onnx/load.h"
#include "kusari/tests/links/detection/drawn_weights.h"
#include "kusari/tests/scratch_directory.h"

// The networks of detectors, without what is done on the host.
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
}

TEST_CASE("Faster R-CNN is not exported, and the error says why") {
  L::FasterRCNN model({.n_classes = 2, .depth = 18});
  const ScratchDirectory folder;
  const Variable x(drawn_array("x", {1, 3, 64, 64}, -1, 1), false);
  std::string message;
  try {
    onnx::export_model(model, {x}, folder / "net.onnx");
  } catch (const StateError& error) {
    message = error.what();
  }
  CHECK(message.find("onnx: ") == 0);
  CHECK(message.find("L::FasterRCNN, whose regions depend on the numbers in the image, reads an array") !=
        std::string::npos);
}

}  // namespace
}  // namespace kusari::testing
