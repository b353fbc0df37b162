#include "kusari/framework/kernels/fused_pointwise.h"

#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/tests/gpu/testing.h"

using namespace kusari;

namespace {

using Builder = FusedProgramBuilder;
using Value = Builder::Value;

struct Fused {
  Builder builder;
  std::vector<Array> inputs;

  Value input(const Array& x, Dtype held) {
    inputs.push_back(x);
    return builder.input(x.dtype(), held).value();
  }
  template <class Op>
  Value step(const Op& op, std::vector<Value*> operands, Dtype dtype) {
    std::vector<Dtype> dtypes;
    for (const Value* value : operands) dtypes.push_back(value->dtype);
    return builder
        .pointwise(*find_pointwise_functor(kernel_id<kernels::Pointwise<Op>>()),
                   reinterpret_cast<const std::byte*>(&op), operands, Builder::compute_dtype(dtypes, dtype), dtype)
        .value();
  }
  void run(const std::vector<Value>& values, const std::vector<Array>& outputs) {
    kernels::FusedProgram program = builder.finish(values);
    const Device device = outputs[0].device();
    launch<kernels::PrepareFusedPointwise>(device, &program, InList(inputs), OutList(outputs));
    launch<kernels::FusedPointwise>(device, program, InList(inputs), OutList(outputs));
  }
};

void check_same_bits(const Array& a, const Array& b) {
  REQUIRE(a.shape() == b.shape());
  REQUIRE(a.dtype() == b.dtype());
  const Array x = a.to_device(Device()).contiguous(), y = b.to_device(Device()).contiguous();
  CHECK(std::memcmp(x.raw_data(), y.raw_data(), static_cast<size_t>(x.nbytes())) == 0);
}

/// sigmoid(x + b) * 0.5 + x as the device's own kernels compute it, and a mask.
void check_fused(const Array& x, const Array& b, const Array& y, const Array& mask) {
  const Dtype dtype = x.dtype();
  const Array sum = pointwise(kernels::Add{}, x, b), gate = pointwise(kernels::Sigmoid{}, sum);
  const Array expected = pointwise(kernels::LeakyReluGrad{0.5}, x, gate), less = pointwise(kernels::Less{}, gate, x);
  Fused fused;
  const Dtype held = Builder::natural(dtype);
  Value vx = fused.input(x, held), vb = fused.input(b, held);
  Value vsum = fused.step(kernels::Add{}, {&vx, &vb}, dtype);
  Value vgate = fused.step(kernels::Sigmoid{}, {&vsum}, dtype);
  Value vy = fused.step(kernels::LeakyReluGrad{0.5}, {&vx, &vgate}, dtype);
  Value vless = fused.step(kernels::Less{}, {&vgate, &vx}, Dtype::bool_);
  fused.run({vy, vless}, {y, mask});
  check_same_bits(y, expected);
  check_same_bits(mask, less);
}

}  // namespace

TEST_CASE("gpu: fused_pointwise gives the bits of the separate kernels") {
  const auto device = testing::gpu_device();
  if (!device) return;
  for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
    for (const Shape& shape : {Shape{0, 4}, Shape{1, 1}, Shape{5, 7}, Shape{64, 64}, Shape{3, 8, 5, 6}}) {
      CAPTURE(dtype);
      CAPTURE(shape);
      const Array host = testing::uniform_array(shape, -3, 3, dtype);
      const Shape row = {shape[shape.ndim() - 1]};
      const Array scalar = testing::uniform_array({}, -1, 1, dtype, 2).to_device(*device);
      const Array bias = testing::uniform_array(row, -1, 1, dtype, 3).to_device(*device);
      for (const testing::Layout layout :
           {testing::Layout::contiguous, testing::Layout::channels_last, testing::Layout::every_second}) {
        const Array x = testing::in_layout(host.to_device(*device), layout);
        for (const Array& b : {scalar, bias, x}) check_fused(x, b, empty_like(x), empty_like(x, Dtype::bool_));
      }
    }
  }
}

TEST_CASE("gpu: fused_pointwise converts and fills as the separate kernels do") {
  const auto device = testing::gpu_device();
  if (!device) return;
  const Array x = testing::uniform_array({37}, -3, 3).to_device(*device);
  for (const Dtype dtype : {Dtype::int32, Dtype::float16}) {
    CAPTURE(dtype);
    const Array y = x.astype(dtype, true), f = full({37}, 2.7, dtype, *device);
    const Array sum = empty({37}, dtype, *device);
    pointwise_to(sum, kernels::Add{}, y, f);
    Fused fused;
    const Scalar scalar(2.7);
    Value vx = fused.input(x, Dtype::float32);
    Value vy = fused.builder.copy(vx, dtype).value();
    Value vf = fused.builder.fill(reinterpret_cast<const std::byte*>(&scalar), dtype).value();
    Value vs = fused.step(kernels::Add{}, {&vy, &vf}, dtype);
    Value vr = fused.builder.copy(vs, Dtype::float32).value();
    const std::vector<Array> results = {empty({37}, dtype, *device), empty({37}, Dtype::float32, *device)};
    fused.run({vs, vr}, results);
    check_same_bits(results[0], sum);
    check_same_bits(results[1], sum.astype(Dtype::float32));
  }
}

TEST_CASE("gpu: fused_pointwise in place, unaligned and in the rest of a pack") {
  const auto device = testing::gpu_device();
  if (!device) return;
  for (const int64_t begin : {0, 1}) {
    const Array block = testing::uniform_array({1031}, -3, 3).to_device(*device), x = block.slice(0, begin, 1030);
    const Array expected = x.copy();
    for (int i = 0; i < 3; ++i) pointwise_to(expected, kernels::Affine{0.9, 0.1}, expected);
    Fused fused;
    Value v = fused.input(x, Dtype::float32);
    for (int i = 0; i < 3; ++i) v = fused.step(kernels::Affine{0.9, 0.1}, {&v}, Dtype::float32);
    fused.run({v}, {x});
    check_same_bits(x, expected);
  }
}
