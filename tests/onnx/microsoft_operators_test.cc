#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/tests/onnx/node_outputs.h"

// Operators of the domain com.microsoft. Expected numbers without another source are what ONNX Runtime 1.32 gives.

using namespace kusari;

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
