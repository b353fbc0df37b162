#include <cmath>
#include <limits>
#include <numbers>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/initializers/random_array.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/onnx/load.h"
#include "kusari/tests/onnx/node_outputs.h"

// Operators that are made of several functions, by numbers worked out by hand or in another way. ONNX's own cases are
// run by tools/check_onnx.

using namespace kusari;
using NodeAttributes = ModelBuilder::Attributes;
using Ints = ModelBuilder::Ints;

namespace {

Variables outputs_of(const std::string& op, const std::vector<Array>& inputs, const NodeAttributes& attributes,
                     size_t count = 1, int64_t opset = 20) {
  return outputs_of(op, inputs, attributes, NodeForm{.outputs = count, .opset = opset});
}

Array output_of(const std::string& op, const std::vector<Array>& inputs, const NodeAttributes& attributes = {},
                int64_t opset = 20) {
  return outputs_of(op, inputs, attributes, 1, opset)[0].array();
}

Array drawn(const Shape& shape) { return random::uniform(shape, {.low = -1, .high = 1, .dtype = Dtype::float32}); }

}  // namespace

TEST_CASE("ONNX LSTM, GRU and RNN: the fused kernel gives what single steps give") {
  // Clipping far away changes nothing, but is not what the fused kernel does.
  random::seed(1);
  struct Case {
    const char* op;
    int64_t gates;
    size_t outputs;
  };
  for (const Case& c : {Case{"LSTM", 4, 3}, Case{"GRU", 3, 2}, Case{"RNN", 1, 2}}) {
    for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
      for (const bool ragged : {false, true}) {
        CAPTURE(c.op);
        CAPTURE(direction);
        CAPTURE(ragged);
        const int64_t times = 5, batch = 3, in = 4, hidden = 6, directions = direction == "bidirectional" ? 2 : 1;
        std::vector<Array> inputs{drawn({times, batch, in}),
                                  drawn({directions, c.gates * hidden, in}),
                                  drawn({directions, c.gates * hidden, hidden}),
                                  drawn({directions, 2 * c.gates * hidden}),
                                  ragged ? int_vector({2, 5, 3}).astype(Dtype::int32) : Array(),
                                  drawn({directions, batch, hidden})};
        if (c.outputs == 3) inputs.push_back(drawn({directions, batch, hidden}));
        NodeAttributes attributes{{"hidden_size", hidden}, {"direction", direction}};
        if (c.gates == 3) attributes.emplace_back("linear_before_reset", int64_t{1});
        const Variables fused = outputs_of(c.op, inputs, attributes, c.outputs);
        attributes.emplace_back("clip", 1e6f);
        const Variables steps = outputs_of(c.op, inputs, attributes, c.outputs);
        for (size_t i = 0; i < c.outputs; ++i) expect_equal(fused[i].array(), steps[i].array());
        CHECK(fused[0].shape() == Shape{times, directions, batch, hidden});
        if (ragged && direction == "forward") {
          // Behind the end of a sequence there are zeros, and its last state stays.
          const Array y = fused[0].array(), last = fused[1].array();
          CHECK((y.slice(0, 2, 3).slice(2, 0, 1) == 0).all());
          expect_equal(y.at(1).at(0).at(0), last.at(0).at(0));
        }
      }
    }
  }
  CHECK_THROWS_WITH_AS(
      outputs_of("GRU",
                 {drawn({2, 1, 3}), drawn({1, 6, 3}), drawn({1, 6, 2}), Array(), int_vector({9}).astype(Dtype::int32)},
                 {{"hidden_size", int64_t{2}}}),
      doctest::Contains("sequence_lens has 9: sequences have at most 2 elements"), ValueError);
}

TEST_CASE("ONNX Attention: the fused function gives what products and a softmax give") {
  random::seed(2);
  const Array q = drawn({2, 4, 3, 8}), k = drawn({2, 2, 5, 8}), v = drawn({2, 2, 5, 6});
  const Array mask = drawn({3, 5}), past_k = drawn({2, 2, 2, 8}), past_v = drawn({2, 2, 2, 6});
  struct Case {
    const char* name;
    std::vector<Array> inputs;
    NodeAttributes attributes;
  };
  for (const Case& c :
       {Case{"plain", {q, k, v}, {}}, Case{"mask", {q, k, v, mask}, {}},
        Case{"causal", {q, k, v}, {{"is_causal", int64_t{1}}}},
        Case{"causal with a mask", {q, k, v, mask}, {{"is_causal", int64_t{1}}}},
        Case{"past", {q, k, v, Array(), past_k, past_v}, {{"is_causal", int64_t{1}}, {"scale", 0.3f}}}}) {
    CAPTURE(c.name);
    const Array fused = outputs_of("Attention", c.inputs, c.attributes, 3, 23)[0].array();
    expect_equal(fused, outputs_of("Attention", c.inputs, c.attributes, 4, 23)[0].array());
  }
}

