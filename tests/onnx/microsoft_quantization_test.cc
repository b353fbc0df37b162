#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/tests/onnx/node_outputs.h"

// Operators of integers of the domain com.microsoft. Expected numbers without another source are what ONNX Runtime 1.32
// gives.

using namespace kusari;

namespace {

using IntegerAttributes = ModelBuilder::Attributes;

const Dtype kU8 = Dtype::uint8, kS8 = Dtype::int8;

Array of_integers(const std::string& op, const std::vector<Array>& inputs, const IntegerAttributes& attributes = {}) {
  return outputs_of(op, inputs, attributes, {.domain = "com.microsoft"})[0].array();
}
Array real_number(float value) { return floats({value}, {}); }
Array u8(int64_t value) { return full({}, value, kU8); }
Array bytes(const std::vector<float>& values, const Shape& shape) { return floats(values, shape).astype(kU8); }

}  // namespace

TEST_CASE("com.microsoft: DynamicQuantizeLSTM rounds inputs and states") {
  const Array w = integer_pattern({2, 3, 8}, 2, kS8, -80, 10), r = integer_pattern({2, 2, 8}, 3, kS8, -80, 10);
  const Array w_scale = floats({0.01f, 0.02f}, {2}), r_scale = floats({0.02f, 0.01f}, {2});
  const Array w_zero = floats({3, 0}, {2}).astype(kS8), r_zero = zeros({2}, kS8);
  const std::vector<Array> inputs{pattern({3, 1, 3}, 1),
                                  w,
                                  r,
                                  pattern({2, 16}, 4),
                                  Array(),
                                  Array(),
                                  Array(),
                                  Array(),
                                  w_scale,
                                  w_zero,
                                  r_scale,
                                  r_zero};
  const IntegerAttributes attributes{{"direction", "bidirectional"}, {"hidden_size", int64_t{2}}};
  const Variables out =
      outputs_of("DynamicQuantizeLSTM", inputs, attributes, {.outputs = 3, .domain = "com.microsoft"});
  expect_equal(out[0].array(), floats({0.0484419f, -0.00884788f, -0.0672314f, 0.0622398f, 0.140118f, -0.0151366f,
                                       -0.76499f, 0.0276694f, 0.152502f, 0.16477f, -0.372075f, 0.00892266f},
                                      {3, 2, 1, 2}));
  expect_equal(out[2].array(), floats({0.393326f, 0.443576f, -0.137459f, 0.132922f}, {2, 1, 2}));
  CHECK_THROWS_WITH_AS(
      of_integers("DynamicQuantizeLSTM", {inputs[0], w, r}, attributes),
      doctest::Contains(
          "DynamicQuantizeLSTM (opset 1, domain 'com.microsoft'): it has 3 inputs: there must be at least 12"),
      ValueError);
}

TEST_CASE("com.microsoft: products of integers") {
  const Array scales = floats({0.02f, 0.01f}, {2}), bias = pattern({2}, 5);
  expect_equal(of_integers("DynamicQuantizeMatMul",
                           {pattern({2, 3}, 1), integer_pattern({3, 2}, 2, kS8, -64, 8), scales, ones({2}, kS8), bias}),
               floats({0.847176f, -0.313059f, 0.0383334f, -1.06721f}, {2, 2}));
  const Array a = integer_pattern({2, 3}, 1, kU8, 10, 12), b = integer_pattern({3, 2}, 2, kU8, 0, 15);
  expect_equal(
      of_integers("MatMulIntegerToFloat", {a, b, real_number(0.02f), scales, u8(120), bytes({128, 100}, {2}), bias}),
      floats({1.6716f, -0.518f, -1.0884f, -3.494f}, {2, 2}));
  const Array w = integer_pattern({4, 3}, 2, kS8, -64, 8), c = int_vector({100, -200, 300, 50}).astype(Dtype::int32);
  expect_equal(of_integers("QGemm",
                           {a, real_number(0.02f), u8(120), w, floats({0.02f, 0.01f, 0.02f, 0.03f}, {4}),
                            zeros({4}, kS8), c, real_number(0.05f), u8(128)},
                           {{"transB", int64_t{1}}}),
               bytes({93, 147, 115, 83, 101, 117, 211, 124}, {2, 4}), 1);
}

