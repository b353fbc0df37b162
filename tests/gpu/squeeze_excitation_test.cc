#include "kusari/framework/kernels/squeeze_excitation.h"

#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

template <class Op>
kernels::UnaryFunctor function_of(const Op& op) {
  kernels::UnaryFunctor function;
  function.kernel = kernel_id<kernels::Pointwise<Op>>();
  std::memcpy(function.functor, &op, sizeof(op));
  return function;
}

TEST_CASE("squeeze and excitation on a device: as on the CPU") {
  const auto device = gpu_device();
  if (!device) return;
  struct Case {
    Shape x;
    int64_t inner;
    kernels::ExcitationFunctions functions;
    bool has_bias = true;
    Layout layout = Layout::channels_last;
  };
  const kernels::UnaryFunctor relu = function_of(kernels::Relu{}), silu = function_of(kernels::Silu{}),
                              sigmoid = function_of(kernels::Sigmoid{}), tanh = function_of(kernels::Tanh{}),
                              hard = function_of(kernels::HardSigmoid{0.2, 0.5});
  for (const Case& c : {Case{{2, 16, 5, 7}, 4, {relu, sigmoid}},
                        {{1, 8, 37, 41}, 2, {silu, sigmoid}},    // several parts
                        {{3, 6, 1, 1}, 5, {relu, hard}, false},  // channels one by one
                        {{2, 260, 3, 3}, 40, {silu, hard}},      // several tiles of channels
                        {{2, 20, 9, 4}, 3, {tanh, tanh}},        // functions that are kernels of their own
                        {{2, 12, 6, 6}, 3, {{}, sigmoid}, false, Layout::contiguous},
                        {{1, 7, 20, 20}, 3, {relu, {}}, true, Layout::every_second}}) {
    CAPTURE(to_string(c.x));
    const int64_t channels = c.x[1];
    const auto bias = [&](int64_t size, uint64_t seed) {
      return c.has_bias ? uniform_array({size}, -1, 1, Dtype::float32, seed) : Array();
    };
    check_on_gpu(
        *device,
        [&](const Array& x, const Array& w1, const Array& b1, const Array& w2, const Array& b2) {
          const Array y = result_like(x, x.shape(), x.dtype(), c.layout);
          launch<kernels::SqueezeExcitation>(x.device(), c.functions, x, w1, b1, w2, b2, y);
          return y;
        },
        4, in_layout(uniform_array(c.x, -1, 2, Dtype::float32, 1), c.layout),
        uniform_array({c.inner, channels}, -1, 1, Dtype::float32, 2), bias(c.inner, 3),
        uniform_array({channels, c.inner}, -1, 1, Dtype::float32, 4), bias(channels, 5));
  }
}

TEST_CASE("squeeze and excitation on a device: more positions than a grid has blocks for by eights") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = full({1, 1, 5000, 7000}, 0.5, Dtype::float32, *device), y = empty_like(x);
  const Array one = ones({1, 1}, Dtype::float32, *device);
  const kernels::UnaryFunctor relu = function_of(kernels::Relu{});
  launch<kernels::SqueezeExcitation>(*device, kernels::ExcitationFunctions{relu, relu}, x, one, Array(), one, Array(),
                                     y);
  CHECK(y.slice(2, 0, 1).to_vector<float>() == std::vector<float>(7000, 0.25f));
  CHECK(y.slice(2, 4999, 1).to_vector<float>() == std::vector<float>(7000, 0.25f));
}

}  // namespace
}  // namespace kusari::testing
