#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/onnx/load.h"
#include "kusari/tests/onnx/node_outputs.h"

// Operators and options that few files have. Numbers are ONNX Runtime's, and those of onnx.reference where it knows the
// operator.

using namespace kusari;
namespace F = functions;
using NodeAttributes = ModelBuilder::Attributes;
using Ints = ModelBuilder::Ints;

namespace {

Array first_of(const std::string& op, const std::vector<Array>& inputs, const NodeAttributes& attributes,
               int64_t opset = 20) {
  return outputs_of(op, inputs, attributes, NodeForm{.opset = opset})[0].array();
}

/// Two arrays as a list, what `build` makes of it, and that list's arrays one behind the other.
ModelBuilder of_list(const std::string& op, const ModelBuilder::Names& inputs, const NodeAttributes& attributes = {}) {
  ModelBuilder model;
  model.input("a", {2})
      .input("b", {2})
      .node("SequenceConstruct", {"a", "b"}, {"list"})
      .node(op, inputs, {"mapped"}, attributes)
      .node("ConcatFromSequence", {"mapped"}, {"y"}, {{"axis", int64_t{0}}})
      .output("y");
  return model;
}

}  // namespace

TEST_CASE("ONNX RoiAlign: max is that of the weighted pixels") {
  const Array x = pattern({1, 2, 5, 6}, 1);
  const Array rois = floats({0, 0, 8, 8, 1.3f, 2.1f, 9, 7.4f, -6, -6, -5, -5}, {3, 4});
  const Array expected = floats({0.625f,
                                 0.25f,
                                 0.5f,
                                 1,
                                 0.25f,
                                 1,
                                 1,
                                 0.875f,
                                 0.208608389f,
                                 0.400004655f,
                                 0.146347687f,
                                 0.441523343f,
                                 0.282495081f,
                                 0.367646366f,
                                 0.548398495f,
                                 0.308198363f,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0},
                                {3, 2, 2, 2});
  for (const int64_t sampling : {2, 0}) {
    const NodeAttributes attributes{{"mode", std::string("max")},
                                    {"sampling_ratio", sampling},
                                    {"output_height", int64_t{2}},
                                    {"output_width", int64_t{2}},
                                    {"spatial_scale", 0.5f}};
    expect_equal(first_of("RoiAlign", {x, rois, int_vector({0, 0, 0})}, attributes, 16), expected, 1e-6);
    // All below 0, and each sample on a pixel: its neighbours, without a weight, are the largest.
    const Array below = full({1, 1, 5, 6}, -1, Dtype::float32);
    expect_equal(first_of("RoiAlign", {below, floats({2, 2, 10, 10}, {1, 4}), int_vector({0})}, attributes, 16),
                 zeros({1, 1, 2, 2}));
  }
}

TEST_CASE("ONNX RoiAlign: the gradient of max goes to one pixel, with its weight") {
  const auto [bytes, given] = file_of(
      "RoiAlign", {floats({1, 2, 3, 8}, {1, 1, 2, 2}), floats({0.25f, 0.5f, 1.25f, 1.5f}, {1, 4}), int_vector({0})},
      {{"mode", std::string("max")}, {"sampling_ratio", int64_t{1}}}, {});
  Variables inputs = given;
  inputs[0] = Variable(given[0].array());
  const Variable y = onnx::load_bytes(bytes).call(inputs)[0];
  // One sample at row 0.5, column 0.25 of pixels that half_pixel moves by one half: 8 * 0.125 < 3 * 0.375.
  CHECK(y.array().item<double>() == doctest::Approx(3 * 0.5 * 0.75));
  F::sum(y).backward();
  expect_equal(inputs[0].grad(), floats({0, 0, 0.375f, 0}, {1, 1, 2, 2}));
}

TEST_CASE("ONNX MaxRoiPool rounds halves away from 0") {
  const Array rois = floats({0, 1, 1, 7, 9, 0, 3, 0, 5, 5, 0, 20, 20, 24, 24, 0, -3, -1, 4, 2}, {4, 5});
  expect_equal(
      first_of("MaxRoiPool", {pattern({1, 1, 5, 6}, 2), rois}, {{"pooled_shape", Ints{2, 2}}, {"spatial_scale", 0.5f}}),
      floats({0.875f, 0.5f, 0.75f, 0.375f, 0.75f, 0.625f, 0.625f, 0.5f, 0, 0, 0, 0, 0.125f, 1, 0.125f, 1},
             {4, 1, 2, 2}));
  CHECK_THROWS_WITH_AS(first_of("MaxRoiPool", {pattern({1, 1, 5, 6}, 2), rois}, {{"pooled_shape", Ints{2}}}),
                       doctest::Contains("its attribute pooled_shape has 1 numbers: it must have 2"), ValueError);
}

