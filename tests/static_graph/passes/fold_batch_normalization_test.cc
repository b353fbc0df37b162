#include "kusari/framework/static_graph/passes/fold_batch_normalization.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/initializers/initializer.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/initializers/uniform.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/batch_normalization.h"
#include "kusari/framework/kernels/convolution.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/tests/static_graph/program_testing.h"

namespace kusari::graphs {
namespace {

/// A layer and the batch normalization after it.
struct FoldedNet {
  ProgramBuilder b;
  View x, w, bias, residual, gamma, beta, mean, var, inv_std, hidden, y;
  bool relu = false;

  explicit FoldedNet(Dtype dtype, int64_t groups = 1) {
    x = b.input({2, 4, 6, 6}, dtype);
    w = b.leaf({8, 4 / groups, 3, 3}, dtype);
    hidden = b.temporary({2, 8, 6, 6}, dtype);
    y = b.result(hidden.shape, dtype);
    add_statistics(dtype == Dtype::float64 ? dtype : Dtype::float32);
    geometry.ndim = 2;
    geometry.groups = groups;
    for (int i = 0; i < 2; ++i) geometry.stride[i] = geometry.dilate[i] = geometry.pad[i] = 1;
  }
  static FoldedNet linear(bool is_transposed) {
    FoldedNet net(Dtype::float32);
    net.x = net.b.input({5, 4});
    net.w = is_transposed ? net.b.leaf({8, 4}) : net.b.leaf({4, 8});
    net.hidden = net.b.temporary({5, 8});
    net.y = net.b.result({5, 8});
    net.matmul = {.transa = false, .transb = is_transposed};
    return net;
  }

  void add_layer() {
    if (x.shape.ndim() == 2) {
      b.add<kernels::Matmul>({operand_of(Kind::in, x), operand_of(Kind::in, w), operand_of(Kind::in, bias),
                              params_of(matmul), operand_of(Kind::out, hidden)});
    } else {
      b.add<kernels::ConvolutionForward>({params_of(geometry), operand_of(Kind::in, x), operand_of(Kind::in, w),
                                          operand_of(Kind::in, bias), operand_of(Kind::out, hidden)});
    }
  }
  void add_normalization() {
    kernels::BatchNormalization options;
    options.axes = AxisMask::of(0);
    for (int axis = 2; axis < x.shape.ndim(); ++axis) options.axes.bits |= AxisMask::of(axis).bits;
    options.eps = 0.01;
    options.relu = relu;
    options.fixed = true;
    const auto in = [](const View& view) { return operand_of(Kind::in, view); };
    b.add<kernels::FixedBatchNormalization>({params_of(options), in(hidden), in(residual), in(gamma), in(beta),
                                             in(mean), in(var), operand_of(Kind::out, inv_std),
                                             operand_of(Kind::out, y)});
  }

  kernels::Convolution geometry;
  kernels::MatmulOptions matmul;

 private:
  void add_statistics(Dtype dtype) {
    gamma = b.leaf({8}, dtype);
    beta = b.leaf({8}, dtype);
    mean = b.external({8}, dtype);
    var = b.external({8}, dtype);
  }
};

int fold(Program& program) {
  PassLog log;
  const int folded = fold_batch_normalization(program, log);
  CHECK(log.entries.size() == (folded > 0 ? 1 : 0));
  return folded;
}

/// y from seeded numbers.
std::vector<double> folded_output(const FoldedNet& net) {
  const ProgramRunner runner(net.b.program);
  random::seed(5);
  const auto draw = [&](const View& view, const Initializer& initializer) {
    if (!view.is_defined()) return;
    const Array drawn = initializers::generate_array(initializer, view.shape, Dtype::float32, Device());
    runner.at(view).copy_from(drawn);
  };
  for (const View* view : {&net.x, &net.w, &net.bias, &net.residual, &net.gamma, &net.beta, &net.mean})
    draw(*view, initializers::Normal(1.0));
  draw(net.var, initializers::Uniform(0.5));
  const Array var = runner.at(net.var);
  var.copy_from(array<float>({0.1f, 2, 3, 0.5f, 1, 1.5f, 0.7f, 0}));  // the last one is eps alone
  runner.run();
  return runner.at(net.y).astype(Dtype::float64).to_vector<double>();
}

void check_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]) / (1 + std::abs(b[i])));
  CHECK(worst <= tolerance);
}

/// Builds the net, folds it, and compares.
void check_folded(FoldedNet net, double tolerance) {
  net.add_layer();
  net.add_normalization();
  const std::vector<double> expected = folded_output(net);
  REQUIRE(fold(net.b.program) == 1);
  CHECK(std::ranges::none_of(net.b.program.steps, [](const Step& step) {
    return std::string_view(step.name) == kernels::FixedBatchNormalization::kName;
  }));
  check_near(folded_output(net), expected, tolerance);
}