TEST_CASE("ONNX pooling: ceil_mode, uneven padding, dilation, places") {
  const Array x = arange(16, Dtype::float32).reshape({1, 1, 4, 4});
  expect_equal(
      output_of("MaxPool", {x}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}}),
      floats({10, 11, 14, 15}, {1, 1, 2, 2}));
  expect_equal(
      output_of("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 0, 1}}}),
      floats({1, 3, 9, 11}, {1, 1, 2, 2}));
  expect_equal(output_of("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{2, 2}}}),
               floats({10, 11, 14, 15}, {1, 1, 2, 2}));
  const Variables both = outputs_of("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}, 2);
  expect_equal(both[1].array(), int_vector({5, 7, 13, 15}).reshape({1, 1, 2, 2}));
  expect_equal(output_of("MaxUnpool", {both[0].array(), both[1].array()},
                         {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}),
               floats({0, 0, 0, 0, 0, 5, 0, 7, 0, 0, 0, 0, 0, 13, 0, 15}, {1, 1, 4, 4}));
  // The corner window has one element of x: alone, or among four.
  const NodeAttributes padded{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}};
  NodeAttributes counted = padded;
  counted.emplace_back("count_include_pad", int64_t{1});
  const Array ones = full({1, 1, 4, 4}, 1, Dtype::float32);
  expect_equal(output_of("AveragePool", {ones}, padded), full({1, 1, 3, 3}, 1, Dtype::float32));
  expect_equal(output_of("AveragePool", {ones}, counted),
               floats({.25f, .5f, .25f, .5f, 1, .5f, .25f, .5f, .25f}, {1, 1, 3, 3}));
  CHECK_THROWS_WITH_AS(output_of("MaxPool", {x}, {{"kernel_shape", Ints{5, 5}}}), doctest::Contains("does not fit"),
                       ValueError);
}

TEST_CASE("ONNX convolutions: padding on one side, auto_pad, transposed with output_padding") {
  random::seed(3);
  const Array x = drawn({2, 4, 7, 6}), w = drawn({6, 2, 3, 3}), b = drawn({6});
  const NodeAttributes common{{"group", int64_t{2}}, {"strides", Ints{2, 2}}};
  // The same with the padding made by Pad.
  const auto by_pad = [&](const Ints& pads) {
    const Array wide = output_of("Pad", {x, int_vector({0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3]})});
    return output_of("Conv", {wide, w, b}, common);
  };
  for (const Ints& pads : {Ints{0, 0, 1, 1}, Ints{1, 0, 0, 2}, Ints{2, 1, 0, 0}, Ints{1, 1, 1, 1}}) {
    NodeAttributes attributes = common;
    attributes.emplace_back("pads", pads);
    expect_equal(output_of("Conv", {x, w, b}, attributes), by_pad(pads), 1e-4);
  }
  NodeAttributes same = common;
  same.emplace_back("auto_pad", std::string("SAME_UPPER"));
  expect_equal(output_of("Conv", {x, w, b}, same), by_pad({1, 0, 1, 1}), 1e-4);

  // y[p] = sum of x[i] w[k] with p = 2 i + k - pad
  const Array line = floats({1, 2, 3}, {1, 1, 3}), kernel = floats({1, 10, 100}, {1, 1, 3});
  expect_equal(output_of("ConvTranspose", {line, kernel}, {{"strides", Ints{2}}}),
               floats({1, 10, 102, 20, 203, 30, 300}, {1, 1, 7}));
  expect_equal(output_of("ConvTranspose", {line, kernel},
                         {{"strides", Ints{2}}, {"pads", Ints{1, 1}}, {"output_padding", Ints{1}}}),
               floats({10, 102, 20, 203, 30, 300}, {1, 1, 6}));
  expect_equal(
      output_of("ConvTranspose", {line, kernel, floats({5}, {1})}, {{"strides", Ints{2}}, {"output_padding", Ints{3}}}),
      floats({6, 15, 107, 25, 208, 35, 305, 5, 5, 5}, {1, 1, 10}));
}

