#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/tests/onnx/node_outputs.h"

// Attention of the domain com.microsoft. Expected numbers without another source are what ONNX Runtime 1.32 gives.

using namespace kusari;

namespace {

using HeadOptions = ModelBuilder::Attributes;

Arrays attention_outputs(const std::string& op, const std::vector<Array>& inputs, const HeadOptions& attributes,
                         size_t count = 1) {
  Arrays results;
  for (const Variable& y : outputs_of(op, inputs, attributes, {.outputs = count, .domain = "com.microsoft"})) {
    results.push_back(y.array());
  }
  return results;
}
Array int32s(const std::vector<int64_t>& values) { return int_vector(values).astype(Dtype::int32); }
/// The first numbers of each row.
Array row_starts(const Array& x) { return x.slice(2, 0, 4); }

const HeadOptions kTwoHeads{{"num_heads", int64_t{2}}};

}  // namespace

TEST_CASE("com.microsoft: Attention with masks, a past and causal") {
  const Array w = pattern({3, 12}, 2), b = pattern({12}, 3);
  HeadOptions causal = kTwoHeads;
  causal.emplace_back("unidirectional", int64_t{1});
  const Array past = pattern({2, 1, 2, 2, 2}, 4), mask = int32s({1, 0, 1, 1}).reshape({1, 4});
  const Arrays out = attention_outputs("Attention", {pattern({1, 2, 3}, 1), w, b, mask, past}, causal, 2);
  expect_equal(out[0],
               floats({0.0162092f, -0.0316493f, -0.379524f, 0.633359f, -0.0627867f, -0.184651f, -0.391721f, 0.859881f},
                      {1, 2, 4}));
  CHECK(out[1].shape() == Shape{2, 1, 2, 4, 2});
  expect_equal(out[1].slice(3, 0, 2), past);
  // Where sequences end and begin.
  expect_equal(attention_outputs("Attention", {pattern({2, 3, 3}, 1), w, b, int32s({3, 2, 1, 0})}, kTwoHeads)[0],
               floats({-0.263473f, -0.667546f, -0.359971f,  0.6836f,  -0.255876f, -0.707433f, -0.363246f, 0.760324f,
                       -0.258966f, -0.691209f, -0.376497f,  1.07078f, 0.429959f,  -1.08621f,  -0.070626f, 0.769011f,
                       0.427025f,  -1.08327f,  -0.0607713f, 0.66258f, 0.434054f,  -1.0903f,   -0.082f,    0.89185f},
                      {2, 3, 4}));
  // Masks of one column hide nothing.
  const Array x = pattern({2, 3, 3}, 1), plain = attention_outputs("Attention", {x, w, b}, kTwoHeads)[0];
  for (const Shape& shape : {Shape{2, 1}, Shape{1, 1}}) {
    expect_equal(attention_outputs("Attention", {x, w, b, zeros(shape, Dtype::int32)}, kTwoHeads)[0], plain, 0);
  }
  CHECK_THROWS_WITH_AS(
      attention_outputs("Attention", {pattern({2, 3, 3}, 1), w, b, int32s({3, 2, 1, 0, 4})}, kTwoHeads),
      doctest::Contains("Attention (opset 1, domain 'com.microsoft'): a mask has shape (5,), scores (2, 2, 3, 3)"),
      TypeError);
  HeadOptions rotary = kTwoHeads;
  rotary.emplace_back("do_rotary", int64_t{1});
  CHECK_THROWS_WITH_AS(attention_outputs("Attention", {pattern({2, 3, 3}, 1), w, b}, rotary),
                       doctest::Contains("its attribute do_rotary is 1: it must be 0"), ValueError);
}

