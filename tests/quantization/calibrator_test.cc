#include "kusari/framework/quantization/calibrator.h"

#include <cmath>
#include <memory>
#include <string>

#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/links/sequential.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/tests/quantization/models.h"

namespace kusari {
namespace {

using namespace testing;
using quantization::Calibrator;
using quantization::CalibratorOptions;
using quantization::QuantizableCall;

std::vector<std::string> names(const std::vector<QuantizableCall>& calls) {
  std::vector<std::string> found;
  for (const QuantizableCall& call : calls) found.push_back(call.name());
  return found;
}

TEST_CASE("Calibrator: finds the calls of a model with their paths") {
  const Cnn model;
  Calibrator calibrator(model);
  calibrator.observe(images());
  const auto int8 = calibrator.quantized();
  CHECK(names(int8.calls()) == std::vector<std::string>{"/conv", "/depthwise", "/l1", "/l2"});
  CHECK(int8.calls()[0].function == "convolution_2d");
  CHECK(int8.calls()[1].function == "depthwise_convolution_2d");
  CHECK(int8.ranges.size() == 4);
  // Images have both signs; what comes out of a ReLU has not.
  CHECK(int8.ranges[0].is_signed);
  CHECK(int8.ranges[0].scale.item<double>() == doctest::Approx(1.0 / 127).epsilon(0.02));
  for (size_t i = 1; i < 4; ++i) {
    CHECK_FALSE(int8.ranges[i].is_signed);
    CHECK(int8.ranges[i].zero_point.item<int>() == 0);
  }
}

TEST_CASE("Calibrator: the quantized model is close to the model, and leaves it as it is") {
  const Cnn model;
  const Array x = images();
  const Variable y = model(x);
  for (const bool zero_points : {false, true}) {
    CAPTURE(zero_points);
    Calibrator calibrator(model, {.zero_points = zero_points});
    calibrator.observe(x);
    const auto int8 = calibrator.quantized();
    const Variable y8 = int8(x);
    CHECK(relative_error(y8, y) < 0.03);
    CHECK(numbers(y8) != numbers(y));
    CHECK(numbers(model(x)) == numbers(y));
    CHECK(numbers(int8.model(x)) == numbers(y));
  }
}

TEST_CASE("Calibrator: an affine map of 8 bits is off by what the steps of the scales allow") {
  random::seed(2);
  L::Linear model(20, 5, {.nobias = true});
  model.to(test_device());
  const Array x = uniform({7, 20}, -3, 1).astype(Dtype::float32);
  for (const bool zero_points : {false, true}) {
    CAPTURE(zero_points);
    Calibrator calibrator(model, {.zero_points = zero_points});
    calibrator.observe(x);
    const auto int8 = calibrator.quantized();
    const double step = int8.ranges[0].scale.item<double>();
    CHECK(step == doctest::Approx(zero_points ? 4.0 / 255 : 3.0 / 127).epsilon(0.03));
    const std::vector<double> xs = x.to_vector<double>(), ws = model.W.array().to_vector<double>(),
                              y = numbers(model(x)), y8 = numbers(int8(x));
    for (size_t row = 0; row < 7; ++row) {
      for (size_t channel = 0; channel < 5; ++channel) {
        double largest = 0, bound = 1e-5;
        for (size_t k = 0; k < 20; ++k) largest = std::max(largest, std::abs(ws[channel * 20 + k]));
        const double off_w = largest / 127 / 2, off_x = step / 2 + (zero_points ? step / 2 : 0);  // 0 is rounded, too
        for (size_t k = 0; k < 20; ++k) {
          bound += off_x * std::abs(ws[channel * 20 + k]) + off_w * (std::abs(xs[row * 20 + k]) + off_x);
        }
        CHECK(std::abs(y8[row * 5 + channel] - y[row * 5 + channel]) <= bound);
      }
    }
  }
}

TEST_CASE("Calibrator: the numbers of both arrays of a product are observed") {
  class Product : public Chain {
   public:
    Variable operator()(const Variable& a, const Variable& b) const { return F::matmul(a, b); }
  };
  const Product model;
  const Array a = uniform({3, 5}, 0, 1), b = uniform({5, 2}, -10, 10);
  Calibrator calibrator(model);
  calibrator.observe(a, b);
  const auto int8 = calibrator.quantized();
  CHECK(names(int8.calls()) == std::vector<std::string>{"matmul#1"});
  CHECK(int8.ranges.size() == 2);
  CHECK(int8.ranges[0].scale.item<double>() == doctest::Approx(1.0 / 255).epsilon(0.1));
  CHECK(int8.ranges[1].scale.item<double>() == doctest::Approx(10.0 / 127).epsilon(0.1));
  CHECK(relative_error(int8(a, b), F::matmul(Variable(a), Variable(b))) < 0.02);
}

TEST_CASE("Calibrator: percentile and entropy do not let one outlier take the range") {
  const Cnn model;
  // Nearly normal: entropy does not see how coarse the steps are where numbers are spread evenly.
  const Array x = (images(64, 1) + images(64, 2) + images(64, 3) + images(64, 4)) * 0.5;
  const Variable y = model(x);
  const Array outlier = with_first(x, 30);
  const auto error = [&](const quantization::Method& method) {
    Calibrator calibrator(model, {.method = method});
    calibrator.observe(outlier);
    return relative_error(calibrator.quantized()(x), y);
  };
  const double of_min_max = error(quantization::min_max());
  CHECK(of_min_max > 0.05);
  CHECK(error(quantization::percentile(99.9)) < 0.25 * of_min_max);
  CHECK(error(quantization::entropy()) < 0.5 * of_min_max);
}

TEST_CASE("Calibrator: several batches count together") {
  const Cnn model;
  Calibrator calibrator(model);
  for (const double size : {0.5, 1.0, 0.25}) calibrator.observe(images() * size);
  Calibrator largest(model);
  largest.observe(images());
  CHECK(calibrator.quantized().ranges[0].high.item<double>() == largest.quantized().ranges[0].high.item<double>());
}

TEST_CASE("Calibrator: exclude leaves layers, and all below a path, as they are") {
  Sequential model(Cnn(), L::Linear(4, 3));
  model.to(test_device());
  const Array x = images();
  const auto quantized = [&](std::vector<std::string> exclude) {
    Calibrator calibrator(model, {.exclude = std::move(exclude)});
    calibrator.observe(x);
    return calibrator.quantized();
  };
  const auto all = quantized({});
  CHECK(names(all.calls()) == std::vector<std::string>{"/0/conv", "/0/depthwise", "/0/l1", "/0/l2", "/1"});
  const auto without_last = quantized({"/1"});
  CHECK(without_last.ranges.size() == 4);
  CHECK_FALSE(without_last.calls()[4].is_quantized);
  const auto last = quantized({"/0"});
  CHECK(last.ranges.size() == 1);
  CHECK(last.calls()[4].is_quantized);
  // What is left of /1 alone.
  CHECK(relative_error(last(x), model(x)) < relative_error(all(x), model(x)));
  CHECK(numbers(quantized({"/0", "/1"})(x)) == numbers(model(x)));
}

TEST_CASE("Calibrator: errors() has the worst call first") {
  Cnn model;
  // One weight that takes the range of its channel, so that the others of /l1 have two bits left.
  const std::vector<float> old = model.l1.W.array().to_vector<float>();
  std::vector<float> spread = old;
  for (size_t channel = 0; channel < 16; ++channel) spread[channel * 192] = 40;
  model.l1.W.array().copy_from(array(spread, {16, 192}, test_device()));
  // The input of that weight is 0: the result is that of the others.
  model.depthwise.b.array().fill(0);
  const std::vector<float> filters = model.depthwise.W.array().to_vector<float>();
  std::vector<float> cut = filters;
  for (size_t i = 0; i < 9; ++i) cut[i] = 0;  // multiplier 0 of channel 0: channel 0 of the result
  model.depthwise.W.array().copy_from(array(cut, model.depthwise.W.shape(), test_device()));

  Calibrator calibrator(model, {.exclude = {"/l2"}});
  calibrator.observe(images());
  const std::vector<quantization::LayerError> errors = calibrator.errors();
  REQUIRE(errors.size() == 3);
  CHECK(errors[0].name == "/l1");
  CHECK(errors[0].function == "linear");
  CHECK(errors[0].number == 3);
  CHECK(errors[0].error > 0.2);
  CHECK(errors[1].error < 0.02);
  CHECK(errors[1].error >= errors[2].error);
  CHECK(errors[2].error > 0);
}

/// Of a single row it computes the first layer alone.
class ByRows : public Chain {
 private:
  Seeded seeded_;

