#include "kusari/framework/autograd/computational_graph.h"

#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"

using namespace kusari;
namespace F = functions;

namespace {

const std::string kVariable = ",shape=\"octagon\",fillcolor=\"#E0E0E0\",style=\"filled\"];";
const std::string kFunction = ",shape=\"record\",fillcolor=\"#6495ED\",style=\"filled\"];";

}  // namespace

TEST_CASE("build_computational_graph") {
  Variable x(zeros({2, 3}));
  x.set_name("x");
  const Variable h = F::relu(x);
  const Variable y = F::sum(h);
  const std::string nodes = "0 [label=\"float32\"" + kVariable + "1 [label=\"" + y.creator()->name() + "\"" +
                            kFunction + "2 [label=\"(2, 3), float32\"" + kVariable + "3 [label=\"" +
                            h.creator()->name() + "\"" + kFunction;
  CHECK(build_computational_graph({y}) == "digraph graphname{rankdir=TB;" + nodes + "4 [label=\"x: (2, 3), float32\"" +
                                              kVariable + "1 -> 0;2 -> 1;3 -> 2;4 -> 3;}");
  CHECK(build_computational_graph({y}, {.rankdir = "LR", .show_name = false}) ==
        "digraph graphname{rankdir=LR;" + nodes + "4 [label=\"(2, 3), float32\"" + kVariable +
            "1 -> 0;2 -> 1;3 -> 2;4 -> 3;}");
  CHECK(build_computational_graph({y}, {.function_style = {{"shape", "box"}}, .remove_variable = true}) ==
        "digraph graphname{rankdir=TB;1 [label=\"" + std::string(y.creator()->name()) +
            "\",shape=\"box\"];3 [label=\"" + h.creator()->name() + "\",shape=\"box\"];3 -> 1;}");
}

TEST_CASE("build_computational_graph draws what is shared once") {
  const Variable x(zeros({4}));
  const Variable a = F::relu(x);
  const std::string both = build_computational_graph({a + a, F::relu(a)});
  const auto count = [&](const std::string& text) {
    int n = 0;
    for (size_t at = both.find(text); at != both.npos; at = both.find(text, at + 1)) ++n;
    return n;
  };
  CHECK(count("octagon") == 4);  // x, a and two outputs
  CHECK(count("record") == 3);
  CHECK(count(" -> ") == 6);  // a goes into a + a by one edge
  CHECK(build_computational_graph({a + a, F::relu(a)}) == both);
}

TEST_CASE("build_computational_graph: a leaf, names with quotes, no graph") {
  Variable x(zeros({}));
  x.set_name("a \"b\" \\");
  CHECK(build_computational_graph({x}) ==
        "digraph graphname{rankdir=TB;0 [label=\"a \\\"b\\\" \\\\: float32\"" + kVariable + "}");
  const auto mode = no_backprop_mode();
  CHECK(build_computational_graph({F::relu(x)}) ==
        "digraph graphname{rankdir=TB;0 [label=\"float32\"" + kVariable + "}");
}

TEST_CASE("build_computational_graph: errors") {
  CHECK_THROWS_WITH_AS(build_computational_graph({Variable()}), "build_computational_graph: an output is undefined",
                       ValueError);
  CHECK_THROWS_WITH_AS(build_computational_graph({Variable(zeros({}))}, {.rankdir = "XY"}),
                       "build_computational_graph: rankdir is 'XY': it must be TB, BT, LR or RL", ValueError);
}