TEST_CASE("ONNX selection: TopK from below, Unique, NonMaxSuppression") {
  const Array x = floats({3, 1, 2, 1}, {1, 4});
  const Variables least = outputs_of("TopK", {x, int_vector({2})}, {{"largest", int64_t{0}}}, 2);
  expect_equal(least[0].array(), floats({1, 1}, {1, 2}));
  expect_equal(least[1].array(), int_vector({1, 3}).reshape({1, 2}));
  const Variables unique = outputs_of("Unique", {floats({2, 1, 1, 3, 4, 3}, {6})}, {}, 4);
  expect_equal(unique[0].array(), floats({1, 2, 3, 4}, {4}));
  expect_equal(unique[1].array(), int_vector({1, 0, 3, 4}));
  expect_equal(unique[2].array(), int_vector({1, 0, 0, 2, 3, 2}));
  expect_equal(unique[3].array(), int_vector({2, 1, 2, 1}));
  const Array boxes = floats({0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 10, 1, 11}, {1, 3, 4}),
              scores = floats({0.9f, 0.8f, 0.7f}, {1, 1, 3});
  expect_equal(output_of("NonMaxSuppression", {boxes, scores, int_vector({3}), floats({0.5f}, {1})}),
               int_vector({0, 0, 0, 0, 0, 2}).reshape({2, 3}));
  // 0.7 in float32 is less than in float64: an overlap that is just the threshold hides nothing.
  const Array one_in_another = floats({0, 0, 1, 10, 0, 0, 1, 7}, {1, 2, 4});
  expect_equal(output_of("NonMaxSuppression",
                         {one_in_another, floats({0.9f, 0.8f}, {1, 1, 2}), int_vector({2}), floats({0.7f}, {1})}),
               int_vector({0, 0, 0, 0, 0, 1}).reshape({2, 3}));
}

TEST_CASE("ONNX quantization: rounding half to even, saturation, by channel, a convolution") {
  const Array x = floats({0.5f, 1.5f, -300, 300}, {4}), one = floats({1}, {}), zero = full({}, 128, Dtype::uint8);
  expect_equal(output_of("QuantizeLinear", {x, one, zero}), floats({128, 130, 0, 255}, {4}).astype(Dtype::uint8));
  const Array q = floats({1, 2, 3, 4}, {2, 2}).astype(Dtype::int8);
  expect_equal(output_of("DequantizeLinear", {q, floats({0.5f, 2}, {2})}, {{"axis", int64_t{0}}}),
               floats({0.5f, 1, 6, 8}, {2, 2}));
  const Array image = floats({1, 2, 3, 4}, {1, 1, 2, 2}).astype(Dtype::uint8),
              w = floats({2}, {1, 1, 1, 1}).astype(Dtype::int8);
  const Array offset = full({}, 1, Dtype::uint8), none = zeros({}, Dtype::int8);
  expect_equal(output_of("ConvInteger", {image, w, offset}), floats({0, 2, 4, 6}, {1, 1, 2, 2}).astype(Dtype::int32));
  expect_equal(
      output_of("QLinearConv", {image, one, offset, w, one, none, floats({0.5f}, {}), full({}, 10, Dtype::uint8)}),
      floats({10, 14, 18, 22}, {1, 1, 2, 2}).astype(Dtype::uint8));
}

TEST_CASE("ONNX quantization: one scale or zero point for each row or column") {
  const auto bytes = [](const std::vector<float>& values, const Shape& shape) {
    return floats(values, shape).astype(Dtype::uint8);
  };
  const Array none = zeros({}, Dtype::uint8), one = floats({1}, {});
  expect_equal(
      output_of("MatMulInteger", {bytes({1, 2}, {1, 2}), bytes({5, 6, 7, 8}, {2, 2}), none, bytes({1, 2}, {1, 2})}),
      floats({16, 16}, {1, 2}).astype(Dtype::int32));
  // a stands for ((0, 10), (20, 40)), the products are ((30, 40), (140, 200)).
  const Array a = bytes({10, 20, 30, 40}, {2, 2}), b = bytes({1, 2, 3, 4}, {2, 2});
  expect_equal(output_of("QLinearMatMul", {a, floats({1, 2}, {2}), bytes({10, 20}, {2}), b, one, none,
                                           floats({10, 20}, {2}), bytes({5, 7}, {2})}),
               bytes({8, 9, 14, 17}, {2, 2}));
  CHECK_THROWS_WITH_AS(
      output_of("DequantizeLinear", {bytes({1, 2}, {1, 2}), floats({1, 2, 3}, {3})}, {{"axis", int64_t{0}}}),
      doctest::Contains("a scale or zero point has shape (3,), x (1, 2): there must be one number, or "
                        "one for each place of axis 0"),
      TypeError);
  CHECK_THROWS_AS(output_of("QuantizeLinear", {floats({1}, {1}), floats({1, 2, 3}, {3})}, {{"axis", int64_t{0}}}),
                  TypeError);
}