 public:
  ByRows() : l1{*this, "l1", 4, 4}, l2{*this, "l2", 4, 4} { to(test_device()); }
  Variable operator()(const Variable& x) const { return x.shape()[0] == 1 ? l1(x) : l2(l1(x)); }

 private:
  Child<L::Linear> l1, l2;
};

TEST_CASE("Calibrator: errors() is about the last batch that was not refused") {
  Calibrator calibrator{ByRows()};
  const Array x = uniform({3, 4}, -1, 1).astype(Dtype::float32);
  calibrator.observe(x);
  const auto found = [&] {
    std::vector<double> errors;
    for (const auto& layer : calibrator.errors()) errors.push_back(layer.error);
    return errors;
  };
  const std::vector<double> before = found();
  CHECK(before.size() == 2);
  CHECK_THROWS_AS(calibrator.observe(x.slice(0, 0, 1)), StateError);
  CHECK(found() == before);
  CHECK_THROWS_AS(calibrator.observe(with_first(x, std::nan(""))), ValueError);
  CHECK(found() == before);
}

/// Its third call leaves out the second layer.
class Tiring : public Chain {
 public:
  Tiring() : l1{*this, "l1", 4, 4}, l2{*this, "l2", 4, 4} { to(test_device()); }
  Variable operator()(const Variable& x) const { return ++*calls_ == 3 ? l1(x) : l2(l1(x)); }