TEST_CASE("ONNX GridSample: halfway between two elements the nearest one is found before places are mirrored") {
  const Array x = floats({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {1, 1, 3, 4});
  const Array grid = floats({-1.5f, 0, -2, 0, 1.5f, 1.2f, 2, -2, 0.5f, 4.f / 3, -1, -1, 1, 1}, {1, 1, 7, 2});
  expect_equal(first_of("GridSample", {x, grid},
                        {{"mode", std::string("nearest")}, {"padding_mode", std::string("reflection")}}),
               floats({6, 6, 12, 6, 11, 1, 12}, {1, 1, 1, 7}));
}

TEST_CASE("ONNX TfIdfVectorizer: rows, skips, weights of the n-grams") {
  const Array x = int_vector({1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8}).astype(Dtype::int32).reshape({2, 6});
  struct Case {
    const char* mode;
    std::vector<float> expected;
  };
  for (const Case& c :
       {Case{"TF", {0, 0, 0, 0, 0, 3, 0, 1, 1, 1, 0, 1, 0, 0}}, Case{"IDF", {0, 0, 0, 0, 0, 2, 0, 7, 6, 5, 0, 3, 0, 0}},
        Case{"TFIDF", {0, 0, 0, 0, 0, 6, 0, 7, 6, 5, 0, 3, 0, 0}}}) {
    const NodeAttributes attributes{{"mode", std::string(c.mode)},
                                    {"min_gram_length", int64_t{1}},
                                    {"max_gram_length", int64_t{2}},
                                    {"max_skip_count", int64_t{2}},
                                    {"ngram_counts", Ints{0, 4}},
                                    {"ngram_indexes", Ints{6, 5, 4, 3, 2, 1, 0}},
                                    {"pool_int64s", Ints{2, 3, 5, 4, 5, 6, 7, 8, 6, 7}},
                                    {"weights", std::vector<float>{1, 2, 3, 4, 5, 6, 7}}};
    expect_equal(first_of("TfIdfVectorizer", {x}, attributes, 9), floats(c.expected, {2, 7}));
  }
  NodeAttributes attributes{{"min_gram_length", int64_t{2}}, {"max_gram_length", int64_t{2}},
                            {"max_skip_count", int64_t{0}},  {"ngram_counts", Ints{0, 0}},
                            {"ngram_indexes", Ints{0, 1}},   {"pool_int64s", Ints{3, 3, 3, 7}}};
  const Array row = x.slice(0, 0, 1).reshape({6});
  expect_equal(first_of("TfIdfVectorizer", {row}, attributes, 9), floats({2, 1}, {2}));
  attributes[4].second = Ints{0};
  CHECK_THROWS_WITH_AS(first_of("TfIdfVectorizer", {row}, attributes, 9),
                       doctest::Contains("ngram_indexes and weights must have a number for each of the 2 n-grams"),
                       ValueError);
  attributes[3].second = Ints{0, 5};
  CHECK_THROWS_WITH_AS(first_of("TfIdfVectorizer", {row}, attributes, 9), doctest::Contains("ngram_counts"),
                       ValueError);
}

TEST_CASE("ONNX LSTM, GRU and RNN: sequences without elements, names of activations in other letters") {
  struct Case {
    const char* op;
    int64_t gates;
    std::vector<std::string> names;
  };
  for (const Case& c :
       {Case{"LSTM", 4, {"sigmoid", "TANH", "tanh"}}, Case{"GRU", 3, {"sigmoid", "tanh"}}, Case{"RNN", 1, {"tanh"}}}) {
    CAPTURE(c.op);
    for (const float clip : {0.f, 1e6f}) {  // by the fused kernel, and by steps
      const int64_t hidden = 3;
      std::vector<Array> inputs{pattern({4, 2, 3}, 1),
                                pattern({1, c.gates * hidden, 3}, 2),
                                pattern({1, c.gates * hidden, hidden}, 3),
                                Array(),
                                int_vector({0, 2}).astype(Dtype::int32),
                                ones({1, 2, hidden}, Dtype::float32)};
      if (c.gates == 4) inputs.push_back(ones({1, 2, hidden}, Dtype::float32));
      const NodeAttributes attributes{
          {"hidden_size", hidden}, {"linear_before_reset", int64_t{1}}, {"clip", clip}, {"activations", c.names}};
      const Variables found = outputs_of(c.op, inputs, attributes, NodeForm{.outputs = c.gates == 4 ? 3u : 2u});
      for (size_t i = 1; i < found.size(); ++i) {
        const Array last = found[i].array().at(0);
        expect_equal(last.at(0), zeros({hidden}, Dtype::float32));
        CHECK((last.at(1) != 0).all());
      }
      CHECK((found[0].array().slice(2, 0, 1) == 0).all());
    }
  }
}

TEST_CASE("ONNX SequenceMap: the body for each element, arrays beside them") {
  ModelBuilder body;
  body.input("one", {2})
      .input("other", {2})
      .node("Add", {"one", "other"}, {"sum"})
      .node("Mul", {"sum", "b"}, {"out"})
      .output("out");
  const NodeAttributes attributes{{"body", body.graph()}};
  const Variables given{floats({1, 2}, {2}), floats({3, 5}, {2})};
  // Added to itself; to the first array.
  expect_equal(onnx::load_bytes(of_list("SequenceMap", {"list", "list"}, attributes).bytes()).call(given)[0].array(),
               floats({6, 20, 18, 50}, {4}));
  expect_equal(onnx::load_bytes(of_list("SequenceMap", {"list", "a"}, attributes).bytes()).call(given)[0].array(),
               floats({6, 20, 12, 35}, {4}));
  CHECK_THROWS_WITH_AS(onnx::load_bytes(of_list("SequenceMap", {"list"}, attributes).bytes()),
                       doctest::Contains("it has 1 inputs, its body 2"), ValueError);
}

TEST_CASE("ONNX Optional: values that may be missing") {
  const Array x = floats({1, 2}, {2});
  expect_equal(first_of("Optional", {x}, {}), x);
  expect_equal(first_of("OptionalGetElement", {x}, {}), x);
  CHECK(first_of("OptionalHasElement", {x}, {}).item<bool>());
  CHECK(!first_of("OptionalHasElement", {}, {}).item<bool>());
  CHECK(!first_of("OptionalHasElement", {Array()}, {}).item<bool>());
  CHECK_THROWS_WITH_AS(first_of("OptionalGetElement", {Array()}, {}),
                       doctest::Contains("its input is an optional value that is empty"), ValueError);

  // An input that a call may leave out.
  ModelBuilder with, without, model;
  with.node("OptionalGetElement", {"x"}, {"got"}).node("Neg", {"got"}, {"r"}).output("r");
  without.node("Identity", {"y"}, {"s"}).output("s");
  model.typed_input("x", ModelBuilder::optional_type(ModelBuilder::tensor_type(onnx::DataType::float32, {2})))
      .input("y", {2})
      .node("OptionalHasElement", {"x"}, {"has"})
      .node("If", {"has"}, {"z"}, {{"then_branch", with.graph()}, {"else_branch", without.graph()}})
      .output("z");
  const onnx::Model loaded = onnx::load_bytes(model.bytes());
  CHECK(loaded.inputs()[0].dtype == Dtype::float32);
  const Array y = floats({3, 5}, {2});
  expect_equal(loaded.call({x, y})[0].array(), floats({-1, -2}, {2}));
  expect_equal(loaded.call({Variable(), y})[0].array(), y);
}

TEST_CASE("onnx::load refuses models whose inputs or outputs are no arrays") {
  const std::string array = ModelBuilder::tensor_type(onnx::DataType::float32, {2});
  struct Case {
    std::string type;
    const char* text;
  };
  for (const Case& c : {Case{ModelBuilder::sequence_type(array), "a list (a sequence)"},
                        Case{ModelBuilder::optional_type(ModelBuilder::sequence_type(array)), "a list (a sequence)"}}) {
    ModelBuilder in, out;
    in.typed_input("xs", c.type).node("SequenceLength", {"xs"}, {"n"}).output("n");
    CHECK_THROWS_WITH_AS(onnx::load_bytes(in.bytes()),
                         ("the model: the input 'xs' is " + std::string(c.text) + ": inputs must be arrays").c_str(),
                         ValueError);
    out.input("x", {2}).node("SequenceConstruct", {"x"}, {"ys"}).typed_output("ys", c.type);
    CHECK_THROWS_WITH_AS(onnx::load_bytes(out.bytes()),
                         ("the model: the output 'ys' is " + std::string(c.text) + ": outputs must be arrays").c_str(),
                         ValueError);
  }
}