TEST_CASE("com.microsoft: scales and zero points of columns may have the matrix's axes") {
  const Array b = integer_pattern({3, 3}, 2, kS8, -64, 8), bias = pattern({3}, 5), x = pattern({2, 3}, 1);
  const Array scale = floats({0.02f, 0.01f, 0.03f}, {3}), zero = floats({1, -3, 7}, {3}).astype(kS8);
  const auto both = [&](const char* op, auto inputs) {
    expect_equal(of_integers(op, inputs(scale.reshape({1, 3}), zero.reshape({1, 3}))),
                 of_integers(op, inputs(scale, zero)), 1e-6);
  };
  using Inputs = std::vector<Array>;
  both("DynamicQuantizeMatMul", [&](const Array& s, const Array& z) { return Inputs{x, b, s, z, bias}; });
  const Array a = integer_pattern({2, 3}, 1, kU8, 10, 12);
  both("MatMulIntegerToFloat",
       [&](const Array& s, const Array& z) { return Inputs{a, b, real_number(0.02f), s, u8(120), z, bias}; });
}

TEST_CASE("com.microsoft: QLinearSoftmax is along the last axis unless told otherwise") {
  const Array x = integer_pattern({2, 2, 2}, 1, kU8, 0, 15);
  const std::vector<Array> inputs{x, real_number(0.02f), u8(100), real_number(1 / 256.0f), u8(0)};
  for (const int64_t opset : {12, 13}) {
    CAPTURE(opset);
    expect_equal(of_integers("QLinearSoftmax", inputs, {{"opset", opset}}),
                 of_integers("QLinearSoftmax", inputs, {{"opset", opset}, {"axis", int64_t{2}}}), 0);
  }
}

TEST_CASE("com.microsoft: a session multiplies integers that are quantized at each call") {
  for (const int64_t rows : {1, 6}) {
    CAPTURE(rows);
    const Array x = pattern({rows, 64}, 1);
    const std::vector<Array> inputs{x, integer_pattern({64, 32}, 2, kS8, -64, 8), floats({0.01f}, {}), Array(),
                                    pattern({32}, 3)};
    const auto [file, given] =
        file_of("DynamicQuantizeMatMul", inputs, {}, {.domain = "com.microsoft", .constants = {1, 2, 4}});
    const InferenceSession session(onnx::load_bytes(file), {.shapes = {{x.shape()}}});
    CHECK(session.summary().find("made 1 convolutions of integers") != std::string::npos);
    expect_equal(session.run({x})[0], onnx::load_bytes(file).call(given)[0].array(), 1e-4);
    // The scale is that of the call; twice the numbers are rounded to the same integers.
    expect_equal(session.run({x * 2})[0] - inputs[4], (session.run({x})[0] - inputs[4]) * 2, 1e-4);
  }
}

TEST_CASE("com.microsoft: pointwise operators of integers") {
  const Array a = integer_pattern({2, 4}, 1, kU8, 0, 15), b = integer_pattern({4}, 2, kU8, 0, 15);
  const auto both = [&](float scale) {
    return std::vector<Array>{a,       real_number(0.05f), u8(100), b, real_number(0.03f),
                              u8(120), real_number(scale), u8(128)};
  };
  const auto one = [&](float x_scale, float scale, int64_t zero) {
    return std::vector<Array>{a, real_number(x_scale), u8(100), real_number(scale), u8(zero)};
  };
  struct Case {
    const char* op;
    std::vector<Array> inputs;
    IntegerAttributes attributes;
    std::vector<float> expected;
  };
  const int64_t softmax_axis = 0;
  for (const Case& c :
       {Case{"QLinearAdd", both(0.08f), {}, {193, 139, 148, 94, 137, 242, 92, 197}},
        {"QLinearMul", both(0.2f), {}, {139, 78, 117, 72, 129, 227, 137, 165}},
        {"QLinearSigmoid", one(0.05f, 1 / 256.0f, 0), {}, {254, 15, 237, 2, 144, 255, 31, 246}},
        {"QLinearLeakyRelu", one(0.05f, 0.04f, 90), {{"alpha", 0.25f}}, {209, 73, 152, 59, 96, 228, 78, 171}},
        {"QLinearSoftmax",
         one(0.02f, 1 / 256.0f, 0),
         {{"opset", int64_t{13}}, {"axis", softmax_axis}},
         {220, 9, 220, 9, 36, 247, 36, 247}},
        {"QLinearSoftmax",
         one(0.02f, 1 / 256.0f, 0),
         {{"opset", int64_t{12}}, {"axis", softmax_axis}},
         {71, 4, 29, 1, 12, 96, 5, 39}},
        {"QLinearWhere",
         {floats({1, 0, 1, 0}, {4}) != 0, a, real_number(0.05f), u8(100), b, real_number(0.03f), u8(120),
          real_number(0.06f), u8(128)},
         {},
         {207, 188, 170, 166, 132, 188, 95, 166}}}) {
    CAPTURE(c.op);
    expect_equal(of_integers(c.op, c.inputs, c.attributes), bytes(c.expected, {2, 4}), 1);
  }
  expect_equal(of_integers("QLinearConcat",
                           {real_number(0.06f), u8(128), a, real_number(0.05f), u8(100),
                            integer_pattern({2, 1}, 2, kU8, 0, 15), real_number(0.03f), u8(120)},
                           {{"axis", int64_t{1}}}),
               bytes({207, 82, 170, 45, 136, 132, 220, 95, 182, 188}, {2, 5}), 1);
  CHECK_THROWS_WITH_AS(
      of_integers("QLinearConcat", {real_number(1), u8(0), a, real_number(1), u8(0), a}, {{"axis", int64_t{0}}}),
      doctest::Contains("it has 6 inputs: there must be two, and three for each array"), ValueError);
}

