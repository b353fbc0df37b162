#include "kusari/framework/static_graph/passes/lower_quantized.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/philox.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/initializers/initializer.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/convolution.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/framework/static_graph/passes/fuse_convolutions.h"
#include "kusari/framework/static_graph/passes/pointwise_step.h"
#include "kusari/tests/static_graph/program_testing.h"

namespace kusari::graphs {
namespace {

using kernels::Dequantize;
using kernels::FakeQuantize;
using kernels::Relu;

/// Convolutions of 8 bits in a row, as a model with quantized inputs and weights is recorded.
struct IntegerNet {
  ProgramBuilder b;
  View x = b.input({2, 6, 5, 5}), scale = number(), zero = number();
  std::vector<View> numbers;  // that are drawn around 0

  View number() { return b.external({}, Dtype::float32); }
  View drawn(const Shape& shape) {
    numbers.push_back(b.leaf(shape));
    return numbers.back();
  }
  View rounded(const View& from) { return b.pointwise(FakeQuantize{-128, 127}, from, scale, zero); }
  /// With a scale for each output channel.
  View weights(const Shape& shape) {
    const View w = drawn(shape);
    b.phase = Phase::constant;
    const View result = b.array(Slot::Kind::constant, shape);
    Shape by = Shape::filled(shape.ndim(), 1);
    by[0] = shape[0];
    const View scales = b.external(by);
    scales_.push_back(scales);
    b.pointwise_to(result, FakeQuantize{-127, 127}, w, scales, zero);
    b.phase = Phase::forward;
    return result;
  }
  View convolve(const View& from, const View& w, const View& bias = {}) {
    kernels::Convolution geometry;
    geometry.ndim = 2;
    for (int i = 0; i < 2; ++i) geometry.stride[i] = geometry.dilate[i] = geometry.pad[i] = 1;
    const View y = b.temporary({2, w.shape[0], 5, 5});
    b.add<kernels::ConvolutionForward>({params_of(geometry), operand_of(Kind::in, from), operand_of(Kind::in, w),
                                        operand_of(Kind::in, bias), operand_of(Kind::out, y)});
    return y;
  }
  /// Constants first, as passes want them.
  void order() { std::ranges::stable_sort(b.program.steps, {}, &Step::phase); }
  std::vector<float> run(const View& y) const {
    const ProgramRunner runner(b.program);
    random::seed(5);
    const auto draw = [&](const View& view) {
      runner.at(view).copy_from(
          initializers::generate_array(initializers::Normal(1.0), view.shape, Dtype::float32, Device()));
    };
    draw(x);
    for (const View& view : numbers) draw(view);
    runner.at(scale).fill(0.03);
    runner.at(zero).fill(3);
    for (const View& view : scales_) {
      std::vector<float> values;
      for (int64_t i = 0; i < numel(view.shape); ++i) values.push_back(0.02f + 0.001f * static_cast<float>(i));
      runner.at(view).copy_from(array(values, view.shape));
    }
    runner.run();
    return runner.at(y).to_vector<float>();
  }

 private:
  std::vector<View> scales_;
};

double worst_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, static_cast<double>(std::abs(a[i] - b[i])));
  return worst;
}

