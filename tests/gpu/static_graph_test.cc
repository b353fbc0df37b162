#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/random.h"
#include "kusari/framework/static_graph/instance.h"
#include "kusari/tests/gpu/testing.h"
#include "kusari/tests/static_graph/program_testing.h"

// Recorded programs as graphs of a CUDA device.
namespace kusari::graphs {
namespace {

using namespace kusari::testing;

// y = dropout(x w + b) and, backward, gw = x^T (gy * mask), with a running sum of all y.
struct Layer {
  ProgramBuilder builder;
  View x, w, b, sum, gy, y, mask, gw;

  Layer(const Device& device, int64_t n, int64_t in, int64_t out) {
    builder.device = device;
    builder.program.name = "Layer";
    x = builder.input({n, in});
    w = builder.leaf({in, out});
    b = builder.leaf({out});
    sum = builder.external({n, out});
    gy = builder.input({n, out});
    y = builder.result({n, out});
    mask = builder.result({n, out});
    gw = builder.result({in, out});
    const View h = builder.temporary({n, out});
    builder.add<kernels::Matmul>({operand_of(Kind::in, x), operand_of(Kind::in, w), operand_of(Kind::in, b),
                                  params_of(kernels::MatmulOptions{}), operand_of(Kind::out, h)});
    Operand state = params_of(RandomState{});
    state.kind = Kind::random_state;
    builder.add<kernels::Dropout>({params_of(kernels::DropoutRatio{0.5}), state, operand_of(Kind::in, h),
                                   operand_of(Kind::out, y), operand_of(Kind::out, mask)});
    builder.pointwise_to(sum, kernels::Add{}, sum, y);
    builder.program.forward_random = static_cast<uint64_t>(n * out);
    builder.phase = Phase::backward;
    const View gh = builder.pointwise(kernels::Mul{}, gy, mask);
    const kernels::MatmulOptions transposed{.transa = true, .transb = false};
    builder.add<kernels::Matmul>({operand_of(Kind::in, x), operand_of(Kind::in, gh), operand_of(Kind::in, View{}),
                                  params_of(transposed), operand_of(Kind::out, gw)});
  }

  std::vector<std::vector<float>> call(Instance& instance, const std::vector<Array>& arrays, uint64_t first) const {
    instance.begin();
    instance.bind(w.slot, arrays[1]);
    instance.bind(b.slot, arrays[2]);
    instance.bind(sum.slot, arrays[3]);
    instance.bind(x, arrays[0]);
    instance.run(Phase::forward, {.seed = 7, .offset = first});
    instance.bind(gy, arrays[4]);
    instance.run(Phase::backward, {.seed = 7});
    std::vector<std::vector<float>> results;
    for (const View& view : {y, mask, gw}) results.push_back(instance.array_of(view).to_vector<float>());
    instance.unbind();
    results.push_back(arrays[3].to_vector<float>());
    return results;
  }
};

TEST_CASE("a recorded program gives the same as steps, as graphs and on the CPU") {
  const auto device = gpu_device();
  if (!device) return;
  const Layer there(*device, 5, 7, 9), here(Device(), 5, 7, 9);
  const Plan plan(there.builder.program), cpu_plan(here.builder.program);
  CHECK(plan.uses_graphs());
  Instance instance(plan), cpu_instance(cpu_plan);
  std::vector<Array> arrays, cpu_arrays;
  for (const Shape& shape : {Shape{5, 7}, Shape{7, 9}, Shape{9}, Shape{5, 9}, Shape{5, 9}}) {
    cpu_arrays.push_back(uniform_array(shape, -1, 1, Dtype::float32, arrays.size() + 1));
    arrays.push_back(cpu_arrays.back().to_device(*device));
  }
  uint64_t first = 100;
  for (int i = 0; i < 6; ++i) {
    CAPTURE(i);
    // Another argument each time; another weight, in place and elsewhere; another place in the stream.
    cpu_arrays[0] = uniform_array({5, 7}, -1, 1, Dtype::float32, 50 + static_cast<uint64_t>(i));
    arrays[0] = cpu_arrays[0].to_device(*device);
    if (i == 3) cpu_arrays[1].fill(0.5), arrays[1].fill(0.5);
    if (i == 4) cpu_arrays[1] = uniform_array({7, 9}, -1, 1), arrays[1] = cpu_arrays[1].to_device(*device);
    first += i == 2 ? 1000 : 45;
    const auto expected = here.call(cpu_instance, cpu_arrays, first);
    const auto results = there.call(instance, arrays, first);
    for (size_t k = 0; k < expected.size(); ++k) {
      CAPTURE(k);
      REQUIRE(results[k].size() == expected[k].size());
      for (size_t e = 0; e < expected[k].size(); ++e)
        CHECK(results[k][e] == doctest::Approx(expected[k][e]).epsilon(1e-4));
    }
  }
}

TEST_CASE("a result of a CUDA graph may be an argument of the next call") {
  const auto device = gpu_device();
  if (!device) return;
  ProgramBuilder builder;
  builder.device = *device;
  const View x = builder.input({1000}), w = builder.leaf({1000}), y = builder.result({1000});
  builder.pointwise_to(y, kernels::Add{}, x, w);
  const Plan plan(builder.program);
  Instance instance(plan);
  const Array ones_there = ones({1000}, Dtype::float32, *device);
  Array state = zeros({1000}, Dtype::float32, *device);
  for (int i = 0; i < 5; ++i) {
    instance.begin();
    instance.bind(w.slot, ones_there);
    instance.bind(x, state);
    instance.run(Phase::forward, {});
    state = instance.array_of(y);
    instance.unbind();
  }
  CHECK(state.to_vector<float>() == std::vector<float>(1000, 5));
}

}  // namespace
}  // namespace kusari::graphs
