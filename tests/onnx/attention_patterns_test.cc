#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/kusari.h"
#include "kusari/framework/onnx/load.h"
#include "kusari/tests/onnx/model_builder.h"

// Attention as exporters spell it becomes one kernel of a session.

namespace {

using namespace kusari;

constexpr int64_t kHeads = 2, kWidth = 8;

Array drawn(const Shape& shape, int seed) {
  std::vector<float> values;
  for (int64_t i = 0; i < numel(shape); ++i) values.push_back(static_cast<float>(std::sin(0.7 * seed + 1.3 * i)));
  return array(values, shape);
}
Array ints(const std::vector<int64_t>& values) { return array(values, {static_cast<int64_t>(values.size())}); }
Array scalar(float value) { return full({}, value, Dtype::float32); }

/// x of any batch and places, with q, k and v as linear layers of it.
ModelBuilder begun() {
  ModelBuilder builder;
  builder.input("x", {"N", "T", kWidth}).input("mask", {"N", "T"}, onnx::DataType::int64);
  builder.initializer("apart", ints({0, 0, kHeads, kWidth / kHeads})).initializer("joined", ints({0, 0, kWidth}));
  for (const std::string name : {"q", "k", "v"}) {
    builder.initializer("W" + name, drawn({kWidth, kWidth}, name[0])).initializer("b" + name, drawn({kWidth}, name[0]));
    builder.node("MatMul", {"x", "W" + name}, {name + "0"}).node("Add", {name + "0", "b" + name}, {name + "1"});
  }
  return builder;
}
void split_heads(ModelBuilder& builder, const std::string& name, const std::vector<int64_t>& order) {
  builder.node("Reshape", {name + "1", "apart"}, {name + "2"})
      .node("Transpose", {name + "2"}, {name}, {{"perm", order}});
}
void finish(ModelBuilder& builder) {
  builder.node("Softmax", {"masked"}, {"weights"}, {{"axis", int64_t{-1}}})
      .node("MatMul", {"weights", "v"}, {"each"})
      .node("Transpose", {"each"}, {"turned"}, {{"perm", ModelBuilder::Ints{0, 2, 1, 3}}})
      .node("Reshape", {"turned", "joined"}, {"y"})
      .output("y");
}
/// (1 - mask) * lowest, of shape (N, 1, 1, T).
void add_bias(ModelBuilder& builder) {
  builder.initializer("axes", ints({1, 2})).initializer("one", scalar(1)).initializer("lowest", scalar(-3.4e38f));
  builder.node("Unsqueeze", {"mask", "axes"}, {"mask4"})
      .node("Cast", {"mask4"}, {"seen"}, {{"to", int64_t{1}}})
      .node("Sub", {"one", "seen"}, {"hidden"})
      .node("Mul", {"hidden", "lowest"}, {"bias"});
}

void check(const ModelBuilder& builder) {
  const auto session_of = [&](bool fuses) {
    StaticGraphPasses passes;
    passes.fuse_attention = fuses;
    return InferenceSession(onnx::load_bytes(builder.bytes()), {.passes = passes});
  };
  const InferenceSession fused = session_of(true), separate = session_of(false);
  for (const int64_t places : {5, 9}) {
    const Array x = drawn({3, places, kWidth}, 1);
    std::vector<int64_t> seen;
    for (int64_t i = 0; i < 3 * places; ++i) seen.push_back(i % places < 4 ? 1 : 0);
    const Array mask = array(seen, {3, places});
    const std::vector<float> y = fused.run({x, mask})[0].to_vector<float>(),
                             expected = separate.run({x, mask})[0].to_vector<float>();
    REQUIRE(y.size() == expected.size());
    for (size_t i = 0; i < y.size(); ++i) CHECK(std::abs(y[i] - expected[i]) < 1e-5);
  }
  CHECK(fused.summary().find("fuse_attention: made 1 attentions") != std::string::npos);
  CHECK(separate.summary().find("fuse_attention") == std::string::npos);
}

TEST_CASE("attention of ONNX files: BERT") {
  for (const bool turned_at_once : {false, true}) {
    for (const bool is_divided : {false, true}) {
      CAPTURE(turned_at_once);
      CAPTURE(is_divided);
      ModelBuilder builder = begun();
      for (const char* const name : {"q", "v"}) split_heads(builder, name, {0, 2, 1, 3});
      if (turned_at_once) {
        split_heads(builder, "k", {0, 2, 3, 1});
        builder.node("MatMul", {"q", "k"}, {"scores"});
      } else {
        split_heads(builder, "k", {0, 2, 1, 3});
        builder.node("Transpose", {"k"}, {"kt"}, {{"perm", ModelBuilder::Ints{0, 1, 3, 2}}})
            .node("MatMul", {"q", "kt"}, {"scores"});
      }
      builder.initializer("factor", scalar(is_divided ? 2.0f : 0.5f));
      add_bias(builder);
      builder.node(is_divided ? "Div" : "Mul", {"scores", "factor"}, {"scaled"})
          .node("Add", {"scaled", "bias"}, {"masked"});
      finish(builder);
      check(builder);
    }
  }
}

TEST_CASE("attention of ONNX files: queries scaled, without a mask") {
  ModelBuilder builder = begun();
  builder.initializer("inverse", scalar(0.5f));
  SUBCASE("before their heads are apart") {
    builder.node("Mul", {"q1", "inverse"}, {"q_scaled"})
        .node("Reshape", {"q_scaled", "apart"}, {"q2"})
        .node("Transpose", {"q2"}, {"q"}, {{"perm", ModelBuilder::Ints{0, 2, 1, 3}}});
  }
  SUBCASE("after") {
    builder.node("Reshape", {"q1", "apart"}, {"q2"})
        .node("Transpose", {"q2"}, {"q3"}, {{"perm", ModelBuilder::Ints{0, 2, 1, 3}}})
        .node("Mul", {"q3", "inverse"}, {"q"});
  }
  split_heads(builder, "k", {0, 2, 3, 1});
  split_heads(builder, "v", {0, 2, 1, 3});
  builder.node("MatMul", {"q", "k"}, {"masked"});
  finish(builder);
  check(builder);
}

TEST_CASE("attention of ONNX files: GPT-2, and PyTorch's scaled_dot_product_attention") {
  ModelBuilder builder = begun();
  for (const char* const name : {"q", "v"}) split_heads(builder, name, {0, 2, 1, 3});
  SUBCASE("a mask that chooses, from shapes") {
    split_heads(builder, "k", {0, 2, 3, 1});
    builder.initializer("places", ints({1})).initializer("root", scalar(2)).initializer("lowest", scalar(-1e4f));
    std::vector<float> lower;
    for (int i = 0; i < 16 * 16; ++i) lower.push_back(i % 16 <= i / 16 ? 1.0f : 0.0f);
    builder.initializer("triangle", array(lower, {1, 1, 16, 16}))
        .initializer("zeros", ints({0, 0}))
        .initializer("last", ints({2, 3}));
    builder.node("Shape", {"x"}, {"shape"})
        .node("Gather", {"shape", "places"}, {"t"})
        .node("Concat", {"t", "t"}, {"tt"}, {{"axis", int64_t{0}}})
        .node("Slice", {"triangle", "zeros", "tt", "last"}, {"part"})
        .node("Cast", {"part"}, {"seen"}, {{"to", int64_t{9}}})
        .node("MatMul", {"q", "k"}, {"scores"})
        .node("Div", {"scores", "root"}, {"scaled"})
        .node("Where", {"seen", "scaled", "lowest"}, {"masked"});
  }
  SUBCASE("roots of the scale on both sides") {
    split_heads(builder, "k", {0, 2, 3, 1});
    builder.initializer("root", scalar(0.7071f));
    add_bias(builder);
    builder.node("Mul", {"q", "root"}, {"qs"})
        .node("Mul", {"k", "root"}, {"ks"})
        .node("MatMul", {"qs", "ks"}, {"scores"})
        .node("Add", {"scores", "bias"}, {"masked"});
  }
  finish(builder);
  check(builder);
}

}  // namespace
