#include "kusari/framework/static_graph/passes/constants.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/batch_normalization.h"
#include "kusari/tests/static_graph/program_testing.h"

namespace kusari::graphs {
namespace {

using kernels::Add;
using kernels::AddConst;
using kernels::Mul;
using kernels::Neg;

int move(Program& program) {
  PassLog log;
  const int moved = constants(program, log);
  CHECK(log.entries.size() == (moved > 0 ? 1 : 0));
  return moved;
}

int count(const Program& program, Phase phase) {
  return static_cast<int>(std::ranges::count(program.steps, phase, &Step::phase));
}

TEST_CASE("constants moves what depends on leaves and externals alone before everything else") {
  ProgramBuilder b;
  const View x = b.input({2}), w = b.leaf({2}), e = b.external({2}), y = b.result({2});
  const View varying = b.pointwise(Neg{}, x);
  const View scaled = b.pointwise(Mul{}, b.pointwise(AddConst{1}, w), e);
  b.pointwise_to(y, Add{}, b.pointwise(Mul{}, varying, scaled), scaled);
  CHECK(move(b.program) == 2);
  REQUIRE(b.program.steps.size() == 5);
  CHECK(count(b.program, Phase::constant) == 2);
  CHECK(b.program.steps[1].phase == Phase::constant);
  CHECK(b.program.slots[static_cast<size_t>(scaled.slot)].kind == Slot::Kind::constant);
  CHECK(b.program.slots[static_cast<size_t>(varying.slot)].kind == Slot::Kind::intermediate);

  const ProgramRunner runner(b.program);
  runner.at(x).copy_from(array<float>({1, 2}));
  runner.at(w).copy_from(array<float>({3, 4}));
  runner.at(e).copy_from(array<float>({5, 6}));
  runner.run();
  CHECK(runner.at(y).to_vector<float>() == std::vector<float>{0, -30});
}

TEST_CASE("constants moves nothing that changes from call to call, or that others see") {
  ProgramBuilder b;
  const View x = b.input({2}), w = b.leaf({2});
  SUBCASE("an input") { b.pointwise_to(b.result({2}), Neg{}, b.pointwise(Mul{}, x, w)); }
  SUBCASE("an external that the program writes") {
    const View e = b.external({2});
    b.pointwise_to(b.result({2}), Neg{}, b.pointwise(Neg{}, e));
    b.pointwise_to(e, Neg{}, x);
  }
  SUBCASE("an external that static_code may write") {
    const View e = b.external({2});
    b.pointwise_to(b.result({2}), Neg{}, b.pointwise(Neg{}, e));
    b.code([] {});
  }
  SUBCASE("training: a backward phase") {
    b.pointwise_to(b.result({2}), Neg{}, b.pointwise(Neg{}, w));
    b.phase = Phase::backward;
    b.pointwise_to(b.result({2}), Neg{}, x);
  }
  SUBCASE("training: another leaf is written") {
    b.pointwise_to(b.result({2}), Neg{}, b.pointwise(Neg{}, w));
    b.pointwise_to(b.leaf({2}), Neg{}, x);
  }
  SUBCASE("a result of the call") { b.pointwise_to(b.result({2}), Neg{}, w); }
  SUBCASE("an array that is written twice") {
    const View t = b.pointwise(Neg{}, w);
    b.pointwise_to(t, Add{}, t, x);
    b.pointwise_to(b.result({2}), Neg{}, t);
  }
  SUBCASE("an array that is written in part") {
    View t = b.temporary({4});
    t.shape = {2};
    b.pointwise_to(t, Neg{}, w);
    b.pointwise_to(b.result({2}), Neg{}, t);
  }
  CHECK(move(b.program) == 0);
  CHECK(count(b.program, Phase::constant) == 0);
}

TEST_CASE("constants moves normalizations of weights, which have no running statistics") {
  for (const bool has_statistics : {false, true}) {
    CAPTURE(has_statistics);
    ProgramBuilder b;
    const auto in = [](const View& view) { return operand_of(Kind::in, view); };
    const auto statistics = [&] { return operand_of(Kind::in_out, has_statistics ? b.external({2}) : View()); };
    const auto out = [](const View& view) { return operand_of(Kind::out, view); };
    const View y = b.temporary({1, 2, 3});
    b.add<kernels::BatchNormalizationForward>({params_of(kernels::BatchNormalization{}), in(b.leaf({1, 2, 3})),
                                               in(View()), in(b.leaf({2})), in(b.leaf({2})), statistics(), statistics(),
                                               out(b.temporary({2})), out(b.temporary({2})), out(y)});
    b.pointwise_to(b.result({1, 2, 3}), Neg{}, y);
    CHECK(move(b.program) == (has_statistics ? 0 : 1));
  }
}

TEST_CASE("constants moves an array made of nothing only for another constant") {
  ProgramBuilder b;
  const View w = b.leaf({2}), x = b.input({2});
  const View ones = b.temporary({2}), zeros = b.temporary({2});
  const auto fill = [&](const View& view, double value) {
    b.add<kernels::Fill>({params_of(Scalar(value)), operand_of(Kind::out, view)});
  };
  fill(ones, 1);
  fill(zeros, 0);
  b.pointwise_to(b.result({2}), Add{}, b.pointwise(Mul{}, ones, w), b.pointwise(Add{}, zeros, x));
  CHECK(move(b.program) == 2);
  CHECK(b.program.slots[static_cast<size_t>(ones.slot)].kind == Slot::Kind::constant);
  CHECK(b.program.slots[static_cast<size_t>(zeros.slot)].kind == Slot::Kind::intermediate);
}

}  // namespace
}  // namespace kusari::graphs