TEST_CASE("fold_batch_normalization gives the numbers of separate kernels") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16, Dtype::float16}) {
    const double tolerance = dtype == Dtype::float64   ? 1e-12
                             : dtype == Dtype::float32 ? 1e-5
                             : dtype == Dtype::float16 ? 0.02
                                                       : 0.25;
    for (const bool has_bias : {false, true}) {
      for (const bool has_residual : {false, true}) {
        for (const bool relu : {false, true}) {
          CAPTURE(std::string(name(dtype)));
          CAPTURE(has_bias);
          CAPTURE(has_residual);
          CAPTURE(relu);
          FoldedNet net(dtype);
          if (has_bias) net.bias = net.b.leaf({8}, dtype);
          if (has_residual) net.residual = net.b.input(net.y.shape, dtype);
          net.relu = relu;
          check_folded(net, tolerance);
        }
      }
    }
  }
  SUBCASE("groups") { check_folded(FoldedNet(Dtype::float32, 2), 1e-5); }
  SUBCASE("depthwise") { check_folded(FoldedNet(Dtype::float32, 4), 1e-5); }
}

TEST_CASE("fold_batch_normalization scales linear layers") {
  for (const bool is_transposed : {false, true}) {
    for (const bool has_bias : {false, true}) {
      for (const bool relu : {false, true}) {
        FoldedNet net = FoldedNet::linear(is_transposed);
        if (has_bias) net.bias = net.b.leaf({8});
        net.relu = relu;
        check_folded(net, 1e-5);
      }
    }
  }
}

TEST_CASE("fold_batch_normalization keeps packed weights and says what it has put together") {
  FoldedNet net(Dtype::float32);
  net.relu = true;
  net.add_layer();
  net.add_normalization();
  REQUIRE(fold(net.b.program) == 1);
  const Step& step = net.b.program.steps.back();
  CHECK(std::string_view(step.name) == kernels::ConvolutionFusedForward::kName);
  CHECK(step.params<kernels::Convolution>(0).weights_are_fixed);
  CHECK(step.fused == "convolution_forward + fixed_batch_normalization");
  CHECK(std::ranges::count(net.b.program.steps, Phase::constant, &Step::phase) + 1 ==
        static_cast<std::ptrdiff_t>(net.b.program.steps.size()));
}

TEST_CASE("fold_batch_normalization leaves what it may not change") {
  FoldedNet net(Dtype::float32);
  SUBCASE("somebody else reads the layer's result") {
    net.add_layer();
    net.add_normalization();
    net.b.pointwise_to(net.b.result(net.y.shape), kernels::Neg{}, net.hidden);
  }
  SUBCASE("the caller gets the layer's result") {
    net.hidden = net.b.result(net.y.shape);
    net.add_layer();
    net.add_normalization();
  }
  SUBCASE("the statistics change from call to call") {
    net.add_layer();
    net.add_normalization();
    net.b.pointwise_to(net.mean, kernels::Neg{}, net.var);
  }
  SUBCASE("the weights are an argument") {
    net.w = net.b.input(net.w.shape);
    net.add_layer();
    net.add_normalization();
  }
  SUBCASE("the gradient needs 1 / sqrt(var + eps)") {
    net.inv_std = net.b.temporary({8});
    net.add_layer();
    net.add_normalization();
  }
  SUBCASE("x is overwritten in between") {
    net.add_layer();
    net.b.pointwise_to(net.x, kernels::Neg{}, net.x);
    net.add_normalization();
  }
  SUBCASE("a residual of a linear layer") {
    net = FoldedNet::linear(true);
    net.residual = net.b.input(net.y.shape);
    net.add_layer();
    net.add_normalization();
  }
  SUBCASE("the layer's result is a constant") {
    net.b.phase = Phase::constant;
    net.x = net.b.external(net.x.shape);
    net.hidden = net.b.array(Slot::Kind::constant, net.hidden.shape);
    net.add_layer();
    SUBCASE("and all that follows") { net.y = net.b.array(Slot::Kind::constant, net.y.shape); }
    SUBCASE("but not what the caller gets") { net.b.phase = Phase::forward; }
    net.add_normalization();
  }
  SUBCASE("training") {
    net.add_layer();
    net.add_normalization();
    net.b.phase = Phase::backward;
    net.b.pointwise_to(net.b.result({8}), kernels::Neg{}, net.gamma);
  }
  const size_t steps = net.b.program.steps.size();
  CHECK(fold(net.b.program) == 0);
  CHECK(net.b.program.steps.size() == steps);
}

}  // namespace
}  // namespace kusari::graphs