TEST_CASE("lower_quantized computes with integers") {
  IntegerNet net;
  const View y = net.b.result({2, 7, 5, 5});
  int expected = 1, written = 0;
  SUBCASE("a convolution with a bias") {
    const View bias = net.drawn({7});
    net.b.pointwise_to(y, Relu{}, net.convolve(net.rounded(net.x), net.weights({7, 6, 3, 3}), bias));
  }
  SUBCASE("a scale that is another at each replay") {
    net.scale = net.b.input({});
    net.b.pointwise_to(y, Relu{}, net.convolve(net.rounded(net.x), net.weights({7, 6, 3, 3})));
  }
  SUBCASE("two in a row: the first writes integers") {
    const View h = net.b.pointwise(Relu{}, net.convolve(net.rounded(net.x), net.weights({8, 6, 3, 3})));
    net.b.pointwise_to(y, Relu{}, net.convolve(net.rounded(h), net.weights({7, 8, 3, 3})));
    expected = 2;
    written = 1;
  }
  SUBCASE("somebody else reads the numbers between") {
    const View h = net.b.pointwise(Relu{}, net.convolve(net.rounded(net.x), net.weights({7, 6, 3, 3})));
    const View second = net.convolve(net.rounded(h), net.weights({7, 7, 3, 3}));
    net.b.pointwise_to(y, kernels::Add{}, second, h);
    expected = 2;
  }
  SUBCASE("one rounded array for two") {
    const View rounded = net.rounded(net.x);
    const View a = net.convolve(rounded, net.weights({7, 6, 3, 3})),
               c = net.convolve(rounded, net.weights({7, 6, 3, 3}));
    net.b.pointwise_to(y, kernels::Mul{}, a, c);
    expected = 2;
  }
  SUBCASE("weights with factors of the outputs") {
    const View w = net.weights({7, 6, 3, 3}), factors = net.drawn({7, 1, 1, 1});
    net.b.phase = Phase::constant;
    const View scaled = net.b.array(Slot::Kind::constant, w.shape);
    net.b.pointwise_to(scaled, kernels::Mul{}, w, factors);
    net.b.phase = Phase::forward;
    net.b.pointwise_to(y, Relu{}, net.convolve(net.rounded(net.x), scaled));
  }
  net.order();
  const std::vector<float> separate = net.run(y);
  PassLog log;
  fuse_convolutions(net.b.program, log);
  log = {};
  CHECK(lower_quantized(net.b.program, log) == expected);
  REQUIRE(log.entries.size() == 1);
  CHECK(log.entries[0].what == "made " + std::to_string(expected) + " convolutions of integers, " +
                                   std::to_string(written) + " of which write integers");
  // The second layer's inputs may be a step away.
  CHECK(worst_difference(net.run(y), separate) < (expected == 1 ? 1e-4 : 0.1));
}

TEST_CASE("lower_quantized scales in steps of what is rounded next") {
  IntegerNet net;
  const View y = net.b.result({2, 7, 5, 5});
  const View bias = net.drawn({8});
  const View sums = net.convolve(net.rounded(net.x), net.weights({8, 6, 3, 3}), bias);
  int divisions = 0;
  SUBCASE("sums alone") {
    net.b.pointwise_to(y, Relu{}, net.convolve(net.rounded(sums), net.weights({7, 8, 3, 3})));
    divisions = 2;  // of the weights' scales and of the bias
  }
  SUBCASE("a ReLU") {
    const View h = net.b.pointwise(Relu{}, sums);
    net.b.pointwise_to(y, Relu{}, net.convolve(net.rounded(h), net.weights({7, 8, 3, 3})));
    divisions = 2;
  }
  SUBCASE("a function that is not the same of multiples") {
    const View h = net.b.pointwise(kernels::Sigmoid{}, sums);
    net.b.pointwise_to(y, Relu{}, net.convolve(net.rounded(h), net.weights({7, 8, 3, 3})));
  }
  net.order();
  const std::vector<float> separate = net.run(y);
  PassLog log;
  fuse_convolutions(net.b.program, log);
  CHECK(lower_quantized(net.b.program, log) == 2);
  CHECK(log.entries.back().what == "made 2 convolutions of integers, 1 of which write integers");
  CHECK(std::ranges::count_if(net.b.program.steps, [](const Step& s) {
          return computes<kernels::Div>(s) && s.phase == Phase::constant;
        }) == divisions);
  CHECK(worst_difference(net.run(y), separate) < 0.1);
}

TEST_CASE("lower_quantized computes products with integers") {
  for (const bool transb : {true, false}) {
    CAPTURE(transb);
    IntegerNet net;
    net.x = net.b.input({9, 20});
    const View y = net.b.result({9, 12});
    const View w = transb ? net.weights({12, 20}) : net.drawn({20, 12});
    View matrix = w;
    if (!transb) {  // scales along the second axis
      net.b.phase = Phase::constant;
      matrix = net.b.array(Slot::Kind::constant, w.shape);
      const View scales = net.drawn({1, 12});
      const View positive = net.b.array(Slot::Kind::constant, scales.shape);
      net.b.pointwise_to(positive, kernels::Sigmoid{}, scales);
      net.b.pointwise_to(matrix, FakeQuantize{-127, 127}, w, positive, net.zero);
      net.b.phase = Phase::forward;
    }
    kernels::MatmulOptions options;
    options.transb = transb;
    net.b.add<kernels::Matmul>({operand_of(Kind::in, net.rounded(net.x)), operand_of(Kind::in, matrix),
                                operand_of(Kind::in, View()), params_of(options), operand_of(Kind::out, y)});
    net.order();
    const std::vector<float> separate = net.run(y);
    PassLog log;
    CHECK(pack_products(net.b.program, log) == 1);
    CHECK(lower_quantized(net.b.program, log) == 1);
    CHECK(worst_difference(net.run(y), separate) < 1e-4);
  }
}

