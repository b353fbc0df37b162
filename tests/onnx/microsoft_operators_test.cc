#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/gelu.h"
#include "kusari/framework/functions/activation/silu.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/normalization/group_normalization.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/tests/onnx/node_outputs.h"

// Operators of the domain com.microsoft. Expected numbers without another source are what ONNX Runtime 1.32 gives.

using namespace kusari;
namespace F = kusari::functions;

namespace {

using MicrosoftAttributes = ModelBuilder::Attributes;

Variables microsoft_outputs(const std::string& op, const std::vector<Array>& inputs,
                            const MicrosoftAttributes& attributes = {}, size_t count = 1) {
  return outputs_of(op, inputs, attributes, {.outputs = count, .domain = "com.microsoft"});
}
Array microsoft_output(const std::string& op, const std::vector<Array>& inputs,
                       const MicrosoftAttributes& attributes = {}) {
  return microsoft_outputs(op, inputs, attributes)[0].array();
}
Array int32_rows(const std::vector<int64_t>& values) {
  return int_vector(values).astype(Dtype::int32).reshape({1, static_cast<int64_t>(values.size())});
}
Array with_channels_last(const Array& x) { return x.transpose({0, 2, 3, 1}).contiguous(); }

}  // namespace

TEST_CASE("com.microsoft: MatMulNBits") {
  const std::vector<Array> inputs{pattern({2, 20}, 1),
                                  integer_pattern({2, 2, 8}, 2, Dtype::uint8, 0, 15),
                                  pattern({2, 2}, 3),
                                  integer_pattern({2, 1}, 4, Dtype::uint8, 0, 15),
                                  Array(),
                                  pattern({2}, 5)};
  const MicrosoftAttributes attributes{
      {"K", int64_t{20}}, {"N", int64_t{2}}, {"bits", int64_t{4}}, {"block_size", int64_t{16}}};
  const Array expected = floats({7.28125f, -9.25f, -2.40625f, 15.7031f}, {2, 2});
  expect_equal(microsoft_output("MatMulNBits", inputs, attributes), expected, 1e-4);
  // A session works the weights out once.
  const auto [file, given] =
      file_of("MatMulNBits", inputs, attributes, {.domain = "com.microsoft", .constants = {1, 2, 3, 5}});
  const InferenceSession session(onnx::load_bytes(file), {.shapes = {{inputs[0].shape()}}});
  expect_equal(session.run({inputs[0]})[0], expected, 1e-4);
  CHECK(session.summary().find("forward: 1\n") != std::string::npos);

  std::vector<Array> reordered = inputs;
  reordered[4] = zeros({20}, Dtype::int32);
  CHECK_THROWS_WITH_AS(microsoft_output("MatMulNBits", reordered, attributes),
                       doctest::Contains("its input g_idx is given: blocks in another order are not supported"),
                       ValueError);
  std::vector<Array> shorter = inputs;
  shorter[1] = inputs[1].slice(2, 0, 4);
  CHECK_THROWS_WITH_AS(
      microsoft_output("MatMulNBits", shorter, attributes),
      doctest::Contains("B has shape (2, 2, 4) and dtype uint8: it must have shape (2, 2, 8) and dtype uint8"),
      TypeError);
}

TEST_CASE("com.microsoft: GatherBlockQuantized takes rows, then their numbers") {
  const std::vector<Array> inputs{integer_pattern({3, 16}, 2, Dtype::uint8, 0, 15), int_vector({2, 0}),
                                  pattern({3, 2}, 3), integer_pattern({3, 1}, 4, Dtype::uint8, 0, 15)};
  const Array y = outputs_of("GatherBlockQuantized", inputs, {{"block_size", int64_t{16}}},
                             {.domain = "com.microsoft", .constants = {0, 2, 3}})[0]
                      .array();
  expect_equal(y,
               floats({3,      10,    13,     0,      6,     7,      -1,     14,     9,      4,    2,      11,    12,
                       1,      5,     8,      3.5f,   3.5f,  1.25f,  2,      3,      0.25f,  0.5f, 2.75f,  2.25f, 1,
                       -0.25f, 3.5f,  1.5f,   1.75f,  3.25f, 0,      3,      2.625f, 5.625f, 0,    1.875f, 3.75f, 4.5f,
                       1.125f, 0.75f, 4.875f, 3.375f, 2.25f, 5.625f, 5.625f, 2.25f,  3.375f, 1,    6.5f,   6,     1.5f,
                       2.5f,   5,     7.5f,   0,      4,     3.5f,   0.5f,   7,      5.5f,   2,    2,      5.5f},
                      {2, 32}));
}