TEST_CASE("ONNX quantization: a session rounds to multiples of a negative scale") {
  random::seed(4);
  ModelBuilder model(21);
  model.input("x", {1, 2, 4, 4})
      .initializer("s", floats({0.02f}, {}))
      .initializer("minus", floats({-0.05f}, {}))
      .initializer("z", zeros({}, Dtype::int8))
      .initializer("w", integer_pattern({2, 2, 1, 1}, 1, Dtype::int8, -64, 8))
      .node("QuantizeLinear", {"x", "s", "z"}, {"xq"})
      .node("DequantizeLinear", {"xq", "s", "z"}, {"xd"})
      .node("DequantizeLinear", {"w", "s", "z"}, {"wd"})
      .node("Conv", {"xd", "wd"}, {"sums"})
      .node("Relu", {"sums"}, {"positive"})
      .node("QuantizeLinear", {"positive", "minus", "z"}, {"convolved"})
      .node("DequantizeLinear", {"convolved", "minus", "z"}, {"h"})
      .node("MaxPool", {"h"}, {"largest"}, {{"kernel_shape", Ints{2, 2}}})
      .node("QuantizeLinear", {"largest", "minus", "z"}, {"pooled"})
      .node("Add", {"xd", "xd"}, {"twice"})
      .node("Relu", {"twice"}, {"cut"})
      .node("QuantizeLinear", {"cut", "minus", "z"}, {"added"})
      .output("convolved")
      .output("pooled")
      .output("added");
  const Array x = drawn({1, 2, 4, 4});
  const Variables expected = onnx::load_bytes(model.bytes()).call({Variable(x, false)});
  const InferenceSession session(onnx::load_bytes(model.bytes()), {.shapes = {{x.shape()}}});
  const Arrays found = session.run({x});
  for (size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    CHECK((expected[i].array() <= 0).all());
    CHECK((expected[i].array() < 0).any());
    expect_equal(found[i], expected[i].array(), 1);
  }
}

TEST_CASE("ONNX STFT: frames of a real signal, with and without the axis of a number's parts") {
  random::seed(3);
  const int64_t samples = 21, step = 4, length = 8;
  const Array signal = drawn({2, samples}), window = drawn({length});
  const Array places = from_host(&step, {}, Dtype::int64);
  const Array y = output_of("STFT", {signal, places, window});
  REQUIRE(y.shape() == Shape{2, 4, 5, 2});
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t frame = 0; frame < 4; ++frame) {
      for (int64_t k = 0; k < 5; ++k) {
        double real = 0, imaginary = 0;
        for (int64_t i = 0; i < length; ++i) {
          const double x = signal.data<float>()[b * samples + frame * step + i] * window.data<float>()[i];
          const double turn = -2 * std::numbers::pi * static_cast<double>(k * i) / static_cast<double>(length);
          real += x * std::cos(turn);
          imaginary += x * std::sin(turn);
        }
        const float* const got = y.data<float>() + ((b * 4 + frame) * 5 + k) * 2;
        CHECK(got[0] == doctest::Approx(real).epsilon(1e-5));
        CHECK(got[1] == doctest::Approx(imaginary).epsilon(1e-5));
      }
    }
  }
  expect_equal(output_of("STFT", {signal.reshape({2, samples, 1}), places, window}), y);
  CHECK_THROWS_WITH_AS(output_of("STFT", {drawn({samples}), places, window}),
                       doctest::Contains("signal has shape (21,), expected (batch, samples[, parts])"), TypeError);
}