TEST_CASE("lower_quantized computes products of a single row with integers") {
  IntegerNet net;
  net.x = net.b.input({1, 21});
  const View y = net.b.result({1, 12});
  kernels::MatmulOptions options;
  options.transb = true;
  const View bias = net.drawn({12});
  net.b.add<kernels::Matmul>({operand_of(Kind::in, net.rounded(net.x)), operand_of(Kind::in, net.weights({12, 21})),
                              operand_of(Kind::in, bias), params_of(options), operand_of(Kind::out, y)});
  net.order();
  const std::vector<float> separate = net.run(y);
  PassLog log;
  CHECK(pack_products(net.b.program, log) == 0);
  CHECK(lower_quantized(net.b.program, log) == 1);
  CHECK(worst_difference(net.run(y), separate) < 1e-4);
}

TEST_CASE("lower_quantized leaves what has no integers") {
  IntegerNet net;
  const View y = net.b.result({2, 7, 5, 5});
  SUBCASE("inputs that are not rounded") {
    net.b.pointwise_to(y, Relu{}, net.convolve(net.x, net.weights({7, 6, 3, 3})));
  }
  SUBCASE("weights that are not rounded") {
    net.b.pointwise_to(y, Relu{}, net.convolve(net.rounded(net.x), net.drawn({7, 6, 3, 3})));
  }
  SUBCASE("more bits") {
    const View rounded = net.b.pointwise(FakeQuantize{-32768, 32767}, net.x, net.scale, net.zero);
    net.b.pointwise_to(y, Relu{}, net.convolve(rounded, net.weights({7, 6, 3, 3})));
  }
  net.order();
  PassLog log;
  CHECK(lower_quantized(net.b.program, log) == 0);
  CHECK(log.entries.empty());
}

TEST_CASE("lower_quantized leaves weights whose axes are exchanged") {
  IntegerNet net;
  const View y = net.b.result({2, 6, 5, 5});
  View w = net.weights({6, 6, 3, 3});
  const auto exchange = [](View view, int i, int j) {
    std::swap(view.strides[i], view.strides[j]);  // their lengths are equal
    return view;
  };
  const auto times_factors = [&](const View& read) {
    const View factors = net.drawn({6, 1, 1, 1});
    net.b.phase = Phase::constant;
    const View scaled = net.b.array(Slot::Kind::constant, read.shape);
    net.b.pointwise_to(scaled, kernels::Mul{}, read, factors);
    net.b.phase = Phase::forward;
    return scaled;
  };
  SUBCASE("channels") { w = exchange(w, 0, 1); }
  SUBCASE("height and width") { w = exchange(w, 2, 3); }
  SUBCASE("both") { w = exchange(exchange(w, 0, 1), 2, 3); }
  SUBCASE("before factors of the outputs") { w = times_factors(exchange(w, 0, 1)); }
  SUBCASE("behind factors of the outputs") { w = exchange(times_factors(w), 2, 3); }
  net.b.pointwise_to(y, Relu{}, net.convolve(net.rounded(net.x), w));
  net.order();
  const std::vector<float> separate = net.run(y);
  PassLog log;
  CHECK(lower_quantized(net.b.program, log) == 0);
  CHECK(net.run(y) == separate);
}

TEST_CASE("lower_quantized leaves what has no outputs") {
  IntegerNet net;
  net.b.pointwise_to(net.b.result({2, 0, 5, 5}), Relu{}, net.convolve(net.rounded(net.x), net.weights({0, 6, 3, 3})));
  net.order();
  PassLog log;
  CHECK(lower_quantized(net.b.program, log) == 0);
}

}  // namespace
}  // namespace kusari::graphs