TEST_CASE("com.microsoft: Attention of integers") {
  const std::vector<Array> inputs{integer_pattern({1, 2, 3}, 1, Dtype::uint8, 10, 12),
                                  integer_pattern({3, 6}, 2, Dtype::int8, -64, 8),
                                  pattern({6}, 3),
                                  floats({0.02f}, {}),
                                  floats({0.02f}, {}),
                                  Array(),
                                  full({}, 120, Dtype::uint8),
                                  zeros({}, Dtype::int8)};
  expect_equal(attention_outputs("QAttention", inputs, {{"num_heads", int64_t{1}}})[0],
               floats({-0.40721f, 1.5159f, 1.05046f, 0.140734f}, {1, 2, 2}));
}

TEST_CASE("com.microsoft: MultiHeadAttention with biases, a mask and a past; packed inputs") {
  const Array q = pattern({1, 2, 4}, 1), k = pattern({1, 3, 4}, 2), v = pattern({1, 3, 4}, 3), b = pattern({12}, 4);
  const Array mask = int32s({1, 1, 0, 1}).reshape({1, 4});
  const Arrays out = attention_outputs(
      "MultiHeadAttention",
      {q, k, v, b, mask, pattern({1, 1, 2, 4}, 5), pattern({1, 2, 1, 2}, 6), pattern({1, 2, 1, 2}, 7)}, kTwoHeads, 4);
  expect_equal(
      out[0],
      floats({-0.258815f, 0.544976f, -0.721738f, 0.518593f, -0.469776f, 0.828181f, -1.00713f, 0.57916f}, {1, 2, 4}));
  expect_equal(out[1], floats({0.25f, -1, 0.625f, 0.25f, -0.125f, -0.5f, 1.25f, -1.25f, -0.125f, 0.75f, -0.125f, 1.625f,
                               -0.875f, 0.875f, 0.5f, 0.125f},
                              {1, 2, 4, 2}));
  // The scores, with what the mask and the bias add.
  expect_equal(out[3],
               floats({1.14775f, -0.720971f, -9999.38f, -0.543544f, -0.707107f, 0.565641f, -10000.6f, -1.0468f,
                       -0.0786408f, -2.17938f, -10001.2f, -0.598786f, -0.0331456f, 0.841854f, -10000.6f, 0.632583f},
                      {1, 2, 2, 4}),
               0.05);
  expect_equal(out[3].slice(3, 0, 2),
               floats({1.14775f, -0.720971f, -0.707107f, 0.565641f, -0.0786408f, -2.17938f, -0.0331456f, 0.841854f},
                      {1, 2, 2, 2}));
  // (B, T, heads, parts, D)
  const Array all = pattern({1, 3, 2, 3, 2}, 5), pair = pattern({1, 3, 2, 2, 2}, 6);
  const auto part = [](const Array& packed, int64_t i) {
    return packed.slice(3, i, 1).contiguous().reshape({1, 3, 4});
  };
  expect_equal(attention_outputs("MultiHeadAttention", {all}, kTwoHeads)[0],
               attention_outputs("MultiHeadAttention", {part(all, 0), part(all, 1), part(all, 2)}, kTwoHeads)[0]);
  expect_equal(attention_outputs("MultiHeadAttention", {q, pair}, kTwoHeads)[0],
               attention_outputs("MultiHeadAttention", {q, part(pair, 0), part(pair, 1)}, kTwoHeads)[0]);
}

TEST_CASE("com.microsoft: DecoderMaskedMultiHeadAttention writes into a cache with room") {
  const std::vector<Array> inputs{pattern({1, 1, 4}, 1),
                                  pattern({1, 1, 4}, 2),
                                  pattern({1, 1, 4}, 3),
                                  Array(),
                                  Array(),
                                  pattern({1, 2, 4, 2}, 6),
                                  pattern({1, 2, 4, 2}, 7),
                                  int32s({2})};
  HeadOptions shared = kTwoHeads;
  shared.emplace_back("past_present_share_buffer", int64_t{1});
  const Arrays out = attention_outputs("DecoderMaskedMultiHeadAttention", inputs, shared, 3);
  expect_equal(out[0], floats({-0.359703f, 0.515297f, 0.0273957f, 0.0926169f}, {1, 1, 4}));
  expect_equal(out[1], floats({0.25f, -1, -0.125f, 0.75f, 0.125f, 1, -0.875f, 0, 0.875f, -0.375f, 0.5f, -0.75f, -0.25f,
                               0.625f, -0.25f, 0.625f},
                              {1, 2, 4, 2}));
  std::vector<Array> beyond = inputs;
  beyond[7] = int32s({5});
  CHECK_THROWS_WITH_AS(attention_outputs("DecoderMaskedMultiHeadAttention", beyond, shared, 3),
                       doctest::Contains("a cache of 4 keys is continued at place 5"), ValueError);
}