TEST_CASE("com.microsoft: EmbedLayerNormalization, and statistics of SimplifiedLayerNormalization") {
  const Variables out =
      microsoft_outputs("EmbedLayerNormalization",
                        {int32_rows({1, 0}), int32_rows({0, 1}), pattern({3, 4}, 1), pattern({2, 4}, 2),
                         pattern({2, 4}, 3), pattern({4}, 4), pattern({4}, 5), int32_rows({1, 0})},
                        {}, 3);
  expect_equal(out[0].array(),
               floats({1.20957f, -0.5f, -0.773931f, -1.07196f, -0.467477f, -0.5f, 0.596359f, -0.353224f}, {1, 2, 4}));
  expect_equal(out[1].array(), int_vector({1}).astype(Dtype::int32));
  const Variables rms =
      outputs_of("SimplifiedLayerNormalization", {floats({3, 4, 0, 0}, {1, 4}), ones({4}, Dtype::float32)},
                 {{"epsilon", 0.0f}}, {.outputs = 2});
  expect_equal(rms[0].array(), floats({1.2f, 1.6f, 0, 0}, {1, 4}));
  expect_equal(rms[1].array(), floats({0.4f}, {1, 1}));
}

TEST_CASE("com.microsoft: SkipSimplifiedLayerNormalization adds 1e-12 to squares unless told otherwise") {
  const Array x = floats({1e-3f, -1e-3f}, {1, 1, 2}), none = zeros({1, 1, 2}, Dtype::float32);
  expect_equal(microsoft_output("SkipSimplifiedLayerNormalization", {x, none, ones({2}, Dtype::float32)}),
               floats({1, -1}, {1, 1, 2}), 1e-5);
}

TEST_CASE("com.microsoft: products with a function behind them") {
  const Array x = pattern({2, 3}, 1), w = pattern({3, 2}, 2), b = pattern({2}, 3);
  expect_equal(microsoft_output("FusedGemm", {x, w, b}, {{"activation", "LeakyRelu"}, {"activation_alpha", 0.25f}}),
               floats({-0.0742188f, 0.796875f, -0.234375f, -0.0976562f}, {2, 2}));
  CHECK_THROWS_WITH_AS(
      microsoft_output("FusedGemm", {x, w, b}, {{"activation", "Cube"}}),
      doctest::Contains("FusedGemm (opset 1, domain 'com.microsoft'): its activation 'Cube' is not known"), ValueError);
  expect_equal(
      microsoft_output("FusedMatMulActivation", {x, w}, {{"activation", "Tanh"}, {"alpha", 2.0f}}),
      outputs_of("Tanh", {microsoft_output("FusedMatMul", {x, w}, {{"alpha", 2.0f}})}, {}, NodeForm{})[0].array());
  // The first axis of what has its rows before the batch comes to the place before last, then trans* turns.
  const Array p = pattern({2, 3, 4, 5}, 6), q = pattern({2, 3, 5, 6}, 7);
  const Array product = outputs_of("MatMul", {p, q}, {}, NodeForm{})[0].array();
  const MicrosoftAttributes rows_first{{"transBatchA", int64_t{1}}, {"transBatchB", int64_t{1}}};
  const Array p_rows = p.transpose({2, 0, 1, 3}).contiguous(), q_rows = q.transpose({2, 0, 1, 3}).contiguous();
  expect_equal(microsoft_output("FusedMatMul", {p_rows, q_rows}, rows_first), product);
  MicrosoftAttributes all = rows_first;
  all.insert(all.end(), {{"transA", int64_t{1}}, {"transB", int64_t{1}}});
  expect_equal(microsoft_output("FusedMatMul",
                                {p.transpose({3, 0, 1, 2}).contiguous(), q.transpose({3, 0, 1, 2}).contiguous()}, all),
               product);
  expect_equal(microsoft_output("GemmFastGelu", {x, w, b}),
               microsoft_output("FastGelu", {microsoft_output("FusedGemm", {x, w, b})}));
}

