#include "kusari/framework/static_graph/passes/fuse_convolutions.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/initializers/initializer.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/convolution.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/tests/static_graph/program_testing.h"

namespace kusari::graphs {
namespace {

using kernels::Add;
using kernels::Neg;
using kernels::Relu;

const Shape kImages = {2, 8, 6, 6};

struct FusedNet {
  ProgramBuilder b;
  int64_t channels, groups;
  View x, w, bias;
  View hidden;
  std::vector<View> others;  // that are drawn

  /// A convolution of that many channels to 8.
  explicit FusedNet(int64_t n_channels = 4, int64_t n_groups = 1, Dtype dtype = Dtype::float32)
      : channels{n_channels},
        groups{n_groups},
        x{b.input({2, channels, 6, 6}, dtype)},
        w{b.leaf({8, channels / groups, 3, 3}, dtype)},
        hidden{b.temporary(kImages, dtype)} {}

  View argument(const Shape& shape) {
    others.push_back(b.input(shape));
    return others.back();
  }
  /// As if it had y's shape, which is what a kernel gets of an array that is broadcast.
  static View per_channel(View numbers) {
    numbers.shape = kImages;
    numbers.strides = {0, 1, 0, 0};
    return numbers;
  }
  void convolve() {
    kernels::Convolution geometry;
    geometry.ndim = 2;
    geometry.groups = groups;
    for (int i = 0; i < 2; ++i) geometry.stride[i] = geometry.dilate[i] = geometry.pad[i] = 1;
    b.add<kernels::ConvolutionForward>({params_of(geometry), operand_of(Kind::in, x), operand_of(Kind::in, w),
                                        operand_of(Kind::in, bias), operand_of(Kind::out, hidden)});
  }
};

std::vector<float> fused_output(const FusedNet& net, const View& y) {
  const ProgramRunner runner(net.b.program);
  random::seed(5);
  const auto draw = [&](const View& view) {
    runner.at(view).copy_from(
        initializers::generate_array(initializers::Normal(1.0), view.shape, Dtype::float32, Device()));
  };
  draw(net.x);
  draw(net.w);
  if (net.bias.is_defined()) draw(net.bias);
  for (const View& view : net.others) draw(view);
  runner.run();
  return runner.at(y).to_vector<float>();
}

int fuse(Program& program) {
  PassLog log;
  const int fused = fuse_convolutions(program, log);
  CHECK(log.entries.size() == (fused > 0 ? 1 : 0));
  return fused;
}

TEST_CASE("fuse_convolutions gives the same bits with fewer kernels") {
  FusedNet net;
  const View y = net.b.result(kImages);
  int expected = 0;
  const char* names = nullptr;
  SUBCASE("ReLU") {
    net.bias = net.argument({8});
    net.convolve();
    net.b.pointwise_to(y, Relu{}, net.hidden);
    expected = 1;
    names = "convolution_forward + relu";
  }
  SUBCASE("an array of the same shape, from either side") {
    const View z = net.argument(kImages);
    net.convolve();
    SUBCASE("left") { net.b.pointwise_to(y, Add{}, z, net.hidden); }
    SUBCASE("right") { net.b.pointwise_to(y, Add{}, net.hidden, z); }
    expected = 1;
    names = "convolution_forward + add";
  }
  SUBCASE("numbers of the channels, an array made later, and ReLU") {
    const View numbers = net.argument({8});
    net.convolve();
    const View biased = net.b.pointwise(Add{}, net.hidden, FusedNet::per_channel(numbers));
    const View z = net.b.pointwise(Neg{}, net.argument(kImages));
    net.b.pointwise_to(y, Relu{}, net.b.pointwise(Add{}, z, biased));
    expected = 3;
    names = "convolution_forward + add + add + relu";
  }
  SUBCASE("numbers of the channels with axes of length 1") {
    View numbers = net.argument({8});
    net.convolve();
    numbers.shape = {8, 1, 1};
    numbers.strides = {1, 1, 1};
    net.b.pointwise_to(y, Add{}, net.hidden, numbers);
    expected = 1;
    names = "convolution_forward + add";
  }
  SUBCASE("what follows ReLU stays") {
    net.convolve();
    net.b.pointwise_to(y, Neg{}, net.b.pointwise(Relu{}, net.hidden));
    expected = 1;
  }
  SUBCASE("numbers after an array would change the order of a sum") {
    const View z = net.argument(kImages), numbers = net.argument({8});
    net.convolve();
    net.b.pointwise_to(y, Add{}, net.b.pointwise(Add{}, net.hidden, z), FusedNet::per_channel(numbers));
    expected = 1;
  }
  const std::vector<float> separate = fused_output(net, y);
  CHECK(fuse(net.b.program) == expected);
  CHECK(fused_output(net, y) == separate);
  if (names != nullptr) CHECK(net.b.program.steps.back().fused == names);
}

TEST_CASE("fuse_convolutions puts the sum of two convolutions into one of them") {
  // A residual block whose shortcut is a convolution, too: once the first has taken the sum, the second must not.
  for (const bool has_relu : {false, true}) {
    CAPTURE(has_relu);
    FusedNet net;
    const View y = net.b.result(kImages);
    net.convolve();
    const View first = net.hidden;
    net.hidden = net.b.temporary(kImages);
    net.others.push_back(net.w);
    net.w = net.b.leaf({8, 4, 3, 3});
    net.convolve();
    if (has_relu) {
      net.b.pointwise_to(y, Relu{}, net.b.pointwise(Add{}, first, net.hidden));
    } else {
      net.b.pointwise_to(y, Add{}, first, net.hidden);
    }
    const std::vector<float> separate = fused_output(net, y);
    CHECK(fuse(net.b.program) == (has_relu ? 2 : 1));
    CHECK(net.b.program.steps.size() == 2);
    CHECK(fused_output(net, y) == separate);
  }
}

TEST_CASE("fuse_convolutions adds numbers of the channels after the sums, whatever computes these") {
  // A bias that sums begin with, as those of depthwise loops and of some of oneDNN's kernels do, would round otherwise.
  for (const auto& [channels, groups] : {std::pair{4, 1}, {7, 1}, {512, 1}, {8, 8}, {16, 2}}) {
    CAPTURE(channels);
    CAPTURE(groups);
    FusedNet net(channels, groups);
    const View y = net.b.result(kImages), numbers = net.argument({8});
    net.convolve();
    net.b.pointwise_to(y, Add{}, net.hidden, FusedNet::per_channel(numbers));
    const std::vector<float> separate = fused_output(net, y);
    CHECK(fuse(net.b.program) == 1);
    CHECK(fused_output(net, y) == separate);
  }
}

template <class Op>
void check_function(const Op& op, bool has_bias, bool has_z) {
  CAPTURE(Op::kName);
  CAPTURE(has_bias);
  CAPTURE(has_z);
  for (const auto& [channels, groups] : {std::pair{4, 1}, {8, 8}, {32, 1}}) {
    CAPTURE(channels);
    FusedNet net(channels, groups);
    const View y = net.b.result(kImages);
    net.convolve();
    View sum = net.hidden;
    if (has_bias) sum = net.b.pointwise(Add{}, sum, FusedNet::per_channel(net.argument({8})));
    if (has_z) sum = net.b.pointwise(Add{}, sum, net.argument(kImages));
    net.b.pointwise_to(y, op, sum);
    const std::vector<float> separate = fused_output(net, y);
    CHECK(fuse(net.b.program) == 1 + (has_bias ? 1 : 0) + (has_z ? 1 : 0));
    CHECK(net.b.program.steps.size() == 1);
    CHECK(fused_output(net, y) == separate);
  }
}

TEST_CASE("fuse_convolutions takes up any function of one argument") {
  for (const bool has_bias : {false, true}) {
    for (const bool has_z : {false, true}) {
      check_function(kernels::ClippedRelu{0.75}, has_bias, has_z);
      check_function(kernels::LeakyRelu{0.1}, has_bias, has_z);
      check_function(kernels::Sigmoid{}, has_bias, has_z);
      check_function(kernels::Silu{}, has_bias, has_z);
      check_function(kernels::Gelu{}, has_bias, has_z);
      check_function(kernels::GeluTanh{}, has_bias, has_z);
      check_function(kernels::HardSwish{}, has_bias, has_z);
      check_function(kernels::HardSigmoid{0.3, 0.4}, has_bias, has_z);
      check_function(kernels::Shrink{0.5, 0.25}, has_bias, has_z);
      check_function(kernels::Mish{}, has_bias, has_z);
      check_function(kernels::Tanh{}, has_bias, has_z);
    }
  }
}

TEST_CASE("fuse_convolutions sees x sigmoid(x) and x hard_sigmoid(x)") {
  for (const bool is_hard : {false, true}) {
    for (const bool is_left : {false, true}) {
      CAPTURE(is_hard);
      CAPTURE(is_left);
      FusedNet net;
      const View y = net.b.result(kImages);
      net.convolve();
      const View gate = is_hard ? net.b.pointwise(kernels::HardSigmoid{static_cast<double>(1.0f / 6), 0.5}, net.hidden)
                                : net.b.pointwise(kernels::Sigmoid{}, net.hidden);
      const View &a = is_left ? net.hidden : gate, &b = is_left ? gate : net.hidden;
      net.b.pointwise_to(y, kernels::Mul{}, a, b);
      const std::vector<float> separate = fused_output(net, y);
      CHECK(fuse(net.b.program) == 2);
      CHECK(net.b.program.steps.size() == 1);
      CHECK(fused_output(net, y) == separate);
    }
  }
}

TEST_CASE("fuse_convolutions rounds a gate of bfloat16 once") {
  FusedNet net(4, 1, Dtype::bfloat16);
  const View y = net.b.result(kImages, Dtype::bfloat16);
  net.convolve();
  net.b.pointwise_to(y, kernels::Mul{}, net.hidden, net.b.pointwise(kernels::Sigmoid{}, net.hidden));
  const std::vector<float> separate = fused_output(net, y);
  CHECK(fuse(net.b.program) == 2);
  const std::vector<float> fused = fused_output(net, y);
  size_t wrong = 0;
  for (size_t i = 0; i < fused.size(); ++i) {
    if (!(std::abs(fused[i] - separate[i]) <= 0x1p-7f * (std::abs(separate[i]) + 0.25f))) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("fuse_convolutions leaves gates of another kind") {
  FusedNet net;
  const View y = net.b.result(kImages);
  net.convolve();
  SUBCASE("the gate has another reader") {
    const View gate = net.b.pointwise(kernels::Sigmoid{}, net.hidden);
    net.b.pointwise_to(y, kernels::Mul{}, net.hidden, gate);
    net.b.pointwise_to(net.b.result(kImages), Neg{}, gate);
  }
  SUBCASE("the sum has another reader") {
    net.b.pointwise_to(y, kernels::Mul{}, net.hidden, net.b.pointwise(kernels::Sigmoid{}, net.hidden));
    net.b.pointwise_to(net.b.result(kImages), Neg{}, net.hidden);
  }
  SUBCASE("another slope") {
    net.b.pointwise_to(y, kernels::Mul{}, net.hidden, net.b.pointwise(kernels::HardSigmoid{0.2, 0.5}, net.hidden));
  }
  SUBCASE("a sum instead of a product") {
    net.b.pointwise_to(y, Add{}, net.hidden, net.b.pointwise(kernels::Sigmoid{}, net.hidden));
  }
  CHECK(fuse(net.b.program) == 0);
}

/// x W or x W^T and what follows.
struct ProductNet {
  ProgramBuilder b;
  View x, w, bias, y;
  std::vector<View> drawn;

  ProductNet(const Shape& rows, int64_t outs, bool transb) {
    const int64_t ins = rows[rows.ndim() - 1];
    x = draw(rows);
    w = b.leaf(transb ? Shape{outs, ins} : Shape{ins, outs});
    drawn.push_back(w);
    options.transb = transb;
    shape = rows;
    shape[rows.ndim() - 1] = outs;
  }
  View draw(const Shape& of) {
    drawn.push_back(b.input(of));
    return drawn.back();
  }
  void multiply(const View& to) {
    b.add<kernels::Matmul>({operand_of(Kind::in, x), operand_of(Kind::in, w), operand_of(Kind::in, bias),
                            params_of(options), operand_of(Kind::out, to)});
  }
  kernels::MatmulOptions options;
  Shape shape;
};

std::vector<float> product_output(const ProductNet& net, const View& y) {
  const ProgramRunner runner(net.b.program);
  random::seed(7);
  for (const View& view : net.drawn) {
    runner.at(view).copy_from(
        initializers::generate_array(initializers::Normal(1.0), view.shape, Dtype::float32, Device()));
  }
  runner.run();
  return runner.at(y).to_vector<float>();
}

TEST_CASE("pack_products gives the numbers of products and what follows") {
  for (const Shape& rows : {Shape{5, 7}, {2, 9, 33}, {64, 48}, {1, 4, 3, 20}}) {
    for (const int64_t outs : {1, 8, 40}) {
      for (const bool transb : {false, true}) {
        for (int parts = 0; parts < 8; ++parts) {
          CAPTURE(to_string(rows));
          CAPTURE(outs);
          CAPTURE(transb);
          CAPTURE(parts);
          ProductNet net(rows, outs, transb);
          if ((parts & 1) != 0) net.bias = net.draw({outs});
          const View y = net.b.result(net.shape);
          if ((parts & 6) == 0) {
            net.multiply(y);
          } else {
            View sum = net.b.temporary(net.shape);
            net.multiply(sum);
            if ((parts & 2) != 0) {
              const View z = net.draw(net.shape);
              if ((parts & 4) == 0) {
                net.b.pointwise_to(y, Add{}, z, sum);
              } else {
                sum = net.b.pointwise(Add{}, sum, z);
              }
            }
            if ((parts & 4) != 0) net.b.pointwise_to(y, kernels::Gelu{}, sum);
          }
          const std::vector<float> separate = product_output(net, y);
          PassLog log;
          CHECK(pack_products(net.b.program, log) == 1);
          CHECK(log.entries.size() == 1);
          const std::vector<float> fused = product_output(net, y);
          REQUIRE(fused.size() == separate.size());
          double worst = 0, largest = 1e-30;
          for (size_t i = 0; i < fused.size(); ++i) {
            worst = std::max(worst, static_cast<double>(std::abs(fused[i] - separate[i])));
            largest = std::max(largest, static_cast<double>(std::abs(separate[i])));
          }
          CHECK(worst <= 1e-6 * largest);
        }
      }
    }
  }
}

TEST_CASE("pack_products: weights that are a transposed view, and sums that are read with other axes") {
  ProductNet net({12, 16}, 8, true);
  net.w.shape = {8, 16};  // of a matrix (16, 8)
  net.w.strides = {1, 8};
  net.drawn[1].shape = {16, 8};
  net.drawn[1].strides = {8, 1};
  const View rows = net.b.temporary(net.shape), y = net.b.result({3, 4, 8});
  net.multiply(rows);
  View batches = rows;
  batches.shape = y.shape;
  batches.strides = y.strides;
  net.b.pointwise_to(y, Add{}, batches, net.draw(y.shape));
  const std::vector<float> separate = product_output(net, y);
  PassLog log;
  CHECK(pack_products(net.b.program, log) == 1);
  CHECK(log.entries[0].what == "gave 1 products packed weights, put 1 into them");
  const std::vector<float> fused = product_output(net, y);
  REQUIRE(fused.size() == separate.size());
  for (size_t i = 0; i < fused.size(); ++i) CHECK(std::abs(fused[i] - separate[i]) <= 1e-5);
}

TEST_CASE("pack_products leaves what it may not change") {
  const auto count = [](ProductNet& net) {
    PassLog log;
    const size_t steps = net.b.program.steps.size();
    const int packed = pack_products(net.b.program, log);
    CHECK(net.b.program.steps.size() == steps);
    return packed;
  };
  SUBCASE("weights that change") {
    ProductNet net({8, 8}, 8, true);
    net.w = net.draw({8, 8});
    net.multiply(net.b.result(net.shape));
    CHECK(count(net) == 0);
  }
  SUBCASE("few rows") {
    ProductNet net({2, 8}, 8, true);
    net.multiply(net.b.result(net.shape));
    CHECK(count(net) == 0);
  }
  SUBCASE("training") {
    ProductNet net({8, 8}, 8, true);
    net.multiply(net.b.result(net.shape));
    net.b.phase = Phase::backward;
    net.b.pointwise_to(net.b.result(net.shape), Neg{}, net.x);
    CHECK(count(net) == 0);
  }
  SUBCASE("x with gaps") {
    ProductNet net({8, 16}, 8, true);
    net.x.shape = {8, 8};
    net.w = net.b.leaf({8, 8});
    net.multiply(net.b.result({8, 8}));
    CHECK(count(net) == 0);
  }
}

TEST_CASE("fuse_convolutions leaves what it may not change") {
  FusedNet net;
  const View y = net.b.result(kImages);
  SUBCASE("two readers") {
    net.convolve();
    net.b.pointwise_to(y, Relu{}, net.hidden);
    net.b.pointwise_to(net.b.result(kImages), Neg{}, net.hidden);
  }
  SUBCASE("x is overwritten in between") {
    net.convolve();
    net.b.pointwise_to(net.x, Neg{}, net.x);
    net.b.pointwise_to(y, Relu{}, net.hidden);
  }
  SUBCASE("the result goes over x") {
    net.x = net.b.input({2, 8, 6, 6});
    net.w = net.b.leaf({8, 8, 3, 3});
    net.convolve();
    net.b.pointwise_to(net.x, Relu{}, net.hidden);
  }
  SUBCASE("another dtype") {
    net.convolve();
    net.b.pointwise_to(net.b.result(kImages, Dtype::float64), Relu{}, net.hidden);
  }
  SUBCASE("the convolution added to itself") {
    net.convolve();
    net.b.pointwise_to(y, Add{}, net.hidden, net.hidden);
  }
  SUBCASE("a part of the result") {
    net.convolve();
    View part = net.hidden;
    part.shape = {1, 8, 6, 6};
    net.b.pointwise_to(net.b.result(part.shape), Relu{}, part);
  }
  SUBCASE("forward and backward phase") {
    net.convolve();
    net.b.phase = Phase::backward;
    net.b.pointwise_to(y, Relu{}, net.hidden);
  }
  const size_t steps = net.b.program.steps.size();
  CHECK(fuse(net.b.program) == 0);
  CHECK(net.b.program.steps.size() == steps);
}

}  // namespace
}  // namespace kusari::graphs
