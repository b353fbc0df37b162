#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "dynamic_export.h"
#include "export_inputs.h"

// Sizes that are alike for the inputs of the export and differ for others.

namespace kusari {
namespace {

using namespace kusari::testing;

const AxisNames kImages{{"x", {{0, "batch"}, {2, "height"}, {3, "width"}}}};
const AxisNames kLengths{{"x", {{1, "length"}}}};

template <class Model>
std::string refusal(const Model& model, const std::vector<Variable>& inputs, const onnx::ExportOptions& options) {
  const ScratchDirectory folder;
  try {
    onnx::export_model(model, std::span<const Variable>(inputs), folder / "no.onnx", options);
  } catch (const Error& error) {
    CHECK(folder.count() == 0);
    return error.what();
  }
  return "exported";
}
template <class Model>
std::string refusal(const Model& model, const Shape& shape, const AxisNames& axes) {
  return refusal(model, {uniform(shape)}, {.input_names = {"x"}, .dynamic_axes = axes});
}

TEST_CASE("axes of a square image are told apart behind poolings") {
  for (const int64_t window : {2, 16}) {
    CAPTURE(window);
    // The mean of all places goes to each of the smaller map, whose sizes are read from its shape.
    auto context = [&](const Variable& x) {
      const Variable p = F::average_pooling_2d(x, window);
      const Variable all = F::broadcast_to(F::average(x, {.axis = {2, 3}, .keepdims = true}), p.shape());
      return F::concat({p, all}, 1);
    };
    expect_same(context, {uniform({1, 2, 64, 64})}, {{uniform({1, 2, 64, 128})}, {uniform({2, 2, 49, 33})}},
                {.input_names = {"x"}, .dynamic_axes = kImages});
    auto tokens = [&](const Variable& x) {
      const Variable p = F::average_pooling_2d(x, window);
      const Variable rows = F::reshape(F::transpose(p, {0, 2, 3, 1}), {p.shape()[0], p.shape()[2] * p.shape()[3], 2});
      return F::reshape(F::softmax(rows, 1), {p.shape()[0], p.shape()[2], p.shape()[3], 2});
    };
    expect_same(tokens, {uniform({2, 2, 32, 32})}, {{uniform({1, 2, 64, 128})}, {uniform({2, 2, 49, 33})}},
                {.input_names = {"x"}, .dynamic_axes = kImages});
  }
}

TEST_CASE("a map is resized to the size of another one, not by their ratio") {
  auto pyramid = [](const Variable& x) {
    const Variable half = F::average_pooling_2d(x, 2), quarter = F::average_pooling_2d(half, 2);
    return half + F::resize_images(quarter, {half.shape()[2], half.shape()[3]});
  };
  for (const int64_t size : {8, 64, 66}) {
    CAPTURE(size);
    expect_same(pyramid, {uniform({1, 2, size, size})},
                {{uniform({1, 2, 66, 70})}, {uniform({1, 2, 65, 34})}, {uniform({2, 2, 15, 68})}},
                {.input_names = {"x"}, .dynamic_axes = kImages});
  }
}

TEST_CASE("halves that are rounded down and those that are rounded up are told apart") {
  auto both = [](const Variable& x) {
    const Variable down = F::average_pooling_1d(F::average_pooling_1d(x, 2), 2);  // L / 4
    const Variable up = F::average_pooling_1d(F::max_pooling_1d(x, 3, {.stride = 2, .pad = 1, .cover_all = false}), 2);
    const Variable wide = F::broadcast_to(F::average(down, {.axis = 2, .keepdims = true}), up.shape());  // (L + 1) / 4
    return wide + up;
  };
  expect_same(both, {uniform({2, 3, 16})}, {{uniform({2, 3, 15})}, {uniform({1, 3, 19})}, {uniform({2, 3, 64})}},
              {.input_names = {"x"}, .dynamic_axes = {{"x", {{0, "batch"}, {2, "length"}}}}});
}

// Halves an image and doubles it again, so that its sizes must be multiples of four.
class UNet : public Chain {
 public:
  Variable operator()(const Variable& x) const {
    const Variable half = F::relu(down1(x)), quarter = F::relu(down2(half));
    const Variable y = F::concat({F::unpooling_2d(quarter, 2, {.cover_all = false}), half}, 1);
    return F::concat({up2(y), x}, 1);
  }
  Child<L::Convolution2D> down1{*this, "down1", 2, 4, 2, L::ConvolutionOptions{.stride = 2}};
  Child<L::Convolution2D> down2{*this, "down2", 4, 6, 2, L::ConvolutionOptions{.stride = 2}};
  Child<L::Deconvolution2D> up2{*this, "up2", 10, 3, 2, L::DeconvolutionOptions{.stride = 2}};
};

TEST_CASE("a network that wants multiples of a size is exported for them") {
  UNet model;
  expect_same(model, {uniform({1, 2, 16, 16})}, {{uniform({2, 2, 24, 36})}, {uniform({1, 2, 64, 12})}},
              {.input_names = {"x"}, .dynamic_axes = kImages});
}

TEST_CASE("slices as they are written, however long the axis") {
  const onnx::ExportOptions options{.input_names = {"x"}, .dynamic_axes = kLengths};
  const std::vector<std::vector<Variable>> others{
      {uniform({2, 7})}, {uniform({2, 11})}, {uniform({2, 14})}, {uniform({2, 120})}};
  for (const int64_t length : {4, 6, 12}) {
    for (const Slice& slice : {Slice{1, -1, 3}, Slice{-8, {}}, Slice{{}, 100}, Slice{{}, -1, 4}, Slice{-3, {}, 2},
                               Slice{{}, 0, -4}, Slice{-1, {}, -2}, Slice{{}, {}, 50}, Slice{5, 2, -1}}) {
      CAPTURE(length);
      CAPTURE(slice.start.value_or(1000));
      CAPTURE(slice.stop.value_or(1000));
      CAPTURE(slice.step.value_or(1000));
      auto model = [&](const Variable& x) { return F::get_item(x, {Slice{}, slice}); };
      expect_same(model, {uniform({2, length})}, others, options);
    }
  }
  auto turned = [](const Variable& x) { return F::get_item(x, {0, Slice{1, {}}, kNewAxis}); };
  for (const int64_t length : {1, 2, 5}) {
    expect_same(turned, {uniform({3, length})}, {{uniform({3, 5})}, {uniform({3, 9})}}, options);
  }
  auto last = [](const Variable& x) { return F::get_item(x, {Slice{}, -2}); };
  expect_same(last, {uniform({3, 4})}, {{uniform({3, 5})}, {uniform({3, 9})}}, options);
}

TEST_CASE("what a model does for some sizes alone is refused") {
  const std::string differs = ": its structure depends on the size";
  const auto chosen = [](const Variable& x) {
    const Variable a = F::relu(x), b = F::tanh(x);
    return x.shape()[1] > 8 ? a : b;
  };
  CHECK(refusal(chosen, {2, 8}, kLengths) ==
        "onnx: dynamic_axes: the model applies its results in one way with length=8 and in another one with length=9" +
            differs);
  const auto longer = [](const Variable& x) { return x.shape()[1] > 12 ? F::relu(x) : F::tanh(x); };
  CHECK(refusal(longer, {2, 8}, kLengths) ==
        "onnx: dynamic_axes: the model applies F::tanh (call 1) with length=8 and F::relu (call 1) with length=16" +
            differs);

  const auto attend = [](const auto& options) {
    return [options](const Variable& x) {
      const Variable q = F::reshape(x, {x.shape()[0], 1, x.shape()[1], 4});
      return F::scaled_dot_product_attention(q, q, q, options(x.shape()[1]));
    };
  };
  const auto window = [](int64_t length) {
    F::AttentionOptions options;
    if (length > 8) options.mask = ones({length, length}, Dtype::bool_);
    return options;
  };
  CHECK(refusal(attend(window), {2, 8, 4}, kLengths) ==
        "onnx: F::scaled_dot_product_attention (call 2): with dynamic_axes: it has the option 'mask' for some sizes "
        "alone");
  const auto scaled = [](int64_t length) {
    F::AttentionOptions options;
    options.scale = std::log(static_cast<double>(length));
    return options;
  };
  CHECK(refusal(attend(scaled), {2, 8, 4}, kLengths) ==
        "onnx: F::scaled_dot_product_attention (call 2): with dynamic_axes: its option 'scale' depends on the size");
  const auto causal = [](int64_t length) {
    F::AttentionOptions options;
    options.is_causal = length % 2 == 0;
    return options;
  };
  CHECK(
      refusal(attend(causal), {2, 8, 4}, kLengths) ==
      "onnx: F::scaled_dot_product_attention (call 2): with dynamic_axes: its option 'is_causal' depends on the size");
  const auto masked = [](int64_t length) {
    F::AttentionOptions options;
    options.mask = xp::eye(length).astype(Dtype::bool_);
    return options;
  };
  CHECK(refusal(attend(masked), {2, 8, 4}, kLengths) ==
        "onnx: F::scaled_dot_product_attention (call 2): with dynamic_axes: its option 'mask' depends on the size and "
        "is made outside of functions: an argument gives one for any");
  const auto padded = [](const Variable& x) {
    return F::pad(x, {{0, 0}, {1, 1}}, F::PadMode::constant, static_cast<double>(x.shape()[1]));
  };
  CHECK(refusal(padded, {2, 8}, kLengths) ==
        "onnx: F::pad (call 1): with dynamic_axes: its option 'constant_values' depends on the size");
  const auto diagonal = [](const Variable& x) { return F::diagonal(x); };
  CHECK(refusal(diagonal, {2, 5}, {{"x", {{0, "n"}}}}) ==
        "onnx: F::diagonal (call 1): with dynamic_axes: its operator needs the size of axis 0, which changes");
}

TEST_CASE("sequences of which one ends earlier for some batches are refused") {
  L::NStepLSTM lstm(1, 4, 3, 0.0);
  const auto model = [&](const Variable& x) {
    const std::vector<Variable> xs{Variable(ones({5, 4}), false), Variable(ones({5, 4}), false), x};
    return lstm({}, {}, xs).hy;
  };
  CHECK(refusal(model, {2, 4}, {{"x", {{0, "n"}}}}).find("it has sequences of different lengths") != std::string::npos);
}

TEST_CASE("axes of outputs have the names that they are given") {
  const auto model = [](const Variable& x) { return F::relu(x); };
  const ScratchDirectory folder;
  const auto named = [&](const std::string& output, int axis, const std::string& name) {
    onnx::export_model(model, {uniform({2, 3})}, folder / "net.onnx",
                       {.input_names = {"x"}, .dynamic_axes = {{"x", {{1, "n"}}}, {output, {{axis, name}}}}});
    return OnnxFile(folder / "net.onnx").outputs[0].shape;
  };
  CHECK(named("output_0", 1, "m") == Texts{"2", "m"});
  CHECK(named("output_0", -1, "m") == Texts{"2", "m"});
  CHECK_THROWS_WITH_AS(
      named("output_0", 7, "m"),
      "onnx::export_model: dynamic_axes: axis 7 of output 'output_0' is not there: it has shape (2, 3)", ValueError);
  CHECK_THROWS_WITH_AS(named("output_0", 1, ""),
                       "onnx::export_model: dynamic_axes: axis 1 of output 'output_0' has an empty name", ValueError);
  CHECK_THROWS_WITH_AS(named("output_1", 1, "m"),
                       "onnx::export_model: dynamic_axes: 'output_1' is neither an input nor an output", ValueError);

  const auto sum = [](const Variable& x, const Variable& y) { return x + y; };
  onnx::export_model(sum, {uniform({2, 3}), uniform({2, 3})}, folder / "sum.onnx",
                     {.input_names = {"x", "y"}, .dynamic_batch = true, .dynamic_axes = {{"x", {{0, "n"}}}}});
  const OnnxFile file(folder / "sum.onnx");
  CHECK(file.inputs[1].shape == Texts{"n", "3"});
  CHECK(file.outputs[0].shape == Texts{"n", "3"});
}

}  // namespace
}  // namespace kusari
