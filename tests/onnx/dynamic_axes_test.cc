#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "../scratch_directory.h"
#include "dynamic_export.h"
#include "export_inputs.h"
#include "kusari/framework/kusari.h"
#include "kusari/framework/onnx/export_model.h"

// Files whose inputs have axes of any size.

namespace kusari {
namespace {

using namespace kusari::testing;
const AxisNames kTexts{{"ids", {{0, "batch"}, {1, "length"}}}};

TEST_CASE("a language model is exported for any batch and length") {
  for (const double rotary_base : {0.0, 10000.0}) {
    for (const int64_t groups : {4, 2}) {
      CAPTURE(rotary_base);
      L::TransformerBlockOptions blocks;
      blocks.rotary_base = rotary_base;
      blocks.groups = groups;
      L::TransformerLM model(11, {.block = 12, .layers = 2, .heads = 4, .width = 16, .blocks = blocks});
      const OnnxFile file = expect_same(model, {integers({1, 6}, 11)},
                                        {{integers({1, 6}, 11)}, {integers({3, 11}, 11)}, {integers({2, 1}, 11)}},
                                        {.input_names = {"ids"}, .dynamic_axes = kTexts});
      CHECK(file.inputs[0].shape == Texts{"batch", "length"});
      CHECK(file.outputs[0].shape == Texts{"batch", "length", "11"});
    }
  }
}

TEST_CASE("a language model with scaled rotation and normalized heads is exported for any length") {
  L::TransformerLM model(11, {.block = 12,
                              .layers = 2,
                              .heads = 4,
                              .width = 16,
                              .blocks = {.groups = 2,
                                         .head_width = 6,
                                         .head_norm = true,
                                         .rotary_base = 10,
                                         .rotary_scaling = {.factor = 8, .trained = 20}}});
  expect_same(model, {integers({1, 6}, 11)}, {{integers({3, 11}, 11)}, {integers({2, 1}, 11)}},
              {.input_names = {"ids"}, .dynamic_axes = kTexts});
}

TEST_CASE("a language model whose layers attend to windows is exported for any length") {
  for (const int64_t length : {2, 6}) {  // that a window is longer than, and that it is not
    CAPTURE(length);
    L::TransformerLM model(11, {.block = 12,
                                .layers = 2,
                                .heads = 4,
                                .width = 16,
                                .blocks = {.rotary_base = 100},
                                .windows = {std::nullopt, 3}});
    expect_same(model, {integers({1, length}, 11)},
                {{integers({3, 11}, 11)}, {integers({2, 1}, 11)}, {integers({1, 3}, 11)}, {integers({1, 4}, 11)}},
                {.input_names = {"ids"}, .dynamic_axes = kTexts});
  }
}

TEST_CASE("a text as long as the model allows is exported for shorter ones") {
  L::TransformerLM model(7, {.block = 6, .layers = 1, .heads = 2, .width = 8});
  expect_same(model, {integers({2, 6}, 7)}, {{integers({3, 2}, 7)}, {integers({1, 5}, 7)}},
              {.input_names = {"ids"}, .dynamic_axes = kTexts});
}

// Attention of one's own, with sizes read from shapes.
class SelfAttention : public Chain {
 public:
  Variable operator()(const Variable& x, const Variable& mask) const {
    const int64_t batch = x.shape()[0], length = x.shape()[1];
    const auto heads = [&](const Variable& v) {
      return F::transpose(F::reshape(v, {batch, length, 2, 4}), {0, 2, 1, 3});
    };
    const Variables qkv = F::split_axis(F::reshape(in(F::reshape(x, {batch * length, 8})), {batch, length, 24}), 3, 2);
    const Variable scores = F::matmul(heads(qkv[0]), heads(qkv[1]), {.transb = true}) * 0.5;
    const Variable hidden = F::reshape((1 - mask) * -1e4, {batch, 1, 1, length});
    const Variable mixed = F::matmul(F::softmax(scores + F::broadcast_to(hidden, scores.shape()), -1), heads(qkv[2]));
    const Variable flat = F::reshape(F::transpose(mixed, {0, 2, 1, 3}), {batch * length, 8});
    // Numbers of places, and a sum over the places that are there.
    const Variable places = F::cast(Variable(arange(length, Dtype::int64), false), Dtype::float32) * 0.1;
    const Variable y =
        F::reshape(out(flat), {batch, length, 8}) + F::broadcast_to(F::reshape(places, {1, length, 1}), x.shape());
    const Variable half = F::get_item(y, {Slice{}, Slice{1, {}}, Slice{}});
    return F::concat({F::sum(y * F::broadcast_to(F::reshape(mask, {batch, length, 1}), y.shape()), 1),
                      F::get_item(y, {Slice{}, -1}), F::sum(half, 1)},
                     1);
  }
  Child<L::Linear> in{*this, "in", 8, 24};
  Child<L::Linear> out{*this, "out", 8, 8};
};

TEST_CASE("sizes that a model reads from shapes are computed when the file runs") {
  SelfAttention model;
  const auto inputs = [](int64_t batch, int64_t length) {
    return std::vector<Variable>{uniform({batch, length, 8}), uniform({batch, length}, 0, 1)};
  };
  const onnx::ExportOptions options{
      .input_names = {"x", "mask"},
      .output_names = {"y"},
      .dynamic_axes = {
          {"x", {{0, "batch"}, {1, "length"}}}, {"mask", {{0, "batch"}, {-1, "length"}}}, {"y", {{0, "n"}}}}};
  for (const int64_t length : {2, 3, 8}) {
    CAPTURE(length);
    const OnnxFile file =
        expect_same(model, inputs(2, length), {inputs(2, length), inputs(5, 3), inputs(1, 17)}, options);
    CHECK(file.inputs[1].shape == Texts{"batch", "length"});
    CHECK(file.outputs[0].shape == Texts{"n", "24"});
  }
}

// A fully convolutional network, whose sizes are halved and doubled.
class Segmenter : public Chain {
 public:
  Variable operator()(const Variable& x) const {
    const Variable half = F::relu(bn(down(x)));
    const Variable quarter = F::max_pooling_2d(half, 3, {.stride = 2, .pad = 1});
    const Variable up = F::resize_images(middle(quarter), {half.shape()[2], half.shape()[3]});
    const Variable doubled = out(F::concat({up, half}, 1));
    const Variable score = F::resize_images(doubled, {x.shape()[2], x.shape()[3]});
    const Variable all = F::average_pooling_2d(quarter, {quarter.shape()[2], quarter.shape()[3]});
    return F::concat({score, F::broadcast_to(F::get_item(all, {Slice{}, Slice{0, 2}}),
                                             {x.shape()[0], 2, x.shape()[2], x.shape()[3]})},
                     1);
  }
  Child<L::Convolution2D> down{*this, "down", 3, 4, 3, L::ConvolutionOptions{.stride = 2, .pad = 1}};
  Child<L::BatchNormalization> bn{*this, "bn", 4};
  Child<L::Convolution2D> middle{*this, "middle", 4, 4, 3, L::ConvolutionOptions{.pad = 1}};
  Child<L::Convolution2D> out{*this, "out", 8, 2, 1};
};

TEST_CASE("a convolutional network is exported for images of any size, odd ones too") {
  Segmenter model;
  const OnnxFile file = expect_same(
      model, {uniform({1, 3, 16, 24})},
      {{uniform({1, 3, 16, 24})}, {uniform({2, 3, 17, 23})}, {uniform({1, 3, 8, 40})}, {uniform({3, 3, 33, 21})}},
      {.input_names = {"image"}, .dynamic_axes = {{"image", {{0, "batch"}, {2, "height"}, {3, "width"}}}}});
  CHECK(file.inputs[0].shape == Texts{"batch", "3", "height", "width"});
  CHECK(file.outputs[0].shape == Texts{"batch", "4", "height", "width"});

  auto upsampled = [](const Variable& x) {
    const Variable y = F::unpooling_2d(F::max_pooling_2d(x, 2, {.cover_all = false}), 2, {.cover_all = false});
    return F::unpooling_2d(F::unpooling_2d(y, 2), 3, {.stride = 2, .pad = 1});
  };
  expect_same(upsampled, {uniform({1, 2, 8, 9})}, {{uniform({1, 2, 12, 15})}, {uniform({1, 2, 5, 4})}},
              {.dynamic_axes = {{"input_0", {{2, "height"}, {3, "width"}}}}});

  L::ResNet18 resnet({.n_classes = 5});
  expect_same(resnet, {uniform({1, 3, 64, 64})}, {{uniform({2, 3, 96, 70})}, {uniform({1, 3, 45, 33})}},
              {.dynamic_batch = true, .dynamic_axes = {{"input_0", {{2, "height"}, {3, "width"}}}}});
}

TEST_CASE("slices of an axis of any size") {
  const auto cut = [](const Slice& slice) {
    return [slice](const Variable& x) { return F::get_item(x, {Slice{}, slice}); };
  };
  const onnx::ExportOptions options{.dynamic_axes = {{"input_0", {{1, "length"}}}}};
  const std::vector<std::vector<Variable>> others{{uniform({2, 9})}, {uniform({2, 12})}, {uniform({2, 31})}};
  for (const Slice& slice : {Slice{2, {}}, Slice{{}, -2}, Slice{-3, {}}, Slice{-5, -1}, Slice{1, 4}, Slice{{}, {}, -1},
                             Slice{{}, {}, 2}, Slice{1, {}, 3}, Slice{{}, 100}}) {
    CAPTURE(slice.start.value_or(1000));
    CAPTURE(slice.stop.value_or(1000));
    auto model = cut(slice);
    expect_same(model, {uniform({2, 9})}, others, options);
  }
  auto halves = [](const Variable& x) {
    const Variables parts = F::split_axis(F::concat({x, x}, 1), 2, 1);
    return parts[0] - 2 * parts[1];
  };
  expect_same(halves, {uniform({2, 9})}, others, options);
}

TEST_CASE("masks, zeros and numbers of places that are made for the call") {
  const auto triangle = [](int64_t rows, int64_t columns, int64_t diagonal) {
    std::vector<float> numbers;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) numbers.push_back(j <= i + diagonal ? 0.0f : -1e4f);
    }
    return Variable(array(numbers, {1, rows, columns}), false);
  };
  auto model = [&](const Variable& x) {
    const int64_t length = x.shape()[1];
    const Variable scores = F::matmul(x, x, {.transb = true});
    const auto plus = [&](const Variable& number) { return F::broadcast_to(number, scores.shape()); };
    const Variable seen = F::softmax(scores + plus(triangle(length, length, 0)), 2);
    const Variable more = F::softmax(scores + plus(triangle(length, length, 2)), 2);
    const Variable none = scores * plus(Variable(zeros({1, length, 1}), false));
    const Array even = arange(length).astype(Dtype::float32) * 0.1f - 1.3f;
    return seen + more + none + plus(Variable(even.reshape({1, 1, length}), false));
  };
  expect_same(model, {uniform({1, 5, 3})}, {{uniform({2, 9, 3})}, {uniform({3, 2, 3})}},
              {.dynamic_batch = true, .dynamic_axes = {{"input_0", {{1, "length"}}}}});
}

