#include <cmath>

#include "kusari/tests/golden_runner/program/golden_folder.h"

// What cases may give links: every argument of their constructors and calls.
namespace kusari {
namespace {

using Json = nlohmann::ordered_json;
using Arrays = testing::GoldenFolder::Arrays;

/// A link case of one call, without gradients. Parameters are given as "param/NAME", expected arrays as y0, y1, ...
Json link_case(const std::string& id, const std::string& name, const Json& ctor, const Json& args,
               const Arrays& arrays) {
  Json params = Json::array(), inputs = Json::array(), outputs = Json::array();
  for (const auto& [key, array] : arrays) {
    if (key.starts_with("param/")) params.push_back(key.substr(6));
    if (key[0] == 'x') inputs.push_back(key);
    if (key[0] == 'y') outputs.push_back(key);
  }
  return {{"case", id},
          {"kind", "link"},
          {"name", name},
          {"ctor", ctor},
          {"attrs", Json::object()},
          {"train", true},
          {"inputs", inputs},
          {"outputs", outputs},
          {"params", params},
          {"persistents", Json::array()},
          {"steps", {{{"args", args}, {"returns", outputs}}}},
          {"grad_outputs", Json::array()},
          {"grads", Json::array()}};
}

class LinkFolder : public testing::GoldenFolder {
 public:
  void add_link(const std::string& id, const std::string& name, const Json& ctor, const Json& args,
                const Arrays& arrays, const Json& more = Json::object()) {
    Json line = link_case(id, name, ctor, args, arrays);
    line.update(more);
    add(line, arrays);
  }
  /// A case of what parameters start with: one value each.
  void add_start(const std::string& id, const std::string& link, const Json& ctor, const Json& params) {
    add({{"case", id},
         {"kind", "initializer_stats"},
         {"name", "link_default/" + link},
         {"ctor", ctor},
         {"expect", {{"kind", "link_default"}, {"params", params}}}},
        {});
  }
};

Array matrix(const std::vector<float>& values, const Shape& shape) { return array<float>(values, shape); }

TEST_CASE("golden_runner: links take arguments by position, and functions and links as arguments") {
  LinkFolder golden;
  const Array x = matrix({1, 2}, {1, 2});
  const Arrays affine = {{"x0", x}, {"param/W", matrix({3, 4}, {1, 2})}, {"param/b", matrix({5}, {1})}};
  Arrays arrays = affine;
  arrays.emplace_back("y0", matrix({16}, {1, 1}));
  golden.add_link("output_size_alone", "Linear", {{"*", {1}}}, {{"x", "x0"}}, arrays);
  golden.add_link("output_size_by_name", "Linear", {{"in_size", 1}}, {{"*", {"x0", 1}}}, arrays);
  const Array pixel = matrix({2}, {1, 1, 1, 1});
  golden.add_link("channels_and_kernel", "Convolution2D", {{"*", {1, 1}}, {"nobias", true}}, {{"x", "x0"}},
                  {{"x0", pixel}, {"param/W", matrix({3}, {1, 1, 1, 1})}, {"y0", matrix({6}, {1, 1, 1, 1})}});

  // y = t * activate(plain) + (1 - t) * x, with t = sigmoid(0) = 1/2.
  const float sigmoid = static_cast<float>(1 / (1 + std::exp(-1.0)));
  const Array zero = matrix({0}, {1, 1}), one = matrix({1}, {1});
  golden.add_link("activate", "Highway", {{"*", {1, false, {{"function", "sigmoid"}}}}}, {{"x", "x0"}},
                  {{"x0", matrix({2}, {1, 1})},
                   {"param/plain/W", zero},
                   {"param/plain/b", one},
                   {"param/transform/W", zero},
                   {"param/transform/b", matrix({0}, {1})},
                   {"y0", matrix({sigmoid / 2 + 1}, {1, 1})}});
  // The activation is between the convolutions.
  const Array two = matrix({2}, {1, 1, 1, 1}), three = matrix({3}, {1, 1, 1, 1});
  golden.add_link("activation", "MLPConvolution2D",
                  {{"in_channels", 1}, {"out_channels", {1, 1}}, {"ksize", 1}, {"activation", {{"function", "tanh"}}}},
                  {{"x", "x0"}},
                  {{"x0", matrix({0.5f}, {1, 1, 1, 1})},
                   {"param/0/W", two},
                   {"param/0/b", matrix({0}, {1})},
                   {"param/1/W", three},
                   {"param/1/b", one},
                   {"y0", matrix({static_cast<float>(3 * std::tanh(1.0) + 1)}, {1, 1, 1, 1})}});
  golden.check_all_pass();
}

TEST_CASE("golden_runner: Classifier with other functions, predictors and places of the label") {
  LinkFolder golden;
  // Predictions 2 and 4 of 1 and 1: the mean square is (1 + 9) / 2, the mean difference (1 + 3) / 2.
  const Arrays arrays = {{"x0", matrix({1, 2}, {2, 1})},
                         {"x1", matrix({1, 1}, {2, 1})},
                         {"param/predictor/W", matrix({2}, {1, 1})},
                         {"param/predictor/b", matrix({0}, {1})},
                         {"y0", matrix({5}, Shape{})},
                         {"y1", matrix({2}, Shape{})},
                         {"y2", matrix({2, 4}, {2, 1})}};
  Json ctor = {{"predictor", {{"link", "Linear"}, {"ctor", {{"in_size", 1}, {"out_size", 1}}}}},
               {"lossfun", {{"function", "mean_squared_error"}}},
               {"accfun", {{"function", "mean_absolute_error"}}}};
  const auto add = [&](const std::string& id, const Json& args) {
    Json line = link_case(id, "Classifier", ctor, args, arrays);
    line["steps"][0]["returns"] = "y0";
    line["state"] = {{"accuracy", "y1"}, {"y", "y2"}};
    golden.add(line, arrays);
  };
  add("last", {{"*", {"x0", "x1"}}});
  ctor["label_key"] = 0;
  add("first", {{"*", {"x1", "x0"}}});
  ctor["label_key"] = "t";
  add("by_name", {{"t", "x1"}, {"x", "x0"}});
  add("label_by_name", {{"*", {"x0"}}, {"t", "x1"}});
  golden.check_all_pass();
}

TEST_CASE("golden_runner: losses of links are reduced as they are told, over the samples of the note") {
  LinkFolder golden;
  // -log of the second score's share where there is one step and no cost.
  const float log2 = static_cast<float>(std::log(2.0)), share = static_cast<float>(std::log(4.0 / 3));
  const Arrays crf = {{"x0", matrix({0, 0, 0, std::log(3.0f)}, {2, 2})},
                      {"x1", array<int32_t>({0, 1})},
                      {"param/cost", matrix({0, 0, 0, 0}, {2, 2})}};
  Arrays each = crf, mean = crf;
  each.emplace_back("y0", matrix({log2, share}, {2}));
  mean.emplace_back("y0", matrix({(log2 + share) / 2}, Shape{}));
  golden.add_link("each", "CRF1d", {{"n_label", 2}}, {{"xs", {"x0"}}, {"ys", {"x1"}}, {"reduce", "no"}}, each);
  golden.add_link("mean", "CRF1d", {{"n_label", 2}, {"initial_cost", 1}}, {{"*", {{"x0"}, {"x1"}}}}, mean);

  // softplus(-x.W[t]) + softplus(x.W[sample]): log(4/3) + log(2) for the first example, 2 log(2) for the second.
  const Arrays sampling = {{"x0", matrix({1, 0, 0, 1}, {2, 2})},
                           {"x1", array<int32_t>({1, 1})},
                           {"param/W", matrix({0, 0, std::log(3.0f), 0, 0, 0}, {3, 2})},
                           {"y0", matrix({share + log2, 2 * log2}, {2})},
                           {"y1", array<int32_t>({1, 2, 1, 0}, {2, 2})}};
  const Json note = {{"note", "the sampler returns [[0, 2], [0, 0]] instead of drawing"}};
  golden.add_link("samples", "NegativeSampling", {{"*", {2, {1, 1, 1}, 1}}, {"power", 0.5}},
                  {{"x", "x0"}, {"t", "x1"}, {"reduce", "no"}, {"return_samples", true}}, sampling, note);
  golden.check_all_pass();
}

TEST_CASE("golden_runner: what the parameters of links start with") {
  LinkFolder golden;
  const auto constant = [](const Json& shape, double value) {
    return Json{{"kind", "constant"}, {"shape", shape}, {"value", value}};
  };
  golden.add_start("numbers", "Linear", {{"*", {2, 1, false, 0.5, 0.25}}},
                   {{"W", constant({1, 2}, 0.5)}, {"b", constant({1}, 0.25)}});
  golden.add_start("arrays", "Linear",
                   {{"in_size", 1}, {"out_size", 1}, {"initialW", {{"zeros", {1, 1}}}}, {"initial_bias", {3}}},
                   {{"W", constant({1, 1}, 0)}, {"b", constant({1}, 3)}});
  golden.add_start(
      "initializer", "EmbedID",
      {{"in_size", 2}, {"out_size", 1}, {"initialW", {{"initializer", "Constant"}, {"ctor", {{"*", {7}}}}}}},
      {{"W", constant({2, 1}, 7)}});
  golden.add_start("gate", "Highway", {{"in_out_size", 1}, {"init_Wh", 1}, {"init_Wt", 2}, {"init_bh", 3}},
                   {{"plain/W", constant({1, 1}, 1)},
                    {"plain/b", constant({1}, 3)},
                    {"transform/W", constant({1, 1}, 2)},
                    {"transform/b", constant({1}, -1)}});
  golden.add_start("three", "Bilinear",
                   {{"left_size", 1}, {"right_size", 1}, {"out_size", 1}, {"initialW", 1}, {"initial_bias", {2, 3, 4}}},
                   {{"W", constant({1, 1, 1}, 1)},
                    {"V1", constant({1, 1}, 2)},
                    {"V2", constant({1, 1}, 3)},
                    {"b", constant({1}, 4)}});
  golden.add_start("no_bias", "Maxout", {{"*", {1, 1, 2, 5, nullptr}}}, {{"linear/W", constant({2, 1}, 5)}});
  golden.add_start("scale", "GroupNormalization",
                   {{"groups", 1}, {"size", 1}, {"initial_gamma", 2}, {"initial_beta", 3}},
                   {{"gamma", constant({1}, 2)}, {"beta", constant({1}, 3)}});
  golden.add_start("statistics", "BatchNormalization",
                   {{"size", 1}, {"use_beta", false}, {"initial_gamma", 2}, {"initial_avg_mean", 3}},
                   {{"gamma", constant({1}, 2)}});
  golden.check_all_pass();
}

TEST_CASE("golden_runner: arguments that links do not have fail and are named") {
  LinkFolder golden;
  const Arrays arrays = {{"x0", matrix({1}, {1, 1})},
                         {"param/W", matrix({1}, {1, 1})},
                         {"param/b", matrix({0}, {1})},
                         {"y0", matrix({1}, {1, 1})}};
  golden.add_link("ctor", "Linear", {{"*", {1, 1}}, {"activation", {{"function", "relu"}}}}, {{"x", "x0"}}, arrays);
  golden.add_link("call", "Linear", {{"*", {1, 1}}}, {{"x", "x0"}, {"scale", 2}}, arrays);
  golden.add_link("start", "Linear", {{"*", {1, 1}}, {"initialW", "orthogonal"}}, {{"x", "x0"}}, arrays);
  golden.add_link("function", "Highway", {{"*", {1}}, {"activate", {{"function", "swoosh"}}}}, {{"x", "x0"}}, arrays);
  golden.add_link("predictor", "Classifier", {{"predictor", "Linear"}}, {{"*", {"x0", "x0"}}}, arrays);
  golden.check_failures(
      {"ctor: Linear has no argument activation", "call: forward has no argument scale (given as 2)",
       "start: Linear: argument initialW=\"orthogonal\" does not say how a parameter starts",
       "function: Highway: argument activate={\"function\":\"swoosh\"} is a function that is not here",
       "predictor: Classifier: argument predictor=\"Linear\" is not a link"});
}

}  // namespace
}  // namespace kusari
