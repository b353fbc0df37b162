#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "export_reader.h"
#include "kusari/framework/kusari.h"
#include "kusari/framework/onnx/converter.h"
#include "kusari/framework/onnx/export_model.h"
#include "kusari/framework/onnx/function.h"

namespace kusari {
namespace {

using namespace kusari::testing;
using Names = std::vector<std::string>;

class Halved final : public FunctionNode {
 public:
  explicit Halved(int64_t times) : times_{times} {}
  const char* name() const override { return "test_halved"; }
  void describe(Attributes& options) const override { options.set("times", times_); }

 private:
  Arrays forward(const ArrayRefs& in) override { return {in[0] * (1.0 / static_cast<double>(1 << times_))}; }
  Variables backward(const Variables& gy) override { return {apply<Halved>({gy[0]}, times_)}; }

  int64_t times_;
};

Variable given() { return Variable(array<float>({1, 2, 3, 4, 5, 6}, {2, 3}), false); }

TEST_CASE("register_converter writes functions of one's own") {
  const ScratchDirectory folder;
  const auto model = [](const Variable& x) { return F::relu(apply<Halved>({x}, int64_t{3})); };
  CHECK_THROWS_WITH_AS(onnx::export_model(model, {given()}, folder / "no.onnx"),
                       "onnx: F::test_halved has no ONNX operator (call 1); register_converter can add one",
                       ValueError);
  onnx::register_converter("test_halved", [](const onnx::NodeWriter& w) {
    CHECK(w.input_shape(0) == Shape{2, 3});
    CHECK(w.opset() == 21);
    CHECK_FALSE(w.has_input(1));
    CHECK_FALSE(w.constant_input(0).is_defined());
    CHECK_THROWS_AS(w.input_shape(1), IndexError);
    CHECK_THROWS_AS(w.input_size(0, 2), IndexError);
    CHECK_THROWS_AS(w.is_dynamic_output(0, 2), IndexError);
    const std::string half = w.scalar(0.5, w.input_dtype(0));
    std::string x = w.input(0);
    for (int64_t i = 1; i < w.options().integer("times"); ++i) x = w.make("Mul", {x, half});
    w.node("Mul", {x, half}, {w.output()});
  });
  onnx::export_model(model, {given()}, folder / "net.onnx");
  const OnnxFile file(folder / "net.onnx");
  CHECK(file.types() == Names{"Mul", "Mul", "Mul", "Relu"});
  CHECK(file.initializers.size() == 1);
  CHECK(file.initializers.begin()->second.values<float>() == std::vector<float>{0.5f});
  CHECK_THROWS_AS(onnx::register_converter("test_halved", {}), ValueError);
}

TEST_CASE("onnx::function is one node of an exported model, and elsewhere the function") {
  const ScratchDirectory folder;
  const auto model = [](const Variable& x) {
    const auto f = [](std::span<const Variable> xs) { return F::exp(xs[0]) * F::sqrt(xs[1]); };
    return onnx::function("my.domain.Odd", {x, F::relu(x)}, {{"alpha", 0.5}, {"mode", std::string("fast")}}, f) + 1;
  };
  onnx::export_model(model, {given()}, folder / "net.onnx");
  const OnnxFile file(folder / "net.onnx");
  CHECK(file.types() == Names{"Relu", "Odd", "Add"});
  CHECK(file.opsets.at("my.domain") == 1);
  CHECK(file.nodes[1].domain == "my.domain");
  CHECK(file.nodes[1].inputs[0] == "input_0");
  CHECK(file.nodes[1].attributes.at("alpha").real == 0.5f);
  CHECK(file.nodes[1].attributes.at("mode").text == "fast");

  const Variable x(array<float>({4}));
  const Variable y = model(x);
  CHECK(y.item<float>() == doctest::Approx(std::exp(4.0) * 2 + 1));
  y.backward();
  CHECK(x.grad().item<float>() == doctest::Approx(std::exp(4.0) * 2 + std::exp(4.0) / 4));
  CHECK_THROWS_AS(onnx::function("", {x}, {}, [](std::span<const Variable> xs) { return xs[0]; }), ValueError);
}

TEST_CASE("operators broadcast by themselves, and numbers are shared") {
  const ScratchDirectory folder;
  const Variable row(array<float>({1, 2, 3}), false);
  onnx::export_model([&](const Variable& x) { return (x + row) * row * 2 + 2; }, {given()}, folder / "net.onnx");
  const OnnxFile file(folder / "net.onnx");
  CHECK(file.types() == Names{"Add", "Mul", "Mul", "Add"});
  CHECK(file.initializers.size() == 2);
}

TEST_CASE("pads of windows are what Kusari's geometry needs") {
  const ScratchDirectory folder;
  const Variable x(arange(25).reshape({1, 1, 5, 5}), false);
  const auto pads = [&](const auto& model) {
    onnx::export_model(model, {x}, folder / "net.onnx");
    return OnnxFile(folder / "net.onnx").nodes.back().attributes.at("pads").integers;
  };
  using Pads = std::vector<int64_t>;
  CHECK(pads([](const Variable& v) { return F::max_pooling_2d(v, 2, {.stride = 2, .cover_all = true}); }) ==
        Pads{0, 0, 1, 1});
  CHECK(pads([](const Variable& v) { return F::max_pooling_2d(v, 2, {.stride = 2, .cover_all = false}); }) ==
        Pads{0, 0, 0, 0});
  const Variable W(ones({1, 1, 3, 3}), false);
  // (3 - 1) 2 + 3 = 7 places, of which 5 are x's and 1 lies in front.
  CHECK(pads([&](const Variable& v) { return F::convolution_2d(v, W, Variable(), {.stride = 2, .pad = 1}); }) ==
        Pads{1, 1, 1, 1});
  CHECK(pads([&](const Variable& v) { return F::deconvolution_2d(v, W, Variable(), {.stride = 2, .pad = 1}); }) ==
        Pads{1, 1, 1, 1});
}

TEST_CASE("gates of recurrent layers are in ONNX's order") {
  const ScratchDirectory folder;
  L::NStepLSTM lstm(1, 1, 1, 0);
  // One unit: w0 .. w3 are i, f, a, o of x, w4 .. w7 those of h.
  float number = 1;
  for (const auto& [path, parameter] : lstm.namedparams()) {
    parameter->set_array(full(parameter->shape(), number, Dtype::float32));
    number += 1;
  }
  const auto model = [&](const Variable& x) {
    const std::vector<Variable> xs{x};
    return lstm(Variable(), Variable(), std::span<const Variable>(xs)).hy;
  };
  onnx::export_model(model, {Variable(ones({3, 1}), false)}, folder / "net.onnx", {.model = &lstm});
  const OnnxFile file(folder / "net.onnx");
  const auto found =
      std::find_if(file.nodes.begin(), file.nodes.end(), [](const FileNode& n) { return n.type == "LSTM"; });
  REQUIRE(found != file.nodes.end());
  const auto numbers = [&](const std::string& kind, size_t gate) {
    return lstm.param("/0/" + kind + std::to_string(gate)).array().to_vector<float>()[0];
  };
  using Floats = std::vector<float>;
  CHECK(file.initializers.at(found->inputs[1]).values<float>() ==
        Floats{numbers("w", 0), numbers("w", 3), numbers("w", 1), numbers("w", 2)});
  CHECK(file.initializers.at(found->inputs[2]).values<float>() ==
        Floats{numbers("w", 4), numbers("w", 7), numbers("w", 5), numbers("w", 6)});
  CHECK(file.initializers.at(found->inputs[3]).values<float>() ==
        Floats{numbers("b", 0), numbers("b", 3), numbers("b", 1), numbers("b", 2), numbers("b", 4), numbers("b", 7),
               numbers("b", 5), numbers("b", 6)});
}

}  // namespace
}  // namespace kusari
