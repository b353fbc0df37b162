#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "../scratch_directory.h"
#include "kusari/framework/kusari.h"

namespace kusari {
namespace {

using testing::read_file;

// Sees each call with its options, as "leaky_relu(slope=0.5)".
class Described final : public FunctionHook {
 public:
  void called(const FunctionNode& function, std::span<const Variable* const> in,
              std::span<const Variable> out) override {
    Attributes options;
    function.describe(options);
    texts.push_back(std::string(function.name()) + "(" + to_string(options) + ")");
    for (const Variable* x : in) inputs.push_back(x->node());
    for (const Variable& y : out) outputs.push_back(y.node());
  }

  std::vector<std::string> texts;
  std::vector<const detail::VariableNode*> inputs, outputs;
};

template <class F>
std::string described(const F& f) {
  Described hook;
  const ScopedFunctionHook scope(hook);
  f();
  return hook.texts.back();
}

TEST_CASE("functions tell their options") {
  const Variable x(zeros({2, 3, 4, 4}));
  CHECK(described([&] { F::leaky_relu(x, 0.5); }) == "leaky_relu(slope=0.5)");
  CHECK(described([&] { F::relu(x); }) == "relu()");
  CHECK(described([&] { F::sum(x, {.axis = {1, -1}, .keepdims = true}); }) == "sum(axis=(1, 3), keepdims=True)");
  CHECK(described([&] { F::reshape(x, {6, 16}); }) == "reshape(shape=(6, 16))");
  CHECK(described([&] { F::cast(x, Dtype::float16); }) == "cast(dtype='float16')");
  CHECK(described([&] { x * 3; }) == "mul_const(c=3)");
  const Variable W(zeros({6, 1, 3, 3}));
  CHECK(described([&] {
          F::convolution_2d(x, W, Variable(), {.stride = 2, .pad = {1, 0}, .groups = 3});
        }) ==
        "convolution_2d(stride=(2, 2), pad=(1, 0), dilate=(1, 1), groups=3, cover_all=False, outsize=(), relu=False, "
        "transposed=False)");
  CHECK(described([&] { F::max_pooling_2d(x, 2); }) ==
        "max_pooling_2d(ksize=(2, 2), stride=(2, 2), pad=(0, 0), cover_all=True)");
  CHECK(described([&] {
          F::get_item(x, {0, Slice{1, 3}});
        }) ==
        "get_item(start=(0, 1, 0, 0), count=(1, 2, 4, 4), step=(1, 1, 1, 1), shape=(2, 4, 4), "
        "slices=':1, 1:3, :, :')");
  CHECK(described([&] { F::argmax(x, 1); }) == "argmax(axis=1)");
  CHECK(described([&] { F::argmax(x); }) == "argmax()");
  CHECK(described([&] { F::sign(x); }) == "sign()");
}

TEST_CASE("a hook sees the variables of calls, with and without a graph") {
  for (const bool with_graph : {true, false}) {
    CAPTURE(with_graph);
    const auto mode = using_config(&Config::enable_backprop, with_graph);
    Described hook;
    const Variable x(ones({4}));
    Variable y;
    {
      const ScopedFunctionHook scope(hook);
      const Variables halves = F::split_axis(F::exp(x), 2, 0);
      y = F::where(Variable(ones({2}, Dtype::bool_), false), halves[0], halves[1]);
    }
    CHECK(hook.texts == std::vector<std::string>{"exp()", "split_axis(axis=0, ends=(2, 4))", "where()"});
    REQUIRE(hook.inputs.size() == 5);
    REQUIRE(hook.outputs.size() == 4);
    CHECK(hook.inputs[0] == x.node());
    CHECK(hook.inputs[1] == hook.outputs[0]);
    CHECK(hook.inputs[3] == hook.outputs[1]);
    CHECK(hook.inputs[4] == hook.outputs[2]);
    CHECK(hook.outputs[3] == y.node());
  }
}

TEST_CASE("Attributes are ordered, typed and named") {
  Attributes options{{"axis", int64_t{1}}, {"ratio", 0.5}};
  options.set("mode", "fast");
  options.set("axis", 2);
  options.set("absent", std::optional<int64_t>());
  options.set("weights", zeros({2, 3}));
  CHECK(to_string(options) == "axis=2, ratio=0.5, mode='fast', weights=float32(2, 3)");
  CHECK(options.integer("axis") == 2);
  CHECK(options.real("ratio") == 0.5);
  CHECK(options.text("mode") == "fast");
  CHECK_FALSE(options.has("absent"));
  CHECK_THROWS_WITH_AS(options.integer("none"),
                       "Attributes: there is no option 'none' among axis=2, ratio=0.5, mode='fast', "
                       "weights=float32(2, 3)",
                       KeyError);
  CHECK_THROWS_WITH_AS(options.integer("ratio"), "Attributes: option 'ratio' is 0.5: it is of another kind", TypeError);
}

// Members of a node are its options, or what forward leaves to backward. A node that has any tells its options, unless
// it is listed here as one that has none.
TEST_CASE("each function of the library that has members describes them") {
  const std::set<std::string> without_options = {"StaticCall", "StepFunction", "PseudoConnect"};
  const std::regex declaration(R"(^class (\w+)(?: final)? : public (?:[\w:]*::)?(\w+).*\{$)");
  const std::regex member(
      R"(^  (?!return |using |static |delete )[\w:<>, *&]+ [*]?\w+_(?:\{.*\})?(?:, \w+_)*(?: = .*)?;.*$)");
  struct Class {
    std::string name, base, place;
    bool has_members = false, describes = false;
  };
  std::vector<Class> classes;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(KUSARI_SOURCE_DIR) + "/framework")) {
    const std::string path = entry.path().string();
    if (!entry.is_regular_file() || (!path.ends_with(".cc") && !path.ends_with(".h"))) continue;
    const std::string text = read_file(path);
    if (text.find("FunctionNode") == std::string::npos && text.find("Function<") == std::string::npos &&
        text.find("RowProduct") == std::string::npos && text.find("NormalizeGroups") == std::string::npos) {
      continue;
    }
    std::istringstream lines(text);
    std::smatch found;
    Class* open = nullptr;
    for (std::string line; std::getline(lines, line);) {
      if (std::regex_match(line, found, declaration)) {
        classes.push_back({found[1], found[2], path});
        open = &classes.back();
      } else if (line == "};") {
        open = nullptr;
      } else if (open != nullptr) {
        open->has_members |= std::regex_match(line, member);
        open->describes |= line.find("void describe(Attributes& options) const override") != std::string::npos;
      }
    }
  }
  std::set<std::string> nodes{"FunctionNode", "UnaryFunction", "FunctionWithOptions", "WithConst"};
  for (int round = 0; round < 3; ++round) {
    for (const Class& one : classes) {
      if (nodes.contains(one.base)) nodes.insert(one.name);
    }
  }
  int checked = 0;
  for (const Class& one : classes) {
    if (!nodes.contains(one.base) || one.name == "UnaryFunction" || without_options.contains(one.name)) continue;
    CAPTURE(one.place);
    CAPTURE(one.name);
    ++checked;
    CHECK((!one.has_members || one.describes));
  }
  CHECK(checked > 150);
}

}  // namespace
}  // namespace kusari
