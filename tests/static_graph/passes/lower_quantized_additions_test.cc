#include "kusari/framework/static_graph/passes/lower_quantized_additions.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/philox.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/tests/static_graph/program_testing.h"

namespace kusari::graphs {
namespace {

using kernels::Dequantize;
using kernels::Quantize;
using kernels::Relu;

/// Two arrays of 8 bits, dequantized.
struct Sum {
  ProgramBuilder b;
  Shape shape = {3, 7, 11};
  std::vector<View> integers, numbers;

  bool is_fixed = true;  // that scales and zero points are
  View number() {
    numbers.push_back(is_fixed ? b.external({}) : b.input({}));
    return numbers.back();
  }
  View dequantized(Dtype dtype) {
    integers.push_back(b.input(shape, dtype));
    const View y = b.temporary(shape), scale = number(), zero = number();
    b.pointwise_to(y, Dequantize{}, integers.back(), scale, zero);
    return y;
  }
  void quantize(const View& sum, const View& y) {
    const View scale = number(), zero = number();
    b.pointwise_to(y, y.dtype == Dtype::int8 ? Quantize{-128, 127} : Quantize{0, 255}, sum, scale, zero);
  }
  std::vector<int64_t> run(const View& y) const {
    const ProgramRunner runner(b.program);
    uint64_t seed = 0;
    for (const View& view : integers) {
      std::vector<int32_t> values;
      for (int64_t i = 0; i < numel(shape); ++i) {
        values.push_back(static_cast<int32_t>(philox_word(7 + seed, static_cast<uint64_t>(i)) % 256) -
                         (view.dtype == Dtype::int8 ? 128 : 0));
      }
      runner.at(view).copy_from(array(values, shape).astype(view.dtype));
      ++seed;
    }
    for (size_t i = 0; i < numbers.size(); ++i) {  // scales and zero points in turn
      const auto place = static_cast<double>(i);
      runner.at(numbers[i]).fill(i % 2 == 0 ? 0.013 + 0.004 * place : 5 * place - 8);
    }
    runner.run();
    return runner.at(y).to_vector<int64_t>();
  }
};

TEST_CASE("lower_quantized_additions adds integers") {
  for (const Dtype a : {Dtype::uint8, Dtype::int8}) {
    for (const Dtype to : {Dtype::uint8, Dtype::int8}) {
      for (const auto& [has_relu, is_fixed] : {std::pair{false, true}, {true, true}, {false, false}, {true, false}}) {
        CAPTURE(name(a));
        CAPTURE(name(to));
        CAPTURE(has_relu);
        CAPTURE(is_fixed);
        Sum net;
        net.is_fixed = is_fixed;
        const View y = net.b.result(net.shape, to);
        View sum = net.b.pointwise(kernels::Add{}, net.dequantized(a), net.dequantized(Dtype::uint8));
        if (has_relu) sum = net.b.pointwise(Relu{}, sum);
        net.quantize(sum, y);
        const std::vector<int64_t> separate = net.run(y);
        PassLog log;
        CHECK(lower_quantized_additions(net.b.program, log) == 1);
        REQUIRE(log.entries.size() == 1);
        CHECK(log.entries[0].what == "made 1 additions of integers");
        CHECK(std::ranges::count(net.b.program.steps, Phase::forward, &Step::phase) == 1);
        const std::vector<int64_t> found = net.run(y);
        if (!is_fixed) {
          CHECK(net.b.program.steps.size() == 1);
          CHECK(found == separate);
          continue;
        }
        CHECK(net.b.program.steps.size() == 4);  // two scales in steps of the result's, which is 1
        size_t apart = 0;
        for (size_t i = 0; i < found.size(); ++i) {
          CHECK(std::abs(found[i] - separate[i]) <= 1);
          apart += found[i] != separate[i] ? 1 : 0;
        }
        CHECK(apart <= found.size() / 50);  // sums between two integers
      }
    }
  }
}

TEST_CASE("lower_quantized_additions keeps what others read, and leaves what has no integers") {
  Sum net;
  const View y = net.b.result(net.shape, Dtype::uint8), other = net.b.result(net.shape);
  size_t steps = 0;
  int expected = 0;
  SUBCASE("an array is read by another kernel too") {
    const View a = net.dequantized(Dtype::uint8);
    net.quantize(net.b.pointwise(kernels::Add{}, a, net.dequantized(Dtype::int8)), y);
    net.b.pointwise_to(other, Relu{}, a);
    steps = 6;  // three constants, a, the addition, ReLU
    expected = 1;
  }
  SUBCASE("the sum is read by another kernel too") {
    const View sum = net.b.pointwise(kernels::Add{}, net.dequantized(Dtype::uint8), net.dequantized(Dtype::int8));
    net.quantize(sum, y);
    net.b.pointwise_to(other, Relu{}, sum);
    steps = 5;
  }
  SUBCASE("one of the arrays is of float32") {
    const View plain = net.b.input(net.shape);
    net.quantize(net.b.pointwise(kernels::Add{}, net.dequantized(Dtype::uint8), plain), y);
    steps = 3;
  }
  SUBCASE("the integers are written in between") {
    const View a = net.dequantized(Dtype::uint8), c = net.dequantized(Dtype::uint8);
    const View sum = net.b.pointwise(kernels::Add{}, a, c);
    net.b.pointwise_to(net.integers[0], kernels::Add{}, net.integers[1], net.integers[1]);
    net.quantize(sum, y);
    steps = 5;
  }
  PassLog log;
  CHECK(lower_quantized_additions(net.b.program, log) == expected);
  CHECK(net.b.program.steps.size() == steps);
}

}  // namespace
}  // namespace kusari::graphs
