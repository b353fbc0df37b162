#include "kusari/framework/onnx/export_model.h"

#include <doctest/doctest.h>

#include "../scratch_directory.h"
#include "export_reader.h"
#include "kusari/framework/kusari.h"

namespace kusari {
namespace {

using namespace kusari::testing;
using Texts = std::vector<std::string>;

class SmallNet : public Chain {
 public:
  Variable operator()(const Variable& x) const { return fc(F::max_pooling_2d(F::relu(bn(conv(x))), 2)); }
  Child<L::Convolution2D> conv{*this, "conv", 1, 2, 3, L::ConvolutionOptions{.pad = 1}};
  Child<L::BatchNormalization> bn{*this, "bn", 2};
  Child<L::Linear> fc{*this, "fc", kInfer, 5};
};

Variable counted(const Shape& shape) {
  return Variable(arange(numel(shape)).reshape(shape) * (1.0 / static_cast<double>(numel(shape))), false);
}

TEST_CASE("an exported network has its functions as nodes and its parameters as initializers") {
  const ScratchDirectory folder;
  SmallNet net;
  onnx::export_model(net, {counted({2, 1, 4, 4})}, folder / "net.onnx",
                     {.input_names = {"image"}, .output_names = {"scores"}, .metadata = {{"made_for", "a test"}}});
  CHECK(folder.count() == 1);
  const OnnxFile file(folder / "net.onnx");
  CHECK(file.ir_version == 10);
  CHECK(file.opsets == std::map<std::string, int64_t>{{"", 21}});
  CHECK(file.metadata.at("made_for") == "a test");
  REQUIRE(file.types() == Texts{"Conv", "BatchNormalization", "Identity", "Relu", "MaxPool", "Reshape", "Gemm"});
  const FileNode& conv = file.nodes[0];
  CHECK(conv.name == "/conv/Conv");
  CHECK(conv.inputs == Texts{"image", "conv.W", "conv.b"});
  CHECK(conv.attributes.at("pads").integers == std::vector<int64_t>{1, 1, 1, 1});
  CHECK(conv.attributes.at("pads").kind == 7);
  CHECK(conv.attributes.at("group").integer == 1);
  const FileNode& bn = file.nodes[1];
  CHECK(Texts(bn.inputs.begin() + 1, bn.inputs.end()) == Texts{"bn.gamma", "bn.beta", "bn.avg_mean", "bn.avg_var"});
  CHECK(bn.attributes.at("epsilon").real == doctest::Approx(2e-5));
  CHECK(file.nodes.back().outputs == Texts{"scores"});
  const FileTensor& W = file.initializers.at("conv.W");
  CHECK(W.shape == std::vector<int64_t>{2, 1, 3, 3});
  CHECK(W.type == 1);
  CHECK(W.metadata.at("kusari.path") == "/conv/W");
  CHECK(W.values<float>() == net.conv.W.array().to_vector<float>());
  CHECK(file.initializers.at("fc.W").values<float>() == net.fc.W.array().to_vector<float>());
  CHECK(file.inputs[0].shape == Texts{"2", "1", "4", "4"});
  CHECK(file.outputs[0].name == "scores");
  CHECK(file.outputs[0].shape == Texts{"2", "5"});
}

TEST_CASE("a file for a batch of any size has no size of one batch in it") {
  const ScratchDirectory folder;
  SmallNet net;
  for (const int64_t batch : {1, 2, 3}) {
    CAPTURE(batch);
    onnx::export_model(net, {counted({batch, 1, 4, 4})}, folder / "net.onnx", {.dynamic_batch = true});
    const OnnxFile file(folder / "net.onnx");
    CHECK(file.inputs[0].shape == Texts{"batch", "1", "4", "4"});
    CHECK(file.outputs[0].shape == Texts{"batch", "5"});
    const FileNode& reshape = file.nodes[5];
    REQUIRE(reshape.type == "Reshape");
    CHECK(file.initializers.at(reshape.inputs[1]).values<int64_t>() == std::vector<int64_t>{0, 8});
  }
  const auto by_count = [](const Variable& x) {
    Variable y = x;
    for (int64_t i = 0; i < x.shape()[0]; ++i) y = F::exp(y);
    return y;
  };
  CHECK_THROWS_WITH_AS(
      onnx::export_model(by_count, {counted({2, 3})}, folder / "no.onnx", {.dynamic_batch = true}),
      "onnx: dynamic_batch: the model applies nothing with batch=2 and F::exp (call 3) with batch=3: its structure "
      "depends on the size",
      ValueError);
  const auto mean = [](const Variable& x) { return x / x.shape()[0]; };
  CHECK_THROWS_WITH_AS(onnx::export_model(mean, {counted({2, 3})}, folder / "no.onnx", {.dynamic_batch = true}),
                       "onnx: F::div_const (call 1): with dynamic_batch: its option 'c' depends on the size",
                       ValueError);
  CHECK(folder.count() == 1);
}

TEST_CASE("large weights go to a file of their own, at places that can be mapped") {
  const ScratchDirectory folder;
  Sequential net(L::Linear(64, 64), L::Linear(64, 64));
  onnx::export_model(net, {counted({1, 64})}, folder / "net.onnx", {.external_threshold = 1000});
  CHECK(folder.count() == 2);
  const OnnxFile file(folder / "net.onnx");
  const std::string data = read_file(folder / "net.onnx.data");
  for (const auto& [name, parameter] : net.namedparams()) {
    const std::string path = name;  // clang 14 captures no structured bindings
    CAPTURE(path);
    const FileTensor& tensor = file.initializers.at(std::string(path.substr(1, 1)) + "." + path.substr(3));
    const std::vector<float> expected = parameter->array().to_vector<float>();
    if (parameter->shape().ndim() == 1) {  // small: in the model's file
      CHECK(tensor.values<float>() == expected);
      continue;
    }
    CHECK(tensor.raw.empty());
    CHECK(tensor.external.at("location") == "net.onnx.data");
    const size_t offset = std::stoul(tensor.external.at("offset")), length = std::stoul(tensor.external.at("length"));
    CHECK(offset % 4096 == 0);
    REQUIRE(offset + length <= data.size());
    CHECK(std::memcmp(data.data() + offset, expected.data(), length) == 0);
    CHECK(length == expected.size() * sizeof(float));
  }
}

TEST_CASE("a test case has inputs, outputs and gradients") {
  const ScratchDirectory folder;
  const L::Linear net(3, 2);
  const Variable x = counted({2, 3});
  onnx::export_testcase(net, {x}, folder / "case", {.output_grad = true});
  const auto tensor = [&](const std::string& name) {
    const std::string bytes = read_file(folder / ("case/test_data_set_0/" + name));
    return read_tensor(protozero::pbf_reader(bytes));
  };
  CHECK(OnnxFile(folder / "case/model.onnx").types() == Texts{"Gemm"});
  CHECK(tensor("input_0.pb").name == "input_0");
  CHECK(tensor("input_0.pb").values<float>() == x.array().to_vector<float>());
  CHECK(tensor("output_0.pb").values<float>() == net(x).array().to_vector<float>());
  // Those of a sum of the outputs: the sums of x's columns, and the number of rows.
  CHECK(tensor("gradient_0.pb").name == "W");
  const std::vector<float> gradient = tensor("gradient_0.pb").values<float>(), xs = x.array().to_vector<float>();
  for (size_t i = 0; i < 6; ++i) CHECK(gradient[i] == doctest::Approx(xs[i % 3] + xs[3 + i % 3]));
  CHECK(tensor("gradient_1.pb").name == "b");
  CHECK(tensor("gradient_1.pb").values<float>() == std::vector<float>{2, 2});
}

TEST_CASE("what cannot be written is named, all at once, and leaves no file") {
  const ScratchDirectory folder;
  const Variable x(array<float>({2, 0, 0, 3}, {2, 2}), false);
  const auto several = [](const Variable& v) { return F::inv(F::cholesky(F::inv(F::relu(v)))); };
  CHECK_THROWS_WITH_AS(onnx::export_model(several, {x}, folder / "no.onnx"),
                       "onnx: F::inv has no ONNX operator (call 2); F::cholesky has no ONNX operator (call 3); "
                       "register_converter can add one",
                       ValueError);
  class Solver : public Chain {
   public:
    class Inverse : public Link {
     public:
      Variable operator()(const Variable& v) const {
        const LinkCall call(*this);
        return F::inv(v);
      }
    };
    Variable operator()(const Variable& v) const { return solver(F::exp(v)); }
    Child<Inverse> solver{*this, "solver"};
  };
  CHECK_THROWS_WITH_AS(onnx::export_model(Solver(), {x}, folder / "no.onnx"),
                       "onnx: F::inv has no ONNX operator (call 2, link /solver); register_converter can add one",
                       ValueError);
  const auto outside = [](const Variable& v) { return F::exp(Variable(xp::sum(v.array(), 0), false)); };
  CHECK_THROWS_WITH_AS(onnx::export_model(outside, {x}, folder / "no.onnx"),
                       "onnx: F::exp (call 1) reads an array of shape (2,) that kernel 'sum' made of an argument "
                       "of the model, outside of functions: it would become a constant",
                       StateError);
  const auto in_place = [](const Variable& v) {
    const Variable y = F::exp(v);
    y.array() += 1;
    return F::sqrt(y);
  };
  CHECK_THROWS_WITH_AS(onnx::export_model(in_place, {x}, folder / "no.onnx"),
                       "onnx: F::sqrt (call 2) reads an array of shape (2, 2) that F::exp made of an argument of the "
                       "model, outside of functions: it would become a constant",
                       StateError);
  const auto on_host = [](const Variable& v) {
    const Variable y = F::exp(v);
    return y * y.to_vector<float>()[0];
  };
  CHECK_THROWS_WITH_AS(onnx::export_model(on_host, {x}, folder / "no.onnx"),
                       "onnx: before call 2, Array::to_vector reads an array of shape (2, 2) that F::exp made of an "
                       "argument of the model: what the host makes of it would become a constant",
                       StateError);
  const auto half = [](const Variable& v) {
    const Array W = ones({1, 1, 1, 1}, Dtype::bfloat16);
    return F::convolution_2d(F::reshape(F::cast(v, Dtype::bfloat16), {1, 1, 2, 2}), W);
  };
  CHECK_THROWS_WITH_AS(
      onnx::export_model(half, {x}, folder / "no.onnx"),
      "onnx: F::convolution_2d (call 3): a convolution in bfloat16 needs opset 22, and options.opset is "
      "21",
      ValueError);
  const auto relu = [](const Variable& v) { return F::relu(v); };
  CHECK_THROWS_WITH_AS(onnx::export_model(relu, {x}, folder / "no.onnx", {.opset = 12}),
                       "onnx::export_model: opset is 12: it must be in [13, 22]", ValueError);
  CHECK_THROWS_WITH_AS(onnx::export_model(relu, {x}, folder / "no.onnx", {.input_names = {"a", "b"}}),
                       "onnx::export_model: input_names has 2 names: the model has 1 inputs", ValueError);
  CHECK_THROWS_WITH_AS(onnx::export_model(relu, {x, x}, folder / "no.onnx"),
                       "onnx: the model cannot be called with 2 variables, or gives neither a Variable nor several",
                       TypeError);
  CHECK(folder.count() == 0);
}

TEST_CASE("values keep their identity where they are given twice, handed through or reshaped as arrays") {
  const ScratchDirectory folder;
  const Variable x = counted({2, 3});
  const auto twice = [](const Variable& v) {
    const Variable y = F::exp(v);
    return Variables(y, y, v);
  };
  onnx::export_model(twice, {x}, folder / "twice.onnx");
  const OnnxFile file(folder / "twice.onnx");
  CHECK(file.types() == Texts{"Exp", "Identity", "Identity"});
  CHECK(file.nodes[1].inputs == Texts{"output_0"});
  CHECK(file.nodes[2].inputs == Texts{"input_0"});

  const auto reshaped = [](const Variable& v) { return F::exp(Variable(F::sqrt(v).array().reshape({6}), false)); };
  onnx::export_model(reshaped, {x}, folder / "reshaped.onnx");
  CHECK(OnnxFile(folder / "reshaped.onnx").types() == Texts{"Sqrt", "Reshape", "Exp"});

  const auto forgotten = [](const Variable& v) {
    return F::forget([](const Variable& u) { return F::exp(F::sqrt(u)); }, v);
  };
  onnx::export_model(forgotten, {x}, folder / "forgotten.onnx");
  CHECK(OnnxFile(folder / "forgotten.onnx").types() == Texts{"Sqrt", "Exp"});

  // What depends on no argument is a constant; what no output needs is left out.
  const auto constants = [](const Variable& v) {
    const Variable two = F::exp(Variable(ones({3}), false)) + 1;
    static_cast<void>(F::cos(v));
    return v * two;
  };
  onnx::export_model(constants, {x}, folder / "constants.onnx");
  CHECK(OnnxFile(folder / "constants.onnx").types() == Texts{"Mul"});
}

TEST_CASE("operations on arrays become nodes where a function reads what they made") {
  const ScratchDirectory folder;
  const Variable x = counted({2, 3});
  const auto types_of = [&](const auto& model) {
    onnx::export_model(model, {x}, folder / "net.onnx");
    return OnnxFile(folder / "net.onnx").types();
  };
  CHECK(types_of([](const Variable& v) { return F::exp(Variable(v.array() * 2, false)); }) == Texts{"Mul", "Exp"});
  CHECK(types_of([](const Variable& v) { return F::where(Variable(v > 0.5, false), v, -v); }) ==
        Texts{"Neg", "Greater", "Where"});
  // Only what is read.
  CHECK(types_of([](const Variable& v) {
          const Array unread = xp::maximum(v.array(), 0.5) * 3;
          return F::exp(v);
        }) == Texts{"Exp"});
  CHECK(types_of([](const Variable& v) {
          return F::embed_id(F::argmax(v, 1), ones({3, 2}));
        }) == Texts{"ArgMax", "Cast", "Gather"});
}

TEST_CASE("states of a model are what they were before the export") {
  const ScratchDirectory folder;
  L::LSTM lstm(3, 2);
  const Variable x = counted({1, 3});
  onnx::export_model(lstm, {x}, folder / "first.onnx");
  CHECK_FALSE(lstm.h.is_defined());
  lstm(x);
  const std::vector<float> h = lstm.h.to_vector<float>();
  onnx::export_model(lstm, {x}, folder / "second.onnx");
  CHECK(lstm.h.to_vector<float>() == h);
  CHECK(OnnxFile(folder / "second.onnx").nodes.size() > OnnxFile(folder / "first.onnx").nodes.size());
}

}  // namespace
}  // namespace kusari
