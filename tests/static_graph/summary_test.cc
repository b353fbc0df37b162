#include "kusari/framework/static_graph/summary.h"

#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/static_graph/dot.h"
#include "kusari/tests/static_graph/program_testing.h"

namespace kusari::graphs {
namespace {

using kernels::Add;
using kernels::Neg;

/// Half a mebibyte for each array.
ProgramBuilder example() {
  const Shape shape{131072};
  ProgramBuilder b;
  b.program.name = "Mlp";
  const View x = b.input(shape), w = b.leaf(shape), y = b.result(shape), gw = b.result(shape);
  const View c = b.array(Slot::Kind::constant, shape);
  b.phase = Phase::constant;
  b.pointwise_to(c, Neg{}, w);
  b.phase = Phase::forward;
  const View a = b.pointwise(Neg{}, b.pointwise(Add{}, x, c));
  b.pointwise_to(y, Neg{}, a);
  b.program.steps.back().fused = "neg, relu";
  b.code([] {});
  b.phase = Phase::backward;
  b.pointwise_to(gw, Add{}, a, x);
  return b;
}

TEST_CASE("summary counts kernels and says what memory is needed") {
  const ProgramBuilder b = example();
  PassLog log;
  log.recorded_kernels = 9;
  log.recorded_bytes = 7 << 19;
  log.recorded_live_bytes = 3 << 19;
  log.entries.push_back({"dead_kernels", "dropped 4 whose results nobody reads"});
  CHECK(summary(b.program, pack(lifetimes(b.program), 64), log) ==
        "static graph 'Mlp': 5 kernels, 9 recorded\n"
        "  when parameters change: 1\n"
        "       1  neg\n"
        "  forward: 3, and static_code 1 time\n"
        "       1  add\n"
        "       1  neg\n"
        "       1  neg (neg, relu)\n"
        "  backward: 1\n"
        "       1  add\n"
        "  memory\n"
        "    recorded   3.500 MiB of intermediate arrays, 1.500 MiB in use at one time\n"
        "    planned    1.000 MiB of intermediate arrays, 1.000 MiB in use at one time\n"
        "    arena      1.000 MiB\n"
        "    constants  0.500 MiB\n"
        "  passes\n"
        "    dead_kernels: dropped 4 whose results nobody reads\n");
}

TEST_CASE("summary of a program without steps") {
  Program program;
  program.name = "empty";
  CHECK(summary(program, {}, {}) ==
        "static graph 'empty': 0 kernels, 0 recorded\n"
        "  memory\n"
        "    recorded   0.000 MiB of intermediate arrays, 0.000 MiB in use at one time\n"
        "    planned    0.000 MiB of intermediate arrays, 0.000 MiB in use at one time\n"
        "    arena      0.000 MiB\n");
}

TEST_CASE("dot draws steps, slots and what goes where") {
  ProgramBuilder b;
  b.program.name = "a \"b\"";
  const View x = b.input({2, 3}), y = b.result({2, 3});
  b.temporary({5});  // no step uses it
  b.pointwise_to(y, Add{}, x, x);
  b.program.steps.back().fused = "add";
  b.phase = Phase::backward;
  b.code([] {});
  CHECK(dot(b.program) ==
        "digraph \"a \\\"b\\\"\" {\n"
        "  subgraph cluster_forward {\n"
        "    label=forward;\n"
        "    k0 [shape=box, label=\"add\\nadd\"];\n"
        "  }\n"
        "  subgraph cluster_backward {\n"
        "    label=backward;\n"
        "    k1 [shape=box, label=\"static_code\"];\n"
        "  }\n"
        "  s0 [style=filled, fillcolor=lightblue, label=\"input 0\\n24 bytes\"];\n"
        "  s1 [style=filled, fillcolor=palegreen, label=\"result 1\\n24 bytes\"];\n"
        "  s0 -> k0 [label=\"float32 (2, 3)\"];\n"
        "  s0 -> k0 [label=\"float32 (2, 3)\"];\n"
        "  k0 -> s1 [label=\"float32 (2, 3)\"];\n"
        "}\n");
}

}  // namespace
}  // namespace kusari::graphs