 private:
  Child<L::Linear> l1, l2;
  std::shared_ptr<int> calls_ = std::make_shared<int>(0);
};

TEST_CASE("Calibrator: errors() refuses other calls than those that were observed") {
  Calibrator calibrator{Tiring()};
  calibrator.observe(ones({3, 4}, Dtype::float32, test_device()));
  CHECK_THROWS_WITH_AS(
      calibrator.errors(),
      "Calibrator::errors: the model made 1 calls, but 2 when it was first observed: call 2, linear of "
      "\"/l2\", is missing",
      StateError);
}

TEST_CASE("Calibrator: errors() has calls whose results are NaN first") {
  Cnn model;
  model.l2.W.array().fill(std::nan(""));
  Calibrator calibrator(model);
  calibrator.observe(images());
  const std::vector<quantization::LayerError> errors = calibrator.errors();
  REQUIRE(errors.size() == 4);
  CHECK(errors[0].name == "/l2");
  for (size_t i = 2; i < 4; ++i) CHECK(errors[i].error <= errors[i - 1].error);
}

TEST_CASE("Calibrator: observes static graphs as they are, and what trains as it infers") {
  auto graph = static_graph(Cnn());
  const Array x = images();
  const Variable y = graph(x);  // recorded
  Calibrator calibrator(graph);
  calibrator.observe(x);
  const auto int8 = calibrator.quantized();
  CHECK(int8.calls().size() == 4);
  CHECK(relative_error(int8(x), y) < 0.03);
}

TEST_CASE("Calibrator: errors") {
  const Cnn model;
  Calibrator calibrator(model);
  CHECK_THROWS_WITH_AS(calibrator.quantized(),
                       "Calibrator::quantized: nothing was observed: call observe(x) with some batches", StateError);
  CHECK_THROWS_WITH_AS(calibrator.errors(),
                       "Calibrator::errors: nothing was observed: call observe(x) with some batches", StateError);
  CHECK_THROWS_WITH_AS(
      calibrator.observe(with_first(images(), std::nan(""))),
      "Calibrator::observe: input 0 of convolution_2d (/conv) has a NaN or an infinity: its range would "
      "be none",
      ValueError);
  CHECK_THROWS_AS(calibrator.quantized(), StateError);
  Calibrator misspelt(model, {.exclude = {"/conv", "/fc6"}});
  CHECK_THROWS_WITH_AS(misspelt.observe(images()),
                       "Calibrator: exclude has \"/fc6\", where the model calls nothing that can be quantized; it does "
                       "in: /conv, /depthwise, /l1, /l2",
                       ValueError);
}

}  // namespace
}  // namespace kusari
