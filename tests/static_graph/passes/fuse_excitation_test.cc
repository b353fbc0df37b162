#include "kusari/framework/static_graph/passes/fuse_excitation.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/initializers/initializer.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/convolution.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/framework/kernels/pooling.h"
#include "kusari/framework/static_graph/passes/fuse_convolutions.h"
#include "kusari/tests/static_graph/program_testing.h"

namespace kusari::graphs {
namespace {

using kernels::Relu;
using kernels::Sigmoid;

/// Images that are scaled by what two small layers make of their means.
struct ExcitedNet {
  ProgramBuilder b;
  Shape images;
  int64_t width;
  std::vector<View> drawn;
  View x, y;

  ExcitedNet(const Shape& shape, int64_t inner) : images{shape}, width{inner} {
    x = draw(b.input(shape));
    y = b.result(shape);
  }
  View draw(const View& view) {
    drawn.push_back(view);
    return view;
  }
  int64_t channels() const { return images[1]; }
  View pooled() {
    const View m = b.temporary({images[0], channels(), 1, 1});
    kernels::AveragePooling options;
    options.pooling.ndim = 2;
    for (int i = 0; i < 2; ++i) {
      options.pooling.ksize[i] = images[2 + i];
      options.pooling.stride[i] = 1;
    }
    b.add<kernels::AveragePoolingForward>({params_of(options), operand_of(Kind::in, x), operand_of(Kind::out, m)});
    return m;
  }
  View convolved(const View& from, int64_t outs, bool has_bias) {
    const View to = b.temporary({images[0], outs, 1, 1}), W = draw(b.leaf({outs, from.shape[1], 1, 1}));
    const View bias = has_bias ? draw(b.leaf({outs})) : View();
    kernels::Convolution geometry;
    geometry.ndim = 2;
    for (int i = 0; i < 2; ++i) geometry.stride[i] = geometry.dilate[i] = 1;
    b.add<kernels::ConvolutionForward>({params_of(geometry), operand_of(Kind::in, from), operand_of(Kind::in, W),
                                        operand_of(Kind::in, bias), operand_of(Kind::out, to)});
    return to;
  }
  View multiplied(View from, int64_t outs, bool transb) {
    from.shape = {images[0], from.shape[1]};
    from.strides = contiguous_strides(from.shape);
    const int64_t ins = from.shape[1];
    const View to = b.temporary({images[0], outs}), W = draw(b.leaf(transb ? Shape{outs, ins} : Shape{ins, outs}));
    b.add<kernels::Matmul>({operand_of(Kind::in, from), operand_of(Kind::in, W),
                            operand_of(Kind::in, draw(b.leaf({outs}))),
                            params_of(kernels::MatmulOptions{.transb = transb}), operand_of(Kind::out, to)});
    return to;
  }
  /// As the kernel gets an array that is broadcast.
  void scale(View factor, bool is_first) {
    factor.shape = images;
    factor.strides = {channels(), 1, 0, 0};
    if (is_first) {
      b.pointwise_to(y, kernels::Mul{}, factor, x);
    } else {
      b.pointwise_to(y, kernels::Mul{}, x, factor);
    }
  }
  std::vector<float> run() const {
    const ProgramRunner runner(b.program);
    random::seed(9);
    for (const View& view : drawn) {
      runner.at(view).copy_from(
          initializers::generate_array(initializers::Normal(1.0), view.shape, Dtype::float32, Device()));
    }
    runner.run();
    return runner.at(y).to_vector<float>();
  }
  void check_fused() {
    const std::vector<float> separate = run();
    PassLog log;
    CHECK(fuse_excitation(b.program, log) == 1);
    REQUIRE(log.entries.size() == 1);
    CHECK(log.entries[0].what == "made 1 squeeze-and-excitations one kernel each");
    CHECK(b.program.steps.size() == 1);
    const std::vector<float> fused = run();
    REQUIRE(fused.size() == separate.size());
    for (size_t i = 0; i < fused.size(); ++i)
      CHECK(std::abs(fused[i] - separate[i]) <= 1e-5 * (1 + std::abs(separate[i])));
  }
};

TEST_CASE("fuse_excitation: convolutions, before and after functions went into them") {
  for (const Shape& images : {Shape{1, 16, 5, 7}, {3, 6, 1, 1}, {2, 40, 33, 31}}) {
    for (const bool is_fused : {false, true}) {
      for (const bool has_bias : {false, true}) {
        CAPTURE(to_string(images));
        CAPTURE(is_fused);
        CAPTURE(has_bias);
        ExcitedNet net(images, 4);
        const View inner = net.b.pointwise(Relu{}, net.convolved(net.pooled(), 4, has_bias));
        const View outer = net.convolved(inner, images[1], has_bias);
        net.scale(has_bias ? net.b.pointwise(Sigmoid{}, outer) : net.b.pointwise(kernels::HardSigmoid{0.2, 0.5}, outer),
                  has_bias);
        PassLog log;
        if (is_fused) CHECK(fuse_convolutions(net.b.program, log) == 2);
        net.check_fused();
      }
    }
  }
}

TEST_CASE("fuse_excitation: products") {
  for (const bool transb : {false, true}) {
    ExcitedNet net({2, 8, 4, 4}, 3);
    const View inner = net.b.pointwise(kernels::Silu{}, net.multiplied(net.pooled(), 3, transb));
    net.scale(net.b.pointwise(Sigmoid{}, net.multiplied(inner, 8, transb)), transb);
    net.check_fused();
  }
}

TEST_CASE("fuse_excitation leaves what it may not change") {
  ExcitedNet net({2, 8, 4, 4}, 3);
  SUBCASE("somebody else reads the means") {
    const View means = net.pooled();
    net.scale(net.convolved(net.convolved(means, 3, true), 8, true), false);
    net.b.pointwise_to(net.b.result(means.shape), Relu{}, means);
  }
  SUBCASE("a sum instead of a product") {
    View factor = net.convolved(net.convolved(net.pooled(), 3, true), 8, true);
    factor.shape = net.images;
    factor.strides = {8, 1, 0, 0};
    net.b.pointwise_to(net.y, kernels::Add{}, net.x, factor);
  }
  SUBCASE("other images are scaled") {
    const View factor = net.convolved(net.convolved(net.pooled(), 3, true), 8, true);
    net.x = net.b.input(net.images);
    net.scale(factor, false);
  }
  SUBCASE("the images are written in between") {
    const View factor = net.convolved(net.convolved(net.pooled(), 3, true), 8, true);
    net.b.pointwise_to(net.x, Relu{}, net.x);
    net.scale(factor, false);
  }
  SUBCASE("weights that change") {
    const View factor = net.convolved(net.convolved(net.pooled(), 3, true), 8, true);
    net.b.program.slots[static_cast<size_t>(net.drawn[1].slot)].kind = Slot::Kind::input;
    net.scale(factor, false);
  }
  const size_t steps = net.b.program.steps.size();
  PassLog log;
  CHECK(fuse_excitation(net.b.program, log) == 0);
  CHECK(log.entries.empty());
  CHECK(net.b.program.steps.size() == steps);
}

}  // namespace
}  // namespace kusari::graphs