TEST_CASE("com.microsoft: images with channels last are those with channels first, moved") {
  const Array x = pattern({2, 4, 5, 6}, 1), w = pattern({6, 2, 3, 3}, 2), b = pattern({6}, 3),
              z = pattern({2, 6, 5, 6}, 4);
  const MicrosoftAttributes windows{{"pads", ModelBuilder::Ints{1, 1, 1, 1}}, {"group", int64_t{2}}};
  MicrosoftAttributes fused = windows;
  fused.emplace_back("activation", "Relu");
  expect_equal(microsoft_output("NhwcConv", {with_channels_last(x), w, b}, windows),
               with_channels_last(outputs_of("Conv", {x, w, b}, windows, NodeForm{})[0].array()));
  expect_equal(microsoft_output("NhwcFusedConv", {with_channels_last(x), w, b, with_channels_last(z)}, fused),
               with_channels_last(microsoft_output("FusedConv", {x, w, b, z}, fused)));
  const Array bytes = integer_pattern({1, 2, 4, 4}, 1, Dtype::uint8, 0, 15);
  const MicrosoftAttributes pool{{"kernel_shape", ModelBuilder::Ints{2, 3}}, {"strides", ModelBuilder::Ints{2, 1}}};
  expect_equal(microsoft_output("NhwcMaxPool", {with_channels_last(bytes)}, pool),
               with_channels_last(outputs_of("MaxPool", {bytes}, pool, NodeForm{})[0].array()));

  const Array gamma = pattern({4}, 5), beta = pattern({4}, 6), skip = pattern({2, 4}, 7);
  const auto variable = [](const Array& array) { return Variable(array, false); };
  const Variable sum = variable(x + skip.reshape({2, 4, 1, 1}));
  const Variable normalized = F::group_normalization(sum, 2, variable(gamma), variable(beta), 1e-5);
  const Variables out = microsoft_outputs("SkipGroupNorm", {with_channels_last(x), gamma, beta, skip},
                                          {{"groups", int64_t{2}}, {"activation", int64_t{1}}}, 2);
  expect_equal(out[0].array(), with_channels_last(F::silu(normalized).array()));
  expect_equal(out[1].array(), with_channels_last(sum.array()));
  expect_equal(microsoft_output("GroupNorm", {sum.array(), gamma, beta},
                                {{"groups", int64_t{2}}, {"activation", int64_t{0}}, {"channels_last", int64_t{0}}}),
               normalized.array());
}

TEST_CASE("com.microsoft: small operators") {
  const Array x = pattern({2, 3, 4}, 1), b = pattern({4}, 2);
  const Array sum = x + b;
  expect_equal(microsoft_output("BiasAdd", {x, b, x}), sum + x);
  expect_equal(microsoft_output("BiasSplitGelu", {x, b}),
               sum.slice(2, 0, 2) * F::gelu(Variable(sum.slice(2, 2, 2), false)).array());
  expect_equal(microsoft_output("BiasSoftmax", {x, b}, {{"axis", int64_t{2}}, {"is_inner_broadcast", int64_t{0}}}),
               outputs_of("Softmax", {sum}, {}, NodeForm{})[0].array());
  expect_equal(microsoft_output("ExpandDims", {b, int32_rows({1}).reshape({})}), b.reshape({4, 1}));
  expect_equal(microsoft_output("Inverse", {floats({2, 0, 0, 4}, {1, 2, 2})}), floats({0.5f, 0, 0, 0.25f}, {1, 2, 2}));
  expect_equal(microsoft_output("CDist", {pattern({2, 3}, 1), pattern({2, 3}, 2)}, {{"metric", "euclidean"}}),
               floats({1.77218f, 0, 1.87916f, 1.77218f}, {2, 2}));
  const Variables unique = microsoft_outputs("Unique", {floats({2, 1, 1, 3}, {4})}, {}, 3);
  expect_equal(unique[0].array(), floats({2, 1, 3}, {3}));
  expect_equal(unique[1].array(), int_vector({0, 1, 1, 2}));
  expect_equal(unique[2].array(), int_vector({1, 2, 1}));
  expect_equal(microsoft_output("Range", {floats({1}, {}), floats({4}, {})}), floats({1, 2, 3}, {3}));
  expect_equal(microsoft_output("Trilu", {floats({1, 2, 3, 4}, {2, 2})}, {{"upper", int64_t{0}}}),
               floats({1, 0, 3, 4}, {2, 2}));
}
