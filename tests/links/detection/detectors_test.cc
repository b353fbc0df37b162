#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/links/detection/detection_train_chain.h"
#include "kusari/framework/links/detection/efficientdet.h"
#include "kusari/framework/links/detection/faster_rcnn.h"
#include "kusari/framework/links/detection/retinanet.h"
#include "kusari/framework/links/detection/ssd.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/tests/links/detection/drawn_weights.h"

namespace kusari::testing {
namespace {

/// Scales and shifts of normalizations.
int64_t normalization_params(Link& model) {
  int64_t count = 0;
  for (Link* const link : model.links()) {
    if (dynamic_cast<L::BatchNormalization*>(link) != nullptr) count += link->count_params();
  }
  return count;
}

// Sources: torchvision's documentation for ResNet-50, whose normalizations have no parameters; the
// others are sums over the published layers.
TEST_CASE("the detectors have the published numbers of parameters") {
  L::RetinaNet coco({.n_classes = 91});
  CHECK(normalization_params(coco) == 53'120);
  CHECK(coco.count_params() == 34'014'999 + 53'120);
  CHECK(L::RetinaNet({.n_classes = 80}).count_params() == 33'786'804 + 53'120);
  CHECK(L::RetinaNet({.n_classes = 80, .depth = 18}).count_params() == 20'820'276);
  CHECK(L::EfficientDet({.n_classes = 90}).count_params() == 3'880'067);
  CHECK(L::EfficientDet({.n_classes = 20}).count_params() == 3'839'117);
  CHECK(L::SSD300({.n_classes = 20}).count_params() == 26'285'486);
  L::FasterRCNN two_looks({.n_classes = 90});
  CHECK(normalization_params(two_looks) == 53'120);
  CHECK(two_looks.count_params() == 41'755'286 + 53'120);
}

/// The outputs of a detector for x fit its anchors, and are finite.
void check_outputs(const L::Detector& model, const Shape& size, int64_t numbers) {
  CAPTURE(size);
  const auto no_graph = no_backprop_mode();
  const auto evaluation = using_config(&Config::train, false);
  const auto [locs, confs] = model(drawn_array("x", {2, 3, size[0], size[1]}, -1, 1));
  const auto anchors = static_cast<int64_t>(model.coder(size[0], size[1]).anchors().size());
  CHECK(locs.shape() == Shape{2, anchors, 4});
  CHECK(confs.shape() == Shape{2, anchors, numbers});
  for (const double value : confs.array().to_vector<double>()) REQUIRE(std::isfinite(value));
}

TEST_CASE("the detectors' outputs fit their anchors, whatever the size of the image") {
  const L::RetinaNet retinanet({.n_classes = 3, .depth = 18});
  const L::EfficientDet efficientdet({.n_classes = 5});
  for (const Shape& size : {Shape{128, 128}, Shape{97, 150}, Shape{33, 64}}) {
    check_outputs(retinanet, size, 3);
    check_outputs(efficientdet, size, 5);
  }
  check_outputs(L::SSD300({.n_classes = 2}), {300, 300}, 3);
  CHECK(retinanet.coder(300, 300).anchors().size() == 17'451);
  CHECK(efficientdet.coder(512, 512).anchors().size() == 49'104);
}

TEST_CASE("at first a focal detector finds each class of each anchor with the probability of its prior") {
  const L::RetinaNet model({.n_classes = 3, .depth = 18, .prior = 0.1});
  const auto no_graph = no_backprop_mode();
  const Variable confs = model(zeros({1, 3, 64, 64}, Dtype::float32)).second;
  for (const double value : confs.array().to_vector<double>()) {
    REQUIRE(1 / (1 + std::exp(-value)) == doctest::Approx(0.1).epsilon(1e-3));
  }
}

double deviation_of(const Array& x) {
  double sum = 0, squares = 0;
  for (const double value : x.to_vector<double>()) sum += value, squares += value * value;
  const auto n = static_cast<double>(x.size());
  return std::sqrt(squares / n - sum / n * (sum / n));
}

TEST_CASE("numbers of SSD300 keep their size on the way through its layers, so that it learns from random weights") {
  random::seed(5);
  L::SSD300 model({.n_classes = 3});
  const Array noise = drawn_array("noise", {3, 300, 300}, 0, 256).astype(Dtype::uint8);
  const Array image = model.prepare(noise).image;
  CHECK(deviation_of(image) == doctest::Approx(1.3).epsilon(0.1));  // of numbers drawn evenly; photos have 1
  const auto no_graph = no_backprop_mode();
  const Variable x(image.expand_dims(0), false);
  const Variables maps = model.extractor(x);
  for (size_t i = 0; i < maps.size(); ++i) {
    CAPTURE(i);
    CHECK(deviation_of(maps[i].array()) > 0.2);
    CHECK(deviation_of(maps[i].array()) < 20);
  }
  CHECK(deviation_of(model(x).first.array()) < 3);
  // Caffe's weights want images less their mean alone.
  model.preparation = L::SSD300::caffe_preparation();
  CHECK(deviation_of(model.prepare(noise).image) == doctest::Approx(74).epsilon(0.1));
}

Array picture(int64_t height, int64_t width) {
  return drawn_array("picture", {3, height, width}, 0, 256).astype(Dtype::uint8);
}

TEST_CASE("predict gives boxes as places in images of any sizes") {
  L::RetinaNet model({.n_classes = 3, .depth = 18, .preparation = {.fit = L::DetectorFit::longer_side, .size = 128}});
  draw_weights(model);
  model.decoding.score_thresh = 0;
  const std::vector<Array> images = {picture(40, 160), picture(200, 90)};
  const std::vector<Detections> found = model.predict(images);
  REQUIRE(found.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    CHECK(found[i].bbox.size() == 100);
    CHECK(std::is_sorted(found[i].score.rbegin(), found[i].score.rend()));
    for (const Box& box : found[i].bbox) {
      CHECK((box.y_min >= 0 && box.x_min >= 0 && box.height() > 0 && box.width() > 0));
      CHECK(box.y_max <= static_cast<float>(images[i].shape(1)) + 1e-3F);
      CHECK(box.x_max <= static_cast<float>(images[i].shape(2)) + 1e-3F);
    }
  }
  // Alone as together, because both fill the same square.
  const std::vector<Detections> alone = model.predict({images[1]});
  CHECK(alone[0].label == found[1].label);
  CHECK(model.predict({}).empty());
  CHECK(config().train);
  CHECK_THROWS_AS(model.predict({zeros({3, 0, 4}, Dtype::uint8)}), ValueError);
  CHECK_THROWS_AS(model.predict({Array()}), TypeError);
}

TEST_CASE("images are prepared in proportion, by their shorter side, or stretched") {
  L::RetinaNet model({.n_classes = 1, .depth = 18});
  CHECK(model.preparation.fit == L::DetectorFit::shorter_side);
  const auto prepared_shape = [&](int64_t height, int64_t width) {
    const L::PreparedImage image = model.prepare(picture(height, width));
    CHECK(image.y_scale == static_cast<double>(image.image.shape(1)) / static_cast<double>(height));
    CHECK(image.x_scale == static_cast<double>(image.image.shape(2)) / static_cast<double>(width));
    return image.image.shape();
  };
  CHECK(prepared_shape(480, 640) == Shape{3, 800, 1066});
  CHECK(prepared_shape(400, 1200) == Shape{3, 444, 1333});
  CHECK(model.batch_of({model.prepare(picture(480, 640))}).shape() == Shape{1, 3, 896, 1152});
  model.preparation = {.fit = L::DetectorFit::longer_side, .size = 96};
  CHECK(prepared_shape(480, 640) == Shape{3, 72, 96});
  CHECK(prepared_shape(1000, 1) == Shape{3, 96, 1});
  const Array batch = model.batch_of({model.prepare(full({3, 48, 96}, 255, Dtype::uint8))});
  REQUIRE(batch.shape() == Shape{1, 3, 96, 96});
  CHECK(batch.at(0).at(0).at(0).at(0).item<float>() == doctest::Approx((255 - 123.675) / 58.395));
  CHECK(batch.at(0).at(2).at(47).at(95).item<float>() == doctest::Approx((255 - 103.53) / 57.375));
  CHECK(batch.at(0).at(0).at(48).at(0).item<float>() == 0);  // filled
  model.preparation = {.fit = L::DetectorFit::stretch, .size = 60};
  CHECK(prepared_shape(480, 640) == Shape{3, 60, 60});
  model.preparation.size = 0;
  CHECK_THROWS_AS(model.prepare(picture(4, 4)), ValueError);
}

TEST_CASE("presets choose what is found") {
  L::SSD300 ssd({.n_classes = 1});
  CHECK(ssd.decoding.score_thresh == 0.6);
  ssd.use_preset("evaluate");
  CHECK(ssd.decoding.score_thresh == 0.01);
  CHECK(ssd.decoding.nms_thresh == 0.45);
  ssd.use_preset("visualize");
  CHECK(ssd.decoding.score_thresh == 0.6);
  CHECK_THROWS_WITH_AS(ssd.use_preset("fast"),
                       "Detector::use_preset: preset is 'fast': it must be visualize or evaluate", ValueError);
}

/// x and targets for a chain.
struct Batch {
  Array x, loc, label;
};
Batch batch_for(const L::Detector& model, int64_t size, float scale = 1) {
  const L::AnchorCoder coder = model.coder(size, size);
  const auto s = static_cast<float>(size);
  const L::AnchorTargets one = coder.encode(std::vector<Box>{{0.1F * s, 0.2F * s, 0.7F * s, 0.9F * s}},
                                            std::vector<int32_t>{static_cast<int32_t>(model.n_classes() - 1)});
  const L::AnchorTargets none = coder.encode(std::vector<Box>(), std::vector<int32_t>());
  const auto both = [](const Array& a, const Array& b) {
    Shape shape{2};
    for (const int64_t n : a.shape()) shape.push_back(n);
    const Array batch = empty(shape, a.dtype());
    batch.at(0).copy_from(a);
    batch.at(1).copy_from(b);
    return batch;
  };
  return {drawn_array("x", {2, 3, size, size}, -scale, scale), both(one.loc, none.loc), both(one.label, none.label)};
}

/// Loss and gradients of a static graph are those of define-by-run, at the second call too.
template <class Model>
void check_static(L::DetectionTrainChain<Model> chain, int64_t size) {
  const Batch batch = batch_for(chain.model, size);
  const auto step = [&](auto& call, L::DetectionTrainChain<Model>& of) {
    of.cleargrads();
    random::seed(3);
    Variable loss = call(batch.x, batch.loc, batch.label);
    loss.backward();
    std::vector<double> found{loss.item<double>()};
    for (const auto& [path, parameter] : of.namedparams()) found.push_back(projection(path, parameter->grad()));
    return found;
  };
  auto replayed = chain;
  auto graph = static_graph(replayed);
  for (int i = 0; i < 2; ++i) CHECK(step(graph, replayed) == step(chain, chain));
  CHECK_FALSE(graph.summary().empty());
}

TEST_CASE("static graphs train detectors as define-by-run does") {
  check_static(L::DetectionTrainChain(L::RetinaNet({.n_classes = 3, .depth = 18})), 64);
  check_static(L::DetectionTrainChain(L::EfficientDet({.n_classes = 3})), 64);
  check_static(L::DetectionTrainChain(L::SSD300({.n_classes = 3})), 300);
}

/// With 16 bits the outputs have 16 bits, the losses float32, and both are near those of float32.
template <class Model>
void check_autocast(L::DetectionTrainChain<Model> chain, int64_t size, std::vector<Dtype> dtypes) {
  const Batch batch = batch_for(chain.model, size);
  const double full = chain(batch.x, batch.loc, batch.label).template item<double>();
  for (const Dtype dtype : dtypes) {
    CAPTURE(name(dtype));
    chain.cleargrads();
    {
      const amp::Autocast autocast({.dtype = dtype});
      CHECK(chain.model(batch.x).second.dtype() == dtype);
      chain(batch.x, batch.loc, batch.label);
    }
    CHECK(chain.loss.dtype() == Dtype::float32);
    CHECK(chain.loss.template item<double>() == doctest::Approx(full).epsilon(0.05));
    chain.loss.backward();
    for (const auto& [path, parameter] : chain.namedparams()) {
      CAPTURE(path);
      CHECK(parameter->grad().dtype() == Dtype::float32);
    }
  }
}

TEST_CASE("detectors train in 16 bits") {
  const std::vector<Dtype> both = {Dtype::bfloat16, Dtype::float16};
  check_autocast(L::DetectionTrainChain(L::RetinaNet({.n_classes = 3, .depth = 18})), 64, both);
  check_autocast(L::DetectionTrainChain(L::EfficientDet({.n_classes = 3, .drop_connect = 0})), 64, both);
  check_autocast(L::DetectionTrainChain(L::SSD300({.n_classes = 3})), 300, {Dtype::bfloat16});
}

TEST_CASE("a frozen ResNet below a RetinaNet learns but for its normalizations") {
  L::DetectionTrainChain chain(L::RetinaNet({.n_classes = 2, .depth = 18, .frozen_bn = true}));
  const Batch batch = batch_for(chain.model, 64);
  const std::vector<double> before = chain.model.extractor.bn1.avg_mean.to_vector<double>();
  chain.cleargrads();
  chain(batch.x, batch.loc, batch.label).backward();
  CHECK(chain.model.extractor.bn1.avg_mean.to_vector<double>() == before);
  CHECK_FALSE(chain.model.extractor.bn1.gamma.has_gradient());
  CHECK_FALSE(chain.model.extractor.bn1.gamma.update_enabled());
  CHECK(chain.model.extractor.conv1.W.has_gradient());
}

TEST_CASE("detectors refuse options out of range") {
  CHECK_THROWS_WITH_AS(L::RetinaNet({.depth = 20}), "L::ResNetN: depth is 20: it must be 18, 34, 50, 101 or 152",
                       ValueError);
  CHECK_THROWS_AS(L::RetinaNet({.n_classes = 0, .depth = 18}), ValueError);
  CHECK_THROWS_AS(L::RetinaNet({.depth = 18, .prior = 1}), ValueError);
  CHECK_THROWS_AS(L::RetinaNet({.depth = 18, .grid = L::AnchorGrid::ssd()}), ValueError);
  CHECK_THROWS_AS(L::EfficientDet({.phi = 5}), ValueError);
  CHECK_THROWS_AS(L::EfficientDet({.n_classes = -1}), ValueError);
  CHECK_THROWS_AS(L::SSD300({.n_classes = 0}), ValueError);
}

// ChainerCV's SSD300, whose .npz files have these names.
TEST_CASE("SSD300's parameters have ChainerCV's paths") {
  L::SSD300 model;
  for (const char* const path : {"/extractor/conv1_1/W", "/extractor/norm4/scale", "/extractor/conv7/b",
                                 "/extractor/conv11_2/W", "/multibox/loc/0/W", "/multibox/conf/5/b"}) {
    CHECK_NOTHROW(model.param(path));
  }
  CHECK(model.params().size() == 71);
  CHECK(model.param("/extractor/norm4/scale").array().to_vector<double>() == std::vector<double>(512, 20));
}

}  // namespace
}  // namespace kusari::testing