TEST_CASE("com.microsoft: pooling of integers, channels last") {
  const std::vector<Array> inputs{integer_pattern({1, 3, 3, 2}, 1, kU8, 0, 15), real_number(0.05f), u8(100),
                                  real_number(0.04f), u8(90)};
  expect_equal(of_integers("QLinearAveragePool", inputs,
                           {{"channels_last", int64_t{1}},
                            {"kernel_shape", ModelBuilder::Ints{2, 2}},
                            {"pads", ModelBuilder::Ints{1, 1, 0, 0}}}),
               bytes({209, 21, 181, 0, 124, 96, 124, 96, 96, 68, 120, 92, 115, 87, 87, 138, 110, 162}, {1, 3, 3, 2}),
               1);
  expect_equal(of_integers("QLinearGlobalAveragePool", inputs, {{"channels_last", int64_t{1}}}),
               bytes({125, 115}, {1, 1, 1, 2}), 1);
}

TEST_CASE("com.microsoft: QLinearAveragePool with count_include_pad divides by whole windows") {
  const std::vector<Array> inputs{integer_pattern({1, 1, 5, 5}, 1, kU8, 0, 15), real_number(0.05f), u8(100),
                                  real_number(0.04f), u8(90)};
  const auto pooled = [&](int64_t with_padding) {
    return of_integers("QLinearAveragePool", inputs,
                       {{"kernel_shape", ModelBuilder::Ints{2, 2}},
                        {"strides", ModelBuilder::Ints{2, 2}},
                        {"ceil_mode", int64_t{1}},
                        {"count_include_pad", with_padding}});
  };
  expect_equal(pooled(1), bytes({124, 68, 98, 162, 106, 117, 60, 112, 110}, {1, 1, 3, 3}), 1);
  expect_equal(pooled(0), bytes({124, 68, 106, 162, 106, 143, 31, 134, 171}, {1, 1, 3, 3}), 1);
}

TEST_CASE("com.microsoft: QEmbedLayerNormalization has tables of integers, with segments or without") {
  const auto table = [](const Shape& shape, int64_t seed) { return integer_pattern(shape, seed, kU8, 0, 15); };
  const Array ids = int_vector({1, 0}).astype(Dtype::int32).reshape({1, 2});
  std::vector<Array> inputs{ids,
                            int_vector({0, 1}).astype(Dtype::int32).reshape({1, 2}),
                            table({3, 4}, 1),
                            table({2, 4}, 2),
                            table({2, 4}, 3),
                            table({4}, 4),
                            table({4}, 5),
                            ids};
  for (const float scale : {0.01f, 0.02f, 0.03f, 0.005f, 0.004f}) inputs.push_back(real_number(scale));
  for (const int64_t zero : {120, 100, 128, 0, 130}) inputs.push_back(u8(zero));
  const auto outputs = [&] {
    return outputs_of("QEmbedLayerNormalization", inputs, {}, {.outputs = 2, .domain = "com.microsoft"});
  };
  const Variables out = outputs();
  expect_equal(
      out[0].array(),
      floats({0.280608f, 0.507839f, -1.337197f, -0.263040f, 0.424355f, -0.431789f, 0.424605f, -0.981776f}, {1, 2, 4}));
  expect_equal(out[1].array(), int_vector({1}).astype(Dtype::int32));

  // Segments whose rows stand for 0 are as good as none.
  inputs[4] = full({2, 4}, 128, kU8);
  const Array zeros_added = outputs()[0].array();
  inputs[1] = inputs[4] = inputs[10] = inputs[15] = Array();
  expect_equal(outputs()[0].array(), zeros_added);
}
