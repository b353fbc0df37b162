#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/attention/rotary_embedding.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/top_k.h"
#include "kusari/framework/functions/normalization/rms_normalization.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/inference/loaders.h"
#include "kusari/framework/initializers/random_array.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/mobilenet_v2.h"
#include "kusari/framework/links/model/resnet.h"
#include "kusari/framework/links/model/transformer_lm.h"
#include "kusari/framework/onnx/export_model.h"
#include "kusari/framework/onnx/load.h"
#include "kusari/framework/quantization/calibrator.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/onnx/node_outputs.h"
#include "kusari/tests/scratch_directory.h"

// What is exported and loaded again is the same model.

using namespace kusari;
namespace F = functions;
namespace L = links;
using kusari::testing::ScratchDirectory;

namespace {

template <class Model>
Array inferred(const Model& model, const Array& x) {
  const auto no_graph = no_backprop_mode();
  const auto no_training = using_config(&Config::train, false);
  return model(Variable(x, false)).array();
}

template <class Model>
onnx::Model written_and_read(Model& model, const Array& x, const ScratchDirectory& folder) {
  onnx::export_model(model, {Variable(x, false)}, folder / "net.onnx");
  return onnx::load(folder / "net.onnx");
}

void expect_same(const Array& found, const Array& expected, double tolerance) {
  const std::vector<float> x = found.to_vector<float>(), y = expected.to_vector<float>();
  REQUIRE(x.size() == y.size());
  for (size_t i = 0; i < x.size(); ++i) CHECK(std::abs(x[i] - y[i]) <= tolerance * (1 + std::abs(y[i])));
}

std::vector<std::string> paths_of(Link& link) {
  std::vector<std::string> paths;
  for (const auto& [path, parameter] : link.namedparams()) paths.push_back(path);
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

TEST_CASE("an exported convolutional network is read with its names and the same bits") {
  random::seed(1);
  const ScratchDirectory folder;
  L::ResNet18 net({.n_classes = 10, .stem = L::ResNetStem::cifar});
  const Array x = random::uniform({2, 3, 32, 32}, {.dtype = Dtype::float32});
  const Array expected = inferred(net, x);
  onnx::Model loaded = written_and_read(net, x, folder);
  CHECK(paths_of(loaded) == paths_of(net));
  CHECK((inferred(loaded, x) == expected).all());

  // Snapshots of the one are those of the other.
  L::ResNet18 other({.n_classes = 10, .stem = L::ResNetStem::cifar});
  const Array other_expected = inferred(other, x);
  serializers::save_npz(folder / "other.npz", other);
  onnx::Model changed = loaded;
  serializers::load_npz(folder / "other.npz", changed);
  CHECK((inferred(changed, x) == other_expected).all());
  CHECK((inferred(loaded, x) == expected).all());

  const InferenceSession session = inference::open_session(folder / "net.onnx");
  const Array y = session.run({x})[0];
  expect_same(y, expected, 1e-4);

  L::MobileNetV2 mobile({.n_classes = 10});
  const Array image = random::uniform({1, 3, 64, 64}, {.dtype = Dtype::float32});
  const Array mobile_expected = inferred(mobile, image);
  onnx::Model mobile_loaded = written_and_read(mobile, image, folder);
  CHECK((inferred(mobile_loaded, image) == mobile_expected).all());
}

TEST_CASE("a network that was read trains as the one that was written") {
  random::seed(2);
  const ScratchDirectory folder;
  L::ResNet18 net({.n_classes = 10, .stem = L::ResNetStem::cifar});
  const Array x = random::uniform({8, 3, 32, 32}, {.dtype = Dtype::float32});
  const Array t = arange(8, Dtype::int64);
  inferred(net, x);
  onnx::Model loaded = written_and_read(net, x, folder);
  optimizers::MomentumSGD native_optimizer(0.05), loaded_optimizer(0.05);
  native_optimizer.setup(net);
  loaded_optimizer.setup(loaded);
  const auto train = using_config(&Config::train, true);
  for (int step = 0; step < 3; ++step) {
    CAPTURE(step);
    const auto loss_of = [&](auto& model, auto& optimizer) {
      const Variable loss = F::softmax_cross_entropy(model(Variable(x, false)), t);
      model.cleargrads();
      loss.backward();
      optimizer.update();
      return loss.template item<double>();
    };
    const double native = loss_of(net, native_optimizer);
    CHECK(loss_of(loaded, loaded_optimizer) == doctest::Approx(native).epsilon(2e-3));
  }
  // The running averages have moved, too.
  CHECK(inferred(loaded, x).at(0).at(0).item<double>() ==
        doctest::Approx(inferred(net, x).at(0).at(0).item<double>()).epsilon(0.02));
}

TEST_CASE("the best classes and their numbers, for any size of the batch") {
  random::seed(5);
  const ScratchDirectory folder;
  class Best : public Chain {
   public:
    Variables operator()(const Variable& x) const {
      const F::TopK rows = F::top_k(F::softmax(scores(x)), 3), columns = F::top_k(x, 1, 0);
      return {rows.values, rows.indices, columns.indices};
    }
    Child<L::Linear> scores{*this, "scores", 6, 5};
  } net;
  const auto no_training = using_config(&Config::train, false);
  const Variable x(random::uniform({4, 6}), false), y(random::uniform({7, 6}), false);
  onnx::export_model(net, {x}, folder / "net.onnx", {.dynamic_batch = true});
  const InferenceSession session = inference::open_session(folder / "net.onnx");
  for (const Variable& input : {x, y}) {
    const Variables expected = net(input);
    const Arrays found = session.run({input.array()});
    expect_same(found[0], expected[0].array(), 1e-6);
    CHECK(found[1].dtype() == Dtype::int32);
    CHECK((found[1] == expected[1].array()).all());
    CHECK((found[2] == expected[2].array()).all());
  }
}

TEST_CASE("an exported transformer is read again") {
  random::seed(3);
  const ScratchDirectory folder;
  L::TransformerLM net(50, {.block = 16, .layers = 2, .heads = 4, .width = 32});
  const int64_t numbers[] = {3, 1, 4, 1, 5, 9, 2, 6};
  const Array tokens = from_host(numbers, {2, 4}, Dtype::int64);
  const Array expected = inferred(net, tokens);
  const onnx::Model loaded = written_and_read(net, tokens, folder);
  expect_same(inferred(loaded, tokens), expected, 1e-5);
}

TEST_CASE("an exported transformer with rotary places and root mean squares is read again") {
  random::seed(5);
  const ScratchDirectory folder;
  L::TransformerLM net(50, {.block = 16,
                            .layers = 2,
                            .heads = 4,
                            .width = 32,
                            .blocks = {.norm = L::BlockNorm::rms,
                                       .head_width = 6,
                                       .nobias = true,
                                       .qkv_bias = true,
                                       .head_norm = true,
                                       .rotary_base = 10,
                                       .rotary_scaling = {.factor = 8, .trained = 20}}});
  const int64_t numbers[] = {3, 1, 4, 1, 5, 9, 2, 6};
  const Array tokens = from_host(numbers, {2, 4}, Dtype::int64);
  const Array expected = inferred(net, tokens);
  for (const int opset : {13, 21}) {
    onnx::export_model(net, {Variable(tokens, false)}, folder / "net.onnx", {.opset = opset});
    expect_same(inferred(onnx::load(folder / "net.onnx"), tokens), expected, 1e-5);
  }
}

TEST_CASE("an exported rotary embedding is read again") {
  const ScratchDirectory folder;
  const Array x = random::uniform({2, 3, 5, 8}, {.low = -1, .high = 1, .dtype = Dtype::float32});
  for (const bool interleaved : {false, true}) {
    for (const Dtype dtype : {Dtype::float16, Dtype::float32, Dtype::float64}) {
      const auto turn = [&](const Variable& v) {
        return F::rotary_embedding(v, {.first = 3, .base = 100, .interleaved = interleaved});
      };
      const Variable in(x.astype(dtype), false);
      onnx::export_model(turn, {in}, folder / "turn.onnx");
      const double tolerance = dtype == Dtype::float16 ? 3e-3 : 1e-6;
      expect_same(inferred(onnx::load(folder / "turn.onnx"), in.array()), turn(in).array(), tolerance);
    }
  }
}

TEST_CASE("an exported normalization by root mean squares is read again") {
  random::seed(6);
  const ScratchDirectory folder;
  const Array x = random::uniform({2, 3, 8}, {.low = -1, .high = 1, .dtype = Dtype::float32});
  const Array gamma = random::uniform({8}, {.low = 0.5, .high = 2, .dtype = Dtype::float32});
  for (const Dtype dtype : {Dtype::float16, Dtype::float32, Dtype::float64}) {
    for (const int opset : {13, 18}) {
      const auto normalize = [&](const Variable& v) { return F::rms_normalization(v, Variable(gamma, false), 0.1); };
      const Variable in(x.astype(dtype), false);
      onnx::export_model(normalize, {in}, folder / "normalize.onnx", {.opset = opset});
      const double tolerance = dtype == Dtype::float16 ? 2e-3 : 1e-6;
      expect_same(inferred(onnx::load(folder / "normalize.onnx"), in.array()), normalize(in).array(), tolerance);
    }
  }
}

TEST_CASE("a quantized network is written with its 8 bits") {
  random::seed(4);
  const ScratchDirectory folder;
  L::ResNet18 net({.n_classes = 10, .stem = L::ResNetStem::cifar});
  const Array x = random::uniform({2, 3, 32, 32}, {.dtype = Dtype::float32});
  inferred(net, x);
  quantization::Calibrator calibrator(net, {.exclude = {"/fc6"}});
  calibrator.observe(x);
  auto int8 = calibrator.quantized();
  const Array expected = inferred(int8, x);
  const onnx::Model loaded = written_and_read(int8, x, folder);
  const std::vector<std::string> operations = loaded.operations();
  CHECK(std::count_if(operations.begin(), operations.end(), [](const std::string& place) {
          return place.find(": QuantizeLinear") != std::string::npos;
        }) >= 20);
  expect_same(inferred(loaded, x), expected, 1e-4);
  // Weights are integers there, which sessions multiply as they are.
  onnx::export_model(net, {Variable(x, false)}, folder / "float.onnx");
  onnx::export_model(int8, {Variable(x, false)}, folder / "int8.onnx");
  CHECK(std::filesystem::file_size(folder / "int8.onnx") * 3 < std::filesystem::file_size(folder / "float.onnx"));
  const auto integer_convolutions = [&](const InferenceSession& session) {
    session.run({x});
    const std::string summary = session.summary(), kernel = "quantized_convolution_forward";
    int count = 0;
    for (size_t at = summary.find(kernel); at != std::string::npos; at = summary.find(kernel, at + 1)) ++count;
    return count;
  };
  const int of_link = integer_convolutions(InferenceSession(int8));
  CHECK(of_link > 0);
  CHECK(integer_convolutions(InferenceSession(loaded)) >= of_link);
}

TEST_CASE("a loaded RoiAlign is exported with its shift of half a pixel") {
  const ScratchDirectory folder;
  const Array x = pattern({1, 2, 6, 6}, 1), rois = floats({3, 5, 3.5f, 8, 1, 0, 9, 11}, {2, 4});
  const auto [bytes, given] = file_of("RoiAlign", {x, rois, int_vector({0, 0})},
                                      {{"output_height", int64_t{2}},
                                       {"output_width", int64_t{2}},
                                       {"sampling_ratio", int64_t{2}},
                                       {"spatial_scale", 0.5f},
                                       {"coordinate_transformation_mode", std::string("half_pixel")}},
                                      {.constants = {1, 2}});
  onnx::Model model = onnx::load_bytes(bytes);
  expect_same(inferred(written_and_read(model, x, folder), x), inferred(model, x), 1e-5);
}
