#include "kusari/framework/static_graph/passes/lower_quantized_poolings.h"

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/philox.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/pooling.h"
#include "kusari/tests/static_graph/program_testing.h"

namespace kusari::graphs {
namespace {

using Kind = LaunchArgument::Kind;

/// The largest of dequantized numbers, quantized again.
struct PooledNet {
  ProgramBuilder b;
  Shape in, out;
  View integers, scale = b.external({}), zero = b.external({}), other_scale = b.external({});
  kernels::Pooling windows;

  /// Windows of 3 x 3 two places apart, some of them partly outside.
  PooledNet(int64_t channels, Dtype dtype) : in{2, channels, 8, 9}, out{2, channels, 4, 5} {
    integers = b.input(in, dtype);
    windows.ndim = 2;
    for (int i = 0; i < 2; ++i) {
      windows.ksize[i] = 3;
      windows.stride[i] = 2;
      windows.pad[i] = 1;
    }
  }
  View dequantized() {
    const View x = b.temporary(in);
    b.pointwise_to(x, kernels::Dequantize{}, integers, scale, zero);
    return x;
  }
  View pooled(const View& x, const View& index = {}) {
    const View y = b.temporary(out);
    b.add<kernels::MaxPoolingForward>(
        {params_of(windows), operand_of(Kind::in, x), operand_of(Kind::out, y), operand_of(Kind::out, index)});
    return y;
  }
  kernels::Quantize range() const {
    return integers.dtype == Dtype::int8 ? kernels::Quantize{-128, 127} : kernels::Quantize{0, 255};
  }
  std::vector<int64_t> run(const View& y) const {
    const ProgramRunner runner(b.program);
    std::vector<int32_t> values;
    for (int64_t i = 0; i < numel(in); ++i) {
      values.push_back(static_cast<int32_t>(philox_word(3, static_cast<uint64_t>(i)) % 256) -
                       (integers.dtype == Dtype::int8 ? 128 : 0));
    }
    runner.at(integers).copy_from(array(values, in).astype(integers.dtype));
    runner.at(scale).fill(0.037);
    runner.at(zero).fill(11);
    runner.at(other_scale).fill(0.05);
    runner.run();
    return runner.at(y).to_vector<int64_t>();
  }
};

TEST_CASE("lower_quantized_poolings takes the largest integers") {
  for (const Dtype dtype : {Dtype::uint8, Dtype::int8}) {
    for (const int64_t channels : {1, 3, 16, 40, 70, 300}) {
      CAPTURE(name(dtype));
      CAPTURE(channels);
      PooledNet net(channels, dtype);
      const View y = net.b.result(net.out, dtype);
      net.b.pointwise_to(y, net.range(), net.pooled(net.dequantized()), net.scale, net.zero);
      const std::vector<int64_t> separate = net.run(y);
      PassLog log;
      CHECK(lower_quantized_poolings(net.b.program, log) == 1);
      REQUIRE(log.entries.size() == 1);
      CHECK(log.entries[0].what == "made 1 poolings of integers");
      CHECK(net.b.program.steps.size() == 1);
      CHECK(net.run(y) == separate);
    }
  }
}

TEST_CASE("lower_quantized_poolings keeps what others read, and leaves what are other integers") {
  PooledNet net(5, Dtype::uint8);
  const View y = net.b.result(net.out, Dtype::uint8), also = net.b.result(net.in), pooled_too = net.b.result(net.out);
  size_t steps = 3;
  int expected = 0;
  SUBCASE("another kernel reads the numbers") {
    const View x = net.dequantized();
    net.b.pointwise_to(y, net.range(), net.pooled(x), net.scale, net.zero);
    net.b.pointwise_to(also, kernels::Relu{}, x);
    expected = 1;
  }
  SUBCASE("another scale") {
    net.b.pointwise_to(y, net.range(), net.pooled(net.dequantized()), net.other_scale, net.zero);
  }
  SUBCASE("a scale that comes with the call") {
    net.scale = net.b.input({});
    net.b.pointwise_to(y, net.range(), net.pooled(net.dequantized()), net.scale, net.zero);
  }
  SUBCASE("a narrower range") {
    net.b.pointwise_to(y, kernels::Quantize{0, 127}, net.pooled(net.dequantized()), net.scale, net.zero);
  }
  SUBCASE("an index") {
    const View index = net.b.result(net.out, Dtype::uint8);
    net.b.pointwise_to(y, net.range(), net.pooled(net.dequantized(), index), net.scale, net.zero);
  }
  SUBCASE("the largest numbers are reshaped in between") {
    View flat = net.pooled(net.dequantized());
    flat.shape = {net.out[0], numel(net.out) / net.out[0]};
    flat.strides = contiguous_strides(flat.shape);
    net.b.pointwise_to(net.b.result(flat.shape, Dtype::uint8), net.range(), flat, net.scale, net.zero);
  }
  SUBCASE("another kernel reads the largest numbers") {
    const View largest = net.pooled(net.dequantized());
    net.b.pointwise_to(y, net.range(), largest, net.scale, net.zero);
    net.b.pointwise_to(pooled_too, kernels::Relu{}, largest);
    steps = 4;
  }
  SUBCASE("the integers are written in between") {
    const View x = net.dequantized();
    net.b.pointwise_to(net.integers, net.range(), also, net.scale, net.zero);
    net.b.pointwise_to(y, net.range(), net.pooled(x), net.scale, net.zero);
    steps = 4;
  }
  PassLog log;
  CHECK(lower_quantized_poolings(net.b.program, log) == expected);
  CHECK(net.b.program.steps.size() == steps);
}

}  // namespace
}  // namespace kusari::graphs