TEST_CASE("ONNX MatMulInteger and ConvInteger: exact sums beyond those of float32, in a session too") {
  // The largest products, of which 3000 exceed 2^27, and an odd one.
  Array a = full({2, 3000}, 255, Dtype::uint8), b = full({3000, 3}, -128, Dtype::int8);
  a.at(1).fill(254);
  b.slice(0, 7, 1).fill(101);
  const int64_t sum = 255 * (101 - 128 * 2999);
  const auto expected = [&](const Shape& shape) {
    return from_host(std::vector<int64_t>{sum, sum, sum, sum / 255 * 254, sum / 255 * 254, sum / 255 * 254}.data(),
                     shape, Dtype::int64)
        .astype(Dtype::int32);
  };
  const Array image = a.reshape({2, 3000, 1, 1}), kernels = b.transpose().contiguous().reshape({3, 3000, 1, 1});
  struct Case {
    const char* op;
    Array x, w, y;
  };
  for (const Case& c :
       {Case{"MatMulInteger", a, b, expected({2, 3})}, Case{"ConvInteger", image, kernels, expected({2, 3, 1, 1})}}) {
    CAPTURE(c.op);
    const auto [file, given] = file_of(c.op, {c.x, c.w}, {}, NodeForm{.constants = {1}});
    expect_equal(onnx::load_bytes(file).call(given)[0].array(), c.y, 0);
    const InferenceSession session(onnx::load_bytes(file), {.shapes = {{c.x.shape()}}, .input_dtypes = {Dtype::uint8}});
    expect_equal(session.run({c.x})[0], c.y, 0);
  }
}

TEST_CASE("ONNX QuantizeLinear: types without a dtype, of zero points that the graph computes") {
  const Array x = floats({-1e5, -3, 5, 1e5}, {4}), zero = zeros({}, Dtype::int32);
  struct Case {
    onnx::DataType type;
    std::vector<float> expected;
  };
  for (const Case& c :
       {Case{onnx::DataType::uint16, {0, 0, 5, 65535}}, Case{onnx::DataType::int16, {-32768, -3, 5, 32767}},
        Case{onnx::DataType::uint4, {0, 0, 5, 15}}, Case{onnx::DataType::int4, {-8, -3, 5, 7}}}) {
    CAPTURE(onnx::to_string(c.type));
    for (const bool folded : {true, false}) {
      CAPTURE(folded);
      ModelBuilder then_graph, model(21);
      then_graph.node("QuantizeLinear", {"x", "s", "z"}, {"q"}).output("q");
      model.input("x", {4}).initializer("s", full({}, 1, Dtype::float32));
      if (folded) {
        model.initializer("i", zero);
      } else {
        model.input("i", {}, onnx::DataType::int32);
      }
      model.node("Cast", {"i"}, {"c"}, {{"to", static_cast<int64_t>(c.type)}})
          .node("Identity", {"c"}, {"z"})
          .initializer("yes", full({}, 1, Dtype::bool_))
          .node("If", {"yes"}, {"y"}, {{"then_branch", then_graph.graph()}, {"else_branch", then_graph.graph()}})
          .node("Cast", {"y"}, {"out"}, {{"to", static_cast<int64_t>(onnx::DataType::float32)}})
          .output("out");
      Variables given{Variable(x, false)};
      if (!folded) given.push_back(Variable(zero, false));
      expect_equal(onnx::load_bytes(model.bytes()).call(given)[0].array(), floats(c.expected, {4}));
    }
  }
  // Names within a function are its own.
  ModelBuilder model;
  model
      .function("my", "Q", {"x", "s", "zp"}, {"y"}, {},
                {ModelBuilder::node_bytes("QuantizeLinear", {"x", "s", "zp"}, {"y"})})
      .input("x", {4})
      .initializer("s", full({}, 1, Dtype::float32))
      .initializer("zp", zeros({}, Dtype::uint8))
      .initializer("z8", zeros({}, Dtype::int8))
      .node("Q", {"x", "s", "z8"}, {"y"}, {}, "my")
      .output("y");
  expect_equal(onnx::load_bytes(model.bytes())(x).array(), floats({-128, -3, 5, 127}, {4}).astype(Dtype::int8));
}

