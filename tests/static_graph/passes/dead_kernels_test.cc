#include "kusari/framework/static_graph/passes/dead_kernels.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/random.h"
#include "kusari/tests/static_graph/program_testing.h"

namespace kusari::graphs {
namespace {

using kernels::Add;
using kernels::Neg;

std::vector<std::string> names(const Program& program) {
  std::vector<std::string> result;
  for (const Step& step : program.steps) result.push_back(step.is_code() ? "code" : step.name);
  return result;
}
using Names = std::vector<std::string>;

TEST_CASE("dead_kernels drops chains that lead nowhere") {
  ProgramBuilder b;
  const View x = b.input({3}), y = b.result({3});
  const View unused = b.pointwise(Neg{}, b.pointwise(Add{}, x, x));
  b.pointwise(Neg{}, unused);
  b.pointwise_to(y, Neg{}, x);
  PassLog log;
  CHECK(dead_kernels(b.program, log) == 3);
  CHECK(names(b.program) == Names{"neg"});
  REQUIRE(log.entries.size() == 1);
  CHECK(log.entries[0].pass == "dead_kernels");
  CHECK(log.entries[0].what == "dropped 3 whose results nobody reads");
  CHECK(dead_kernels(b.program, log) == 0);
  CHECK(log.entries.size() == 1);
}

TEST_CASE("dead_kernels keeps what is read later, also by another phase or in part") {
  ProgramBuilder b;
  const View x = b.input({4}), gradient = b.result({2});
  const View kept = b.pointwise(Neg{}, x);
  b.phase = Phase::backward;
  View half = kept;
  half.shape = {2};
  half.offset = 8;
  b.pointwise_to(gradient, Neg{}, half);
  PassLog log;
  CHECK(dead_kernels(b.program, log) == 0);
  CHECK(log.entries.empty());
}

TEST_CASE("dead_kernels keeps writes to memory outside the arena and to results") {
  for (const Slot::Kind kind : {Slot::Kind::input, Slot::Kind::leaf, Slot::Kind::external}) {
    ProgramBuilder b;
    const View x = b.input({3});
    b.pointwise_to(b.array(kind, {3}), Neg{}, x);
    PassLog log;
    CHECK(dead_kernels(b.program, log) == 0);
  }
  for (const Export exported : {Export::own, Export::arena}) {
    ProgramBuilder b;
    const View x = b.input({3});
    b.pointwise_to(b.array(Slot::Kind::intermediate, {3}, Dtype::float32, exported), Neg{}, x);
    PassLog log;
    CHECK(dead_kernels(b.program, log) == 0);
  }
}

TEST_CASE("dead_kernels: constants live while a later phase reads them") {
  ProgramBuilder b;
  const View w = b.leaf({3}), x = b.input({3}), y = b.result({3});
  const View used = b.array(Slot::Kind::constant, {3}), unused = b.array(Slot::Kind::constant, {3});
  b.phase = Phase::constant;
  b.pointwise_to(used, Neg{}, w);
  b.pointwise_to(unused, Neg{}, w);
  b.phase = Phase::forward;
  b.pointwise_to(y, Add{}, x, used);
  PassLog log;
  CHECK(dead_kernels(b.program, log) == 1);
  CHECK(names(b.program) == Names{"neg", "add"});
  CHECK(b.program.steps[0].operands.back().views[0].slot == used.slot);
}

TEST_CASE("dead_kernels follows changes in place") {
  const auto accumulate = [](ProgramBuilder& b, const View& sum, const View& x) { b.pointwise_to(sum, Add{}, sum, x); };
  SUBCASE("nobody reads the sum") {
    ProgramBuilder b;
    const View x = b.input({3});
    const View sum = b.pointwise(Neg{}, x);
    accumulate(b, sum, x);
    PassLog log;
    CHECK(dead_kernels(b.program, log) == 2);
  }
  SUBCASE("the sum is a result") {
    ProgramBuilder b;
    const View x = b.input({3}), sum = b.result({3});
    b.pointwise_to(sum, Neg{}, x);
    accumulate(b, sum, x);
    PassLog log;
    CHECK(dead_kernels(b.program, log) == 0);
  }
  SUBCASE("written whole again before it is read") {
    ProgramBuilder b;
    const View x = b.input({3}), y = b.result({3});
    const View reused = b.pointwise(Neg{}, x);
    b.pointwise_to(reused, Add{}, x, x);
    b.pointwise_to(y, Neg{}, reused);
    PassLog log;
    CHECK(dead_kernels(b.program, log) == 1);
    CHECK(names(b.program) == Names{"add", "neg"});
  }
  SUBCASE("written again in part") {
    ProgramBuilder b;
    const View x = b.input({4}), y = b.result({4}), small = b.input({2});
    const View reused = b.pointwise(Neg{}, x);
    View half = reused;
    half.shape = {2};
    b.pointwise_to(half, Neg{}, small);
    b.pointwise_to(y, Neg{}, reused);
    PassLog log;
    CHECK(dead_kernels(b.program, log) == 0);
  }
}

TEST_CASE("dead_kernels leaves code and the numbers of the random stream alone") {
  ProgramBuilder b;
  const View y = b.result({2});
  const auto draw = [&](const View& to, uint64_t offset) {
    b.add<kernels::Uniform>(
        {params_of(kernels::UniformRange{0, 1}),
         {.kind = Kind::random_state, .views = {}, .bytes = params_of(RandomState{0, offset}).bytes},
         operand_of(Kind::out, to)});
  };
  draw(b.temporary({2}), 0);
  b.code([] {});
  draw(y, 2);
  b.program.forward_random = 4;

  const ProgramRunner before(b.program);
  before.run({.seed = 7, .offset = 100});
  const std::vector<float> expected = before.at(y).to_vector<float>();
  PassLog log;
  CHECK(dead_kernels(b.program, log) == 1);
  CHECK(names(b.program) == Names{"code", "uniform"});
  CHECK(b.program.forward_random == 4);
  const ProgramRunner after(b.program);
  after.run({.seed = 7, .offset = 100});
  CHECK(after.at(y).to_vector<float>() == expected);
}

}  // namespace
}  // namespace kusari::graphs
