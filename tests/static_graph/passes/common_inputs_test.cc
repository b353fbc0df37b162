#include "kusari/framework/static_graph/passes/common_inputs.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/random.h"
#include "kusari/framework/static_graph/passes/dead_kernels.h"
#include "kusari/tests/static_graph/program_testing.h"

namespace kusari::graphs {
namespace {

using kernels::Add;
using kernels::AddConst;
using kernels::Mul;
using kernels::Neg;

int drop(ProgramBuilder& b) {
  PassLog log;
  return common_inputs(b.program, log);
}

/// A moment that needs more memory than anything else in these programs.
void add_peak(ProgramBuilder& b) { b.pointwise(Neg{}, b.input({4096})); }

TEST_CASE("common_inputs lets readers of a repeated step read the first one's result") {
  ProgramBuilder b;
  const View x = b.input({3}), z = b.input({3}), y = b.result({3});
  const View first = b.pointwise(Mul{}, b.pointwise(Neg{}, x), z);
  const View again = b.pointwise(Mul{}, b.pointwise(Neg{}, x), z);
  View reversed = again;  // read in part and in another order
  reversed.strides = {-1};
  reversed.offset = 8;
  b.pointwise_to(y, Add{}, first, reversed);

  PassLog log;
  CHECK(common_inputs(b.program, log) == 2);
  REQUIRE(log.entries.size() == 1);
  CHECK(log.entries[0].pass == "common_inputs");
  CHECK(log.entries[0].what == "dropped 2 that repeat an earlier one");
  REQUIRE(b.program.steps.size() == 3);
  const ProgramRunner runner(b.program);
  runner.at(x).copy_from(array<float>({1, 2, 3}));
  runner.at(z).copy_from(array<float>({10, 20, 30}));
  runner.run();
  CHECK(runner.at(y).to_vector<float>() == std::vector<float>{-100, -80, -100});
}

TEST_CASE("common_inputs tells kernels, parameters, inputs, shapes and dtypes apart") {
  ProgramBuilder b;
  const View x = b.input({4}), z = b.input({4});
  View half = x;
  half.shape = {2};
  View other_half = half;
  other_half.offset = 8;
  b.pointwise(Neg{}, x);
  SUBCASE("kernel") { b.pointwise(AddConst{0}, x); }
  SUBCASE("input") { b.pointwise(Neg{}, z); }
  SUBCASE("operands swapped") {
    b.pointwise(Add{}, x, z);
    b.pointwise(Add{}, z, x);
  }
  SUBCASE("parameters") {
    b.pointwise(AddConst{1}, x);
    b.pointwise(AddConst{2}, x);
  }
  SUBCASE("elements") {
    b.pointwise(Neg{}, half);
    b.pointwise(Neg{}, other_half);
  }
  SUBCASE("dtype of the result") { b.pointwise_to(b.temporary({4}, Dtype::float64), Neg{}, x); }
  SUBCASE("strides of the result") {
    View y = b.temporary({4});
    y.strides = {-1};
    y.offset = 12;
    b.pointwise_to(y, Neg{}, x);
  }
  CHECK(drop(b) == 0);
}

TEST_CASE("common_inputs sees writes between the two") {
  ProgramBuilder b;
  add_peak(b);
  const View x = b.input({3}), running = b.external({3});
  View changing = b.pointwise(Neg{}, x);
  SUBCASE("nothing") {
    b.pointwise(Neg{}, changing);
    b.pointwise(Neg{}, changing);
    CHECK(drop(b) == 1);
  }
  SUBCASE("an input changed in place") {
    b.pointwise(Neg{}, changing);
    b.pointwise_to(changing, Add{}, changing, x);
    b.pointwise(Neg{}, changing);
    CHECK(drop(b) == 0);
  }
  SUBCASE("another part of the input's slot") {  // taken for a change
    View half = changing;
    half.shape = {1};
    b.pointwise(Neg{}, half);
    half.offset = 4;
    b.pointwise_to(half, Neg{}, half);
    half.offset = 0;
    b.pointwise(Neg{}, half);
    CHECK(drop(b) == 0);
  }
  SUBCASE("code on the host, which may write what was there before") {
    b.pointwise(Neg{}, running);
    b.pointwise(AddConst{1}, changing);
    b.code([] {});
    b.pointwise(Neg{}, running);
    b.pointwise(AddConst{1}, changing);
    CHECK(drop(b) == 1);
    CHECK(b.program.steps.back().operands[1].views[0] == running);
  }
  SUBCASE("the time between forward and backward") {
    b.pointwise(Neg{}, running);
    b.pointwise(AddConst{1}, changing);
    b.phase = Phase::backward;
    b.pointwise(Neg{}, running);
    b.pointwise(AddConst{1}, changing);
    CHECK(drop(b) == 1);
    CHECK(b.program.steps.back().operands[1].views[0] == running);
  }
  SUBCASE("the first result changed in place") {
    const View first = b.pointwise(Neg{}, x);  // as `changing`
    b.pointwise_to(first, Add{}, first, x);
    b.pointwise(AddConst{1}, first);
    CHECK(drop(b) == 0);
  }
}

TEST_CASE("common_inputs keeps results, random numbers and changes in place") {
  ProgramBuilder b;
  const View x = b.input({3}), total = b.external({3});
  SUBCASE("results") {
    b.pointwise_to(b.result({3}), Neg{}, x);
    b.pointwise_to(b.result({3}), Neg{}, x);
  }
  SUBCASE("memory from outside") {
    b.pointwise_to(total, Neg{}, x);
    b.pointwise_to(total, Neg{}, x);
  }
  SUBCASE("random numbers") {
    for (int i = 0; i < 2; ++i) {
      Operand state = params_of(RandomState{});
      state.kind = Kind::random_state;
      b.add<kernels::Uniform>({params_of(kernels::UniformRange{}), state, operand_of(Kind::out, b.temporary({3}))});
    }
  }
  SUBCASE("in place") {
    const View sum = b.pointwise(Neg{}, x);
    b.pointwise_to(sum, Add{}, sum, x);
    b.pointwise_to(sum, Add{}, sum, x);
  }
  CHECK(drop(b) == 0);
}

TEST_CASE("common_inputs does not keep what is computed again for want of memory") {
  // As with F::forget: `middle` is not kept while the large part runs, but computed again afterwards.
  ProgramBuilder b;
  const View x = b.input({8}), large = b.input({1024}), y = b.result({1024}), gradient = b.result({8});
  b.pointwise_to(b.result({8}), Neg{}, b.pointwise(AddConst{1}, x));
  b.pointwise_to(y, Neg{}, b.pointwise(Neg{}, large));
  b.pointwise_to(gradient, Neg{}, b.pointwise(AddConst{1}, x));
  const size_t peak = largest_live_bytes(lifetimes(b.program));
  SUBCASE("") {
    CHECK(drop(b) == 0);
    CHECK(largest_live_bytes(lifetimes(b.program)) == peak);
  }
  SUBCASE("unless the peak is elsewhere") {
    add_peak(b);
    CHECK(drop(b) == 1);
  }
}

}  // namespace
}  // namespace kusari::graphs