TEST_CASE("ONNX integers: bounds that no double holds, results that wrap") {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const Array x = int_vector({-5, 0, 7, int64_t{1} << 40});
  const Array zero = zeros({}, Dtype::int64), most = full({}, kMost, Dtype::int64);
  for (const std::set<size_t>& constants : {std::set<size_t>{}, std::set<size_t>{1, 2}}) {
    const NodeForm form{.constants = constants};
    expect_equal(outputs_of("Clip", {x, zero, most}, {}, form)[0].array(), int_vector({0, 0, 7, int64_t{1} << 40}));
  }
  const Array padded = output_of("Pad", {int_vector({3}), int_vector({0, 1}), most});
  CHECK(padded.to_vector<int64_t>() == std::vector<int64_t>{3, kMost});

  // As files hold them: uint32 and int16.
  const auto computed = [](const std::string& op, onnx::DataType type, int64_t a, int64_t b,
                           const NodeAttributes& how) {
    ModelBuilder model;
    model.input("a", {1}, type).input("b", {1}, type).node(op, {"a", "b"}, {"y"}, how).output("y");
    const Dtype dtype = *onnx::dtype_for(type);
    const Variables given{int_vector({a}).astype(dtype), int_vector({b}).astype(dtype)};
    return onnx::load_bytes(model.bytes()).call(given)[0].array().to_vector<int64_t>().at(0);
  };
  CHECK(computed("BitShift", onnx::DataType::uint32, 0xFFFFFFFF, 1, {{"direction", std::string("LEFT")}}) ==
        0xFFFFFFFE);
  CHECK(computed("Add", onnx::DataType::int16, 32767, 1, {}) == -32768);
  CHECK(computed("Sub", onnx::DataType::uint16, 0, 1, {}) == 65535);
}

TEST_CASE("ONNX If: random numbers in a branch are drawn at each call") {
  ModelBuilder branch, model;
  branch.node("RandomNormal", {}, {"r"}, {{"shape", Ints{4}}}).output("r");
  model.input("x", {4})
      .initializer("yes", full({}, 1, Dtype::bool_))
      .node("If", {"yes"}, {"r"}, {{"then_branch", branch.graph()}, {"else_branch", branch.graph()}})
      .node("Add", {"x", "r"}, {"y"})
      .output("y");
  const onnx::Model loaded = onnx::load_bytes(model.bytes());
  const Array none = zeros({4});
  CHECK((loaded.call({none})[0].array() != loaded.call({none})[0].array()).any());
}

TEST_CASE("ONNX Bernoulli: what is certain is always drawn, in 16 bits too") {
  random::seed(1);
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32}) {
    CAPTURE(dtype);
    const Array certain = ones({1 << 15}, dtype);
    expect_equal(output_of("Bernoulli", {certain}), certain);
  }
}

TEST_CASE("ONNX pooling: windows beyond the padding behind, elements that equal the padding") {
  const Array x = floats({1, 2, 3, 4, 5}, {1, 1, 5});
  expect_equal(output_of("AveragePool", {x},
                         {{"kernel_shape", Ints{3}},
                          {"strides", Ints{2}},
                          {"pads", Ints{1, 0}},
                          {"ceil_mode", int64_t{1}},
                          {"count_include_pad", int64_t{1}}}),
               floats({1, 3, 4.5f}, {1, 1, 3}));
  const Array least = floats({0, 0, 0, 0}, {1, 1, 4}).astype(Dtype::uint8);
  const Variables found =
      outputs_of("MaxPool", {least}, {{"kernel_shape", Ints{3}}, {"strides", Ints{3}}, {"pads", Ints{1, 1}}}, 2);
  expect_equal(found[1].array(), int_vector({0, 2}).reshape({1, 1, 2}));
}

TEST_CASE("ONNX ConvTranspose: output_shape cuts the odd element in front unless auto_pad is SAME_UPPER") {
  const Array line = floats({1, 2, 3}, {1, 1, 3}), kernel = floats({1, 10, 100}, {1, 1, 3});
  const auto cut = [&](const std::string& auto_pad) {
    NodeAttributes attributes{{"strides", Ints{2}}, {"output_shape", Ints{6}}};
    if (!auto_pad.empty()) attributes.emplace_back("auto_pad", auto_pad);
    return output_of("ConvTranspose", {line, kernel}, attributes);
  };
  expect_equal(cut(""), floats({10, 102, 20, 203, 30, 300}, {1, 1, 6}));
  expect_equal(cut("SAME_LOWER"), cut(""));
  expect_equal(cut("SAME_UPPER"), floats({1, 10, 102, 20, 203, 30}, {1, 1, 6}));
}

TEST_CASE("ONNX Det and Gather: no elements, no axes, indices out of range") {
  expect_equal(output_of("Det", {zeros({2, 0, 0})}), floats({1, 1}, {2}));
  expect_equal(output_of("Det", {floats({2, 0, 0, 3, 1, 2, 3, 4}, {2, 2, 2})}), floats({6, -2}, {2}));
  CHECK_THROWS_WITH_AS(output_of("Det", {floats({1}, {1})}), doctest::Contains("at least 2 axes"), TypeError);
  const Array table = floats({1, 2, 3, 4}, {2, 2});
  expect_equal(output_of("Gather", {table, int_vector({-2, 1})}), table);
  for (const int64_t index : {-3, -4, 2}) {
    CAPTURE(index);
    CHECK_THROWS_AS(output_of("Gather", {table, int_vector({index})}), IndexError);
  }
}