TEST_CASE("sizes that cannot be told are refused, by name") {
  const ScratchDirectory folder;
  const auto message = [&](const auto& model, const Shape& shape, const AxisNames& axes, const Texts& names = {}) {
    try {
      onnx::export_model(model, {uniform(shape)}, folder / "no.onnx", {.input_names = names, .dynamic_axes = axes});
    } catch (const ValueError& error) {
      return std::string(error.what());
    }
    return std::string("exported");
  };
  const auto same = [](const Variable& x) { return F::relu(x); };
  CHECK(message(same, {2, 3}, {{"x", {{0, "n"}}}}) ==
        "onnx::export_model: dynamic_axes: 'x' is no input: there are input_0");
  CHECK(message(same, {2, 3}, {{"x", {{2, "n"}}}}, {"x"}) ==
        "onnx::export_model: dynamic_axes: axis 2 of input 0 is not there: it has shape (2, 3)");
  CHECK(message(same, {2, 3}, {{"x", {{0, "n"}, {1, "n"}}}}, {"x"}) ==
        "onnx::export_model: 'n' is 2 in axis 0 of input 0 and 3 in axis 1 of input 0: axes of one name must have one "
        "size");
  CHECK(message(same, {2, 3}, {{"x", {{0, ""}}}}, {"x"}) ==
        "onnx::export_model: dynamic_axes: axis 0 of input 0 has an empty name");
  CHECK(message(same, {2, 3}, {{"x", {{0, "n"}, {-2, "m"}}}}, {"x"}) ==
        "onnx::export_model: dynamic_axes: axis 0 of input 0 has two names");
  CHECK(message(same, {1, 1, 1, 1, 1}, {{"x", {{0, "a"}, {1, "b"}, {2, "c"}, {3, "d"}, {4, "e"}}}}, {"x"}) ==
        "onnx::export_model: dynamic_axes: there are 5 names: at most 4 can be told apart");
  const auto by_size = [](const Variable& x) { return x * x.shape()[1]; };
  CHECK(message(by_size, {2, 3}, {{"x", {{1, "n"}}}}, {"x"}) ==
        "onnx: F::mul_const (call 1): with dynamic_axes: its option 'c' depends on the size");
  const auto steps = [](const Variable& x) {
    Variable y = x;
    for (int64_t i = 0; i < x.shape()[1]; ++i) y = F::exp(y);
    return y;
  };
  CHECK(message(steps, {2, 3}, {{"x", {{1, "n"}}}}, {"x"}) ==
        "onnx: dynamic_axes: the model applies nothing with n=3 and F::exp (call 4) with n=4: its structure depends on "
        "the size");
  const auto drawn = [](const Variable& x) { return x + Variable(random::uniform(x.shape()), false); };
  CHECK(
      message(drawn, {2, 3}, {{"x", {{1, "n"}}}}, {"x"}) ==
      "onnx: F::add (call 1): with dynamic_axes: it reads a constant of shape (2, 3) whose numbers depend on the size: "
      "an argument, or F::get_item of a parameter or persistent array, gives some for any");
  CHECK(folder.count() == 0);
}

}  // namespace
}  // namespace kusari