TEST_CASE("com.microsoft: GroupQueryAttention continues sequences of several lengths") {
  const HeadOptions plain{{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{1}}, {"do_rotary", int64_t{1}}};
  const Array cos = pattern({6, 8}, 8), sin = pattern({6, 8}, 9);
  const std::vector<Array> inputs{pattern({2, 1, 32}, 1),
                                  pattern({2, 1, 16}, 2),
                                  pattern({2, 1, 16}, 3),
                                  pattern({2, 1, 3, 16}, 4),
                                  pattern({2, 1, 3, 16}, 5),
                                  int32s({3, 2}),
                                  int32s({4}),
                                  cos,
                                  sin};
  const Arrays out = attention_outputs("GroupQueryAttention", inputs, plain, 3);
  expect_equal(row_starts(out[0]),
               floats({-0.285854f, 0.154114f, 0.0546442f, -0.220886f, 0.29329f, -0.461333f, -0.0817104f, -0.0474234f},
                      {2, 1, 4}));
  // The second sequence was shorter: its new value lies before the place of the first one's.
  expect_equal(out[2].at(0).slice(1, 3, 1), inputs[2].at(0).reshape({1, 1, 16}));
  expect_equal(out[2].at(1).slice(1, 2, 1), inputs[2].at(1).reshape({1, 1, 16}));
  expect_equal(out[2].slice(2, 0, 2), inputs[4].slice(2, 0, 2));
  HeadOptions window = plain;
  window.emplace_back("local_window_size", int64_t{2});
  window.emplace_back("softcap", 1.5f);
  expect_equal(
      row_starts(attention_outputs("GroupQueryAttention", inputs, window, 3)[0]),
      floats({-0.779862f, 0.0951375f, 0.22167f, -0.279862f, 0.316833f, -0.14243f, -0.0581669f, -0.51743f}, {2, 1, 4}));
  // Packed, with a bias and the score of a key without a value.
  HeadOptions interleaved = plain;
  interleaved.emplace_back("rotary_interleaved", int64_t{1});
  expect_equal(
      row_starts(attention_outputs(
          "GroupQueryAttention",
          {pattern({1, 2, 64}, 1), Array(), Array(), pattern({1, 1, 3, 16}, 4), pattern({1, 1, 3, 16}, 5), int32s({4}),
           int32s({5}), cos, sin, Array(), pattern({1, 2, 2, 5}, 7), pattern({2}, 6)},
          interleaved, 3)[0]),
      floats({-0.0502385f, 0.320899f, -0.00809364f, 0.0340065f, 0.0136957f, 0.348875f, -0.0754212f, 0.0471533f},
             {1, 2, 4}));

  std::vector<Array> longer = inputs;
  longer[6] = int32s({9});
  CHECK_THROWS_WITH_AS(
      attention_outputs("GroupQueryAttention", longer, plain, 3),
      doctest::Contains("total_sequence_length is 9: with 1 new keys and 3 of the past it must be 1 to 4"), ValueError);
  HeadOptions quantized = plain;
  quantized.emplace_back("k_quant_type", "PER_TENSOR");
  CHECK_THROWS_WITH_AS(attention_outputs("GroupQueryAttention", inputs, quantized, 3),
                       doctest::Contains("its attribute k_quant_type is 'PER_TENSOR': only 'NONE' is supported"),
                       ValueError);
}

