#include <cmath>
#include <numbers>

#include "kusari/tests/golden_runner/program/golden_folder.h"

// What cases may give functions: every argument of Chainer's signature, by name or by position.
namespace kusari {
namespace {

using Json = nlohmann::ordered_json;

Array row(const std::vector<float>& values) { return array<float>(values, {1, static_cast<int64_t>(values.size())}); }
Array line(const std::vector<float>& values) { return array<float>(values); }

TEST_CASE("golden_runner: functions take arguments by position and by name") {
  testing::GoldenFolder golden;
  const Array x = line({-2, 0.5f, 3});
  golden.add_function("position", "leaky_relu", {{"*", {"x0", 0.5}}}, {x}, {line({-1, 0.5f, 3})});
  golden.add_function("both", "leaky_relu", {{"*", {"x0"}}, {"slope", 0.5}}, {x}, {line({-1, 0.5f, 3})});
  golden.add_function("default", "leaky_relu", {{"*", {"x0"}}}, {x}, {line({-0.4f, 0.5f, 3})});
  golden.add_function("operands", "add", {{"*", {"x0", "x0", "x0"}}}, {x}, {line({-6, 1.5f, 9})});
  golden.add_function("constant", "op_rsub_const", {{"*", {"x0", 1}}}, {x}, {line({3, 0.5f, -2})});
  golden.add_function("keyword", "pad", {{"*", {"x0", Json::array({1}), "constant"}}, {"constant_values", 7}}, {x},
                      {line({7, -2, 0.5f, 3, 7})});
  golden.add_function("first_by_name", "fliplr", {{"a", "x0"}}, {row({1, 2})}, {row({2, 1})});
  golden.check_all_pass();
}

TEST_CASE("golden_runner: None is an argument") {
  testing::GoldenFolder golden;
  const Array x = line({-5, 0.5f, 3});
  golden.add_function("no_lower_bound", "clip", {{"x", "x0"}, {"x_min", nullptr}, {"x_max", 1}}, {x},
                      {line({-5, 0.5f, 1})});
  golden.add_function("no_upper_bound", "clip", {{"*", {"x0", -1.0, nullptr}}}, {x}, {line({-1, 0.5f, 3})});
  golden.add_function("squeeze", "squeeze", {{"x", "x0"}, {"axis", nullptr}}, {row({1, 2})}, {line({1, 2})});
  golden.add_function("transpose", "transpose", {{"x", "x0"}, {"axes", nullptr}}, {row({1, 2})},
                      {array<float>({1, 2}, {2, 1})});
  golden.add_function("sum", "sum", {{"x", "x0"}, {"axis", nullptr}, {"keepdims", true}}, {row({1, 2})},
                      {array<float>({3}, {1, 1})});
  const Array signal = array<float>({1, 2, 3, 4}, {1, 1, 4});
  golden.add_function("pads_count", "average_pooling_1d", {{"*", {"x0", 2, 2, 1}}}, {signal},
                      {array<float>({0.5f, 2.5f, 2}, {1, 1, 3})});
  golden.add_function("pads_do_not_count", "average_pooling_1d", {{"*", {"x0", 2, 2, 1, nullptr}}}, {signal},
                      {array<float>({1, 2.5f, 4}, {1, 1, 3})});
  golden.add_function("stride_is_ksize", "average_pooling_2d",
                      {{"x", "x0"}, {"ksize", Json::array({1, 2})}, {"stride", nullptr}},
                      {array<float>({1, 3, 5, 7}, {1, 1, 1, 4})}, {array<float>({2, 6}, {1, 1, 1, 2})});
  golden.check_all_pass();
}

TEST_CASE("golden_runner: options of functions") {
  testing::GoldenFolder golden;
  const Array x = line({1, 2, 3, 4});
  for (const bool force_tuple : {false, true}) {
    golden.add_function(std::string("sections_") + (force_tuple ? "tuple" : "plain"), "split_axis",
                        {{"x", "x0"}, {"indices_or_sections", 2}, {"axis", 0}, {"force_tuple", force_tuple}}, {x},
                        {line({1, 2}), line({3, 4})});
  }
  golden.add_function("indices", "split_axis", {{"*", {"x0", "x1", 0}}}, {x, array<int32_t>({1})},
                      {line({1}), line({2, 3, 4})});
  golden.add_function("repeats", "repeat", {{"*", {"x0", Json::array({1, 0, 2, 0}), 0}}}, {x}, {line({1, 3, 3})});
  golden.add_function("one_index", "get_item", {{"x", "x0"}, {"slices", 2}}, {x}, {array<float>({3}, Shape{})});
  golden.add_function("list_of_indices", "get_item", {{"x", "x0"}, {"slices", Json::array({Json::array({3, 0})})}}, {x},
                      {line({4, 1})});
  const float third = static_cast<float>(std::numbers::pi * std::numbers::pi / 6);
  golden.add_function("order", "polygamma", {{"n", 1}, {"x", "x0"}}, {line({1})}, {line({third})});
  golden.add_function("exponent", "zeta", {{"x", 2}, {"q", "x0"}}, {line({1})}, {line({third})});
  golden.add_function("sublists", "einsum", {{"*", {"x0", Json::array({0, 1}), Json::array({1})}}}, {row({3, 4})},
                      {line({3, 4})});

  // Hinge: max(0, 1 + x) where t is another class, max(0, 1 - x) where it is this one.
  const Array t = array<int32_t>({1});
  golden.add_function("norm", "hinge", {{"x", "x0"}, {"t", "x1"}, {"norm", "L2"}, {"reduce", "no"}},
                      {row({0.5f, 0.25f}), t}, {row({2.25f, 0.5625f})});
  const float loss = static_cast<float>(std::log1p(std::exp(-1.0)));
  golden.add_function("reduce", "sigmoid_cross_entropy", {{"*", {"x0", "x1", true, "no"}}},
                      {row({1, 5}), array<int32_t>({1, -1}, {1, 2})}, {row({loss, 0})});
  golden.add_function("delta", "huber_loss", {{"*", {"x0", "x1", 1.0, "no"}}}, {row({0.5f, 3}), row({0, 0})},
                      {row({0.125f, 2.5f})});
  golden.add_function("mask", "dropout", {{"x", "x0"}, {"ratio", 0.25}, {"mask", "x1"}, {"return_mask", true}},
                      {line({1, 2}), line({4, 0})}, {line({4, 0}), line({4, 0})});
  golden.add_function("r", "rrelu", {{"*", {"x0", 0.1, 0.3}}, {"r", "x1"}, {"return_r", true}},
                      {line({-1, 2}), line({0.25f, 1})}, {line({-0.25f, 2}), line({0.25f, 1})});
  golden.add_function("eps", "gaussian", {{"*", {"x0", "x1"}}, {"eps", "x2"}, {"return_eps", true}},
                      {line({1}), line({0}), line({0.5f})}, {line({1.5f}), line({0.5f})});
  golden.check_all_pass();
}

TEST_CASE("golden_runner: arguments that functions do not have, or have otherwise, fail and are named") {
  testing::GoldenFolder golden;
  const Array x = row({1, 2});
  golden.add_function("unknown", "tanh", {{"x", "x0"}, {"axis", 1}}, {x}, {x});
  golden.add_function("too_many", "relu", {{"*", {"x0", 1}}}, {x}, {x});
  golden.add_function("twice", "elu", {{"*", {"x0", 1}}, {"alpha", 1}}, {x}, {x});
  golden.add_function("missing", "maxout", {{"x", "x0"}}, {x}, {x});
  golden.add_function("no_counterpart", "convolution_2d", {{"x", "x0"}, {"W", "x0"}, {"cudnn_fast", true}}, {x}, {x});
  golden.add_function("weights", "r2_score", {{"pred", "x0"}, {"true", "x0"}, {"sample_weight", "x0"}}, {x}, {x});
  golden.add_function("choice", "hinge", {{"x", "x0"}, {"t", "x0"}, {"norm", "L3"}}, {x}, {x});
  golden.add_function("mode", "pad", {{"x", "x0"}, {"pad_width", 1}, {"mode", "median"}}, {x}, {x});
  golden.add_function("keyword", "pad", {{"*", {"x0", 1, "reflect"}}, {"reflect_type", "odd"}}, {x}, {x});
  golden.add_function("kind", "sum", {{"x", "x0"}, {"keepdims", "yes"}}, {x}, {x});
  golden.add_function("fraction", "softmax", {{"x", "x0"}, {"axis", 0.5}}, {x}, {x});
  golden.add_function("array", "relu", {{"x", "x7"}}, {x}, {x});
  golden.check_failures(
      {"unknown: tanh has no argument axis (given as 1)", "too_many: relu takes 1 arguments by position, not 2",
       "twice: elu: argument alpha is given twice", "missing: maxout: argument pool_size is missing",
       "no_counterpart: convolution_2d: argument cudnn_fast=true has nothing here that it stands for",
       "weights: r2_score: argument sample_weight=\"x0\" has nothing here",
       "choice: hinge: argument norm=\"L3\" has nothing here that it stands for",
       "mode: pad: argument mode=\"median\" has nothing here that it stands for",
       "keyword: pad: argument reflect_type=\"odd\" was not passed on",
       "kind: sum: argument keepdims=\"yes\" is not true or false",
       "fraction: softmax: argument axis=0.5 is not an integer", "array: the case has no array \"x7\""});
}

}  // namespace
}  // namespace kusari