TEST_CASE("ONNX RNN: numbers of activations, one for each or for each that takes one") {
  // One step of x = 1 with weights of 1: the activation of 1 itself, for each direction.
  const Array one = full({1, 1, 1}, 1, Dtype::float32), both = full({2, 1, 1}, 1, Dtype::float32);
  const auto last = [&](const std::vector<std::string>& names, const std::vector<float>& alphas) {
    ModelBuilder model;
    model.input("x", {1, 1, 1}).initializer("w", both).initializer("r", both);
    model.node("RNN", {"x", "w", "r"}, {"", "h"},
               {{"hidden_size", int64_t{1}},
                {"direction", std::string("bidirectional")},
                {"activations", names},
                {"activation_alpha", alphas}});
    model.output("h");
    return onnx::load_bytes(model.bytes())(one).array();
  };
  expect_equal(last({"Relu", "Affine"}, {3}), floats({1, 3}, {2, 1, 1}));
  expect_equal(last({"Relu", "Affine"}, {5, 3}), floats({1, 3}, {2, 1, 1}));
  expect_equal(last({"Affine", "Affine"}, {5, 3}), floats({5, 3}, {2, 1, 1}));
}

TEST_CASE("ONNX Resize: one scale for all axes, tf_half_pixel_for_nn, scales of float32") {
  const auto resized = [](const Array& x, const Array& scales, const Array& sizes, NodeAttributes attributes) {
    return output_of("Resize", {x, Array(), scales, sizes}, attributes, 19);
  };
  const Array x = floats({0, 1, 2, 3, 4, 5}, {1, 6});
  expect_equal(resized(x, Array(), int_vector({1, 4}),
                       {{"mode", std::string("linear")},
                        {"coordinate_transformation_mode", std::string("asymmetric")},
                        {"keep_aspect_ratio_policy", std::string("not_larger")}}),
               floats({0, 1.5f, 3, 4.5f}, {1, 4}));
  const Array odd = floats({0, 1, 2}, {3, 1}).broadcast_to({3, 5}).contiguous();
  // The scale is 7 / 5 for both axes, 4 / 3 that of the rounded sizes.
  expect_equal(resized(odd, Array(), int_vector({3, 7}),
                       {{"mode", std::string("linear")},
                        {"coordinate_transformation_mode", std::string("asymmetric")},
                        {"keep_aspect_ratio_policy", std::string("not_smaller")}})
                   .slice(1, 0, 1),
               floats({0, 5 / 7.0f, 10 / 7.0f, 2}, {4, 1}));
  expect_equal(resized(floats({0, 1, 2, 3}, {4}), floats({0.5f}, {1}), Array(),
                       {{"coordinate_transformation_mode", std::string("tf_half_pixel_for_nn")},
                        {"nearest_mode", std::string("floor")}}),
               floats({1, 3}, {2}));
  CHECK(resized(arange(10, Dtype::float32), floats({0.7f}, {1}), Array(), {}).shape() == Shape{7});
}

TEST_CASE("ONNX Resize of integers cuts fractions off") {
  const Array scales = array<float>({1, 1, 1, 2});
  const auto resized = [&](const Array& x, const std::string& mode) {
    return output_of("Resize", {x, Array(), scales}, {{"mode", mode}}, 19);
  };
  const Array x = array<float>({0, 10, 255}).reshape({1, 1, 1, 3});
  const Array linear = resized(x.astype(Dtype::uint8), "linear");
  CHECK(linear.dtype() == Dtype::uint8);
  CHECK(linear.to_vector<int>() == std::vector<int>{0, 2, 7, 71, 193, 255});
  const Array cubic = resized((x - 128).astype(Dtype::int8), "cubic");
  CHECK(cubic.to_vector<int>().front() == -128);
  CHECK(cubic.to_vector<int>().back() == 127);
}