TEST_CASE("com.microsoft: GroupQueryAttention takes the first position of a prompt alone") {
  const HeadOptions plain{{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{1}}, {"do_rotary", int64_t{1}}};
  std::vector<Array> inputs{pattern({2, 3, 32}, 1),
                            pattern({2, 3, 16}, 2),
                            pattern({2, 3, 16}, 3),
                            zeros({2, 1, 0, 16}),
                            zeros({2, 1, 0, 16}),
                            int32s({2, 2}),
                            int32s({3}),
                            pattern({6, 8}, 8),
                            pattern({6, 8}, 9),
                            int_vector({2, 0, 0, 4, 5, 1}).reshape({2, 3})};
  expect_equal(row_starts(attention_outputs("GroupQueryAttention", inputs, plain, 3)[0]).slice(1, 1, 2),
               floats({0.233277f, 0.0742064f, -0.141723f, -0.300794f, 0.124812f, 0.28462f, -0.250188f, -0.09038f,
                       -0.356302f, -0.363088f, 0.511912f, 0.143698f, -0.418099f, -0.0247523f, -0.133348f, 0.0819015f},
                      {2, 2, 4}));
}

TEST_CASE("com.microsoft: GroupQueryAttention continues one sequence where it ends") {
  const HeadOptions plain{{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{1}}, {"do_rotary", int64_t{1}}};
  std::vector<Array> inputs{pattern({1, 1, 32}, 1),
                            pattern({1, 1, 16}, 2),
                            pattern({1, 1, 16}, 3),
                            pattern({1, 1, 6, 16}, 4),
                            pattern({1, 1, 6, 16}, 5),
                            int32s({2}),
                            int32s({6}),
                            pattern({6, 8}, 8),
                            pattern({6, 8}, 9)};
  const auto [file, given] =
      file_of("GroupQueryAttention", inputs, plain, {.outputs = 3, .domain = "com.microsoft", .constants = {6, 7, 8}});
  const InferenceSession session(onnx::load_bytes(file));
  struct Case {
    int64_t last;  // of the places that the cache has room for
    std::vector<float> expected;
  };
  for (const Case& c : {Case{2, {0.0922074f, 0.253195f, -0.282793f, -0.121805f}},
                        {3, {-0.285854f, 0.154114f, 0.0546442f, -0.220886f}},
                        {5, {-0.0933072f, -0.144166f, -0.133595f, -0.0681012f}}}) {
    CAPTURE(c.last);
    inputs[5] = int32s({c.last});
    const Arrays out = attention_outputs("GroupQueryAttention", inputs, plain, 3);
    expect_equal(row_starts(out[0]), floats(c.expected, {1, 1, 4}));
    expect_equal(out[2].slice(2, c.last, 1), inputs[2].reshape({1, 1, 1, 16}));
    expect_equal(out[2].slice(2, 0, c.last), inputs[4].slice(2, 0, c.last));
    // A recording holds for every length.
    Arrays varying;
    for (size_t i = 0; i < 6; ++i) varying.push_back(inputs[i]);
    expect_equal(row_starts(session.run(varying)[0]), floats(c.expected, {1, 1, 4}));
    CHECK(session.plan_count() == 1);
  }
}

TEST_CASE("com.microsoft: RotaryEmbedding from one place on") {
  expect_equal(attention_outputs("RotaryEmbedding",
                                 {pattern({1, 2, 8}, 1), int_vector({1}), pattern({4, 2}, 2), pattern({4, 2}, 3)},
                                 {{"interleaved", int64_t{1}}})[0],
               floats({-0.625f, -0.3125f, 0.28125f, -0.59375f, 0.59375f, -0.09375f, -0.359375f, 0.171875f, 0.546875f,
                       -0.875f, 0.125f, -0.3125f, 0.4375f, 0.96875f, 0.28125f, 0.21875f},
                      {1, 2, 8}));
}
