#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/activation/gelu.h"
#include "kusari/framework/functions/activation/hard_swish.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/silu.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/connection/se_block.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/quantization/calibrator.h"
#include "kusari/tests/gpu/testing.h"

namespace F = kusari::functions;
namespace L = kusari::links;

// Sessions on a device with the kernels that passes ask for, against sessions on the CPU.
namespace kusari::testing {
namespace {

/// Runs a session of the model on both; `pass`: what the summary of the one on the device says.
template <class Model>
void check_session(const Device& device, Model model, const Arrays& inputs, const std::string& pass, double factor) {
  const Arrays expected = InferenceSession(model).run(inputs);
  if constexpr (std::is_base_of_v<Link, Model>) model.to(device);
  Arrays there;
  for (const Array& x : inputs) there.push_back(on_device(x, device));
  const InferenceSession session(model);
  for (int i = 0; i < 2; ++i) {
    const Arrays found = session.run(there);
    REQUIRE(found.size() == expected.size());
    CHECK(found[0].device() == device);
    check_same(found[0], expected[0], factor);
  }
  CHECK_MESSAGE(session.summary().find(pass) != std::string::npos, session.summary());
}

/// As EfficientNet's blocks have it.
class ExcitedBlock : public Chain {
 public:
  ExcitedBlock()
      : expand{*this, "expand", 8, 16, 1},
        conv{*this, "conv", 16, 16, 3, {.pad = 1, .groups = 16}},
        se{*this, "se", 16, {.ratio = 4, .activation = L::SEActivation::swish}},
        project{*this, "project", 16, 8, 1} {}
  Variable operator()(const Variable& x) const {
    return F::gelu(project(se(F::hard_swish(conv(F::silu(expand(x)))))) + x);
  }

 private:
  Child<L::Convolution2D> expand, conv;
  Child<L::SEBlock> se;
  Child<L::Convolution2D> project;
};

TEST_CASE("inference on a device: functions in convolutions, squeeze and excitation") {
  const auto device = gpu_device();
  if (!device) return;
  random::seed(4);
  const ExcitedBlock block;
  const Arrays inputs = {uniform_array({2, 8, 6, 5}, -1, 1)};
  check_session(*device, block, inputs, "into convolutions", 16);
  check_session(*device, block, inputs, "made 1 squeeze-and-excitations one kernel each", 16);
  check_session(*device, block, inputs, "convolution_function_forward", 16);
}

/// Attention as models write it that fill hidden scores.
struct FilledScores {
  Array mask, fill;
  Variable operator()(const Variable& q, const Variable& k, const Variable& v) const {
    const Variable scores = F::matmul(q, k, {.transb = true}) * 0.5;
    return F::matmul(F::softmax(F::where(mask, scores, fill), 3), v);
  }
};

TEST_CASE("inference on a device: attention whose hidden scores are a number") {
  const auto device = gpu_device();
  if (!device) return;
  const auto drawn = [](int64_t rows, uint64_t seed) {
    return uniform_array({2, 3, rows, 4}, -1, 1, Dtype::float32, seed);
  };
  const Array mask = uniform_array({2, 1, 5, 7}, -1, 1, Dtype::float32, 4).astype(Dtype::int32).astype(Dtype::bool_);
  const Array fill = full({}, -2.5, Dtype::float32);
  const Arrays inputs = {drawn(5, 1), drawn(7, 2), drawn(7, 3)};
  const Arrays expected = InferenceSession(FilledScores{mask, fill}).run(inputs);
  Arrays there;
  for (const Array& x : inputs) there.push_back(x.to_device(*device));
  const InferenceSession session(FilledScores{mask.to_device(*device), fill.to_device(*device)});
  check_same(session.run(there)[0], expected[0], 16);
  CHECK_MESSAGE(session.summary().find("made 1 attentions") != std::string::npos, session.summary());
}

class QuantizedPair : public Chain {
 public:
  QuantizedPair()
      : conv1{*this, "conv1", 4, 12, 3, {.pad = 1}},
        conv2{*this, "conv2", 12, 6, 3, {.stride = 2}},
        fc{*this, "fc", 96, 5} {}
  Variable operator()(const Variable& x) const { return fc(F::relu(conv2(F::relu(conv1(x))))); }

 private:
  Child<L::Convolution2D> conv1, conv2;
  Child<L::Linear> fc;
};

TEST_CASE("inference on a device: convolutions and products of 8 bits give the CPU's bits") {
  const auto device = gpu_device();
  if (!device) return;
  random::seed(5);
  const Array x = uniform_array({4, 4, 9, 9}, -1, 1);
  quantization::Calibrator calibrator(QuantizedPair{});
  calibrator.observe(x);
  check_session(*device, calibrator.quantized(), {x}, "made 3 convolutions of integers, 1 of which write integers", 0);
}

/// What a residual connection of 8 bits is: relu(a + b), rounded again.
struct RoundedSum {
  Array scale, zero;
  Variable operator()(const Variable& a, const Variable& b) const {
    const auto dequantized = [&](const Variable& q) {
      return pointwise_as(Dtype::float32, kernels::Dequantize{}, q.array(), scale, zero);
    };
    const Array sum = pointwise(kernels::Relu{}, pointwise(kernels::Add{}, dequantized(a), dequantized(b)));
    const Array rounded = pointwise_as(Dtype::uint8, kernels::Quantize{0, 255}, sum, scale, zero);
    return Variable(pointwise_as(Dtype::float32, kernels::Dequantize{}, rounded, scale, zero), false);
  }
};

TEST_CASE("inference on a device: additions of 8 bits give the CPU's bits") {
  const auto device = gpu_device();
  if (!device) return;
  const auto bytes = [](uint64_t seed) {
    return uniform_array({2, 3, 5, 7}, 0, 256, Dtype::float32, seed).astype(Dtype::uint8);
  };
  const Array scale = full({}, 0.02, Dtype::float32), zero = full({}, 100, Dtype::float32);
  const Arrays expected = InferenceSession(RoundedSum{scale, zero}).run({bytes(1), bytes(2)});
  const InferenceSession session(RoundedSum{scale.to_device(*device), zero.to_device(*device)});
  const Arrays found = session.run({bytes(1).to_device(*device), bytes(2).to_device(*device)});
  CHECK(found[0].to_vector<float>() == expected[0].to_vector<float>());
  CHECK_MESSAGE(session.summary().find("made 1 additions of integers") != std::string::npos, session.summary());
}

}  // namespace
}  // namespace kusari::testing