TEST_CASE("ONNX Resize of opset 10 takes the element behind a place where x shrinks") {
  // As ONNX Runtime 1.32 does.
  const auto resized = [](const Shape& shape, const Array& scales) {
    const Array x = arange(numel(shape), Dtype::float32).reshape(shape);
    return output_of("Resize", {x, scales}, {{"mode", std::string("nearest")}}, 10);
  };
  expect_equal(resized({1, 1, 2, 4}, floats({1, 1, 0.6f, 0.6f}, {4})), floats({0, 2}, {1, 1, 1, 2}));
  expect_equal(resized({1, 1, 3, 5}, floats({1, 1, 1.7f, 0.6f}, {4})),
               floats({0, 2, 4, 0, 2, 4, 5, 7, 9, 5, 7, 9, 10, 12, 14}, {1, 1, 5, 3}));
}

TEST_CASE("ONNX RoiAlign: regions less than a pixel long") {
  // A plane, of which align takes the mean: its value in the middle of a region, moved by half a pixel.
  const Array x = arange(16, Dtype::float32).reshape({1, 1, 4, 4});
  const Array rois = floats({1.5f, 1.5f, 2, 2.5f}, {1, 4}), images = int_vector({0});
  const auto aligned = [&](const std::string& mode) {
    return output_of("RoiAlign", {x, rois, images},
                     {{"sampling_ratio", int64_t{2}}, {"coordinate_transformation_mode", mode}});
  };
  expect_equal(aligned("half_pixel"), floats({4 * 1.5f + 1.25f}, {1, 1, 1, 1}));
  expect_equal(aligned("output_half_pixel"), floats({4 * 2 + 2}, {1, 1, 1, 1}));
}

TEST_CASE("ONNX RoiAlign: empty regions and bins outside the image are 0") {
  const Array x = ones({1, 2, 4, 4}), empty_ones = floats({1, 1, 1, 3, 3, 2, 1, 2.5f, 2, 3, 3, 1}, {3, 4});
  for (const std::string mode : {"avg", "max"}) {
    CAPTURE(mode);
    expect_equal(output_of("RoiAlign", {x, empty_ones, int_vector({0, 0, 0})}, {{"mode", mode}}), zeros({3, 2, 1, 1}));
    expect_equal(output_of("RoiAlign", {x, floats({20, 20, 24, 24}, {1, 4}), int_vector({0})}, {{"mode", mode}}),
                 zeros({1, 2, 1, 1}));
  }
}

TEST_CASE("ONNX reductions and normalizations: no elements, NaN, half precision, scales of other shapes") {
  for (const auto& [dtype, least, most] : {std::tuple(Dtype::uint8, 0, 255), std::tuple(Dtype::int8, -128, 127)}) {
    const Array none = zeros({0}, dtype);
    expect_equal(output_of("ReduceMin", {none}, {{"keepdims", int64_t{0}}}), full({}, most, dtype));
    expect_equal(output_of("ReduceMax", {none}, {{"keepdims", int64_t{0}}}), full({}, least, dtype));
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Variables smallest =
      outputs_of("TopK", {floats({3, nan, 1}, {3}), int_vector({2})}, {{"largest", int64_t{0}}}, 2);
  expect_equal(smallest[0].array(), floats({1, 3}, {2}));
  expect_equal(smallest[1].array(), int_vector({2, 0}));

  const Array large = full({2, 2, 2}, 300, Dtype::float16);
  expect_equal(output_of("RMSNormalization", {large, full({2, 2}, 2, Dtype::float16)}, {{"axis", int64_t{1}}}, 23),
               full({2, 2, 2}, 2, Dtype::float16), 1e-2);

  const Array x = pattern({2, 3, 4}, 1), scale = pattern({4}, 2), bias = pattern({4}, 3);
  const Array plain = output_of("LayerNormalization", {x, scale, bias});
  expect_equal(output_of("LayerNormalization", {x, scale.reshape({1, 1, 4}), bias.reshape({1, 4})}), plain);
  const auto full_shape = [](const Array& p) { return p.broadcast_to({2, 3, 4}).contiguous(); };
  expect_equal(output_of("LayerNormalization", {x, full_shape(scale), full_shape(bias)}), plain);
}

TEST_CASE("ONNX SplitToSequence: no parts of an axis without elements") {
  ModelBuilder model;
  model.input("x", {0, 2})
      .initializer("split", zeros({0}, Dtype::int64))
      .node("SplitToSequence", {"x", "split"}, {"list"}, {{"axis", int64_t{0}}})
      .node("SequenceLength", {"list"}, {"n"})
      .output("n");
  CHECK(onnx::load_bytes(model.bytes())(zeros({0, 2})).array().item<int64_t>() == 0);
}
