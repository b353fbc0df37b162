#include "kusari/framework/kernels/quantized_convolution.h"

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/tests/gpu/convolution_cases.h"
#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

using kernels::QuantizedConvolutionForward;

/// Drawn integers of a dtype's whole range.
Array drawn_bytes(const Shape& shape, Dtype dtype, uint64_t seed) {
  const int64_t low = dtype == Dtype::int8 ? -128 : 0;
  std::vector<int32_t> values;
  for (int64_t i = 0; i < numel(shape); ++i) {
    values.push_back(static_cast<int32_t>(low + philox_word(seed, static_cast<uint64_t>(i)) % 256));
  }
  return array(values, shape).astype(dtype);
}

template <class Op>
kernels::UnaryFunctor unary(const Op& op) {
  kernels::UnaryFunctor function;
  function.kernel = kernel_id<kernels::Pointwise<Op>>();
  std::memcpy(function.functor, &op, sizeof(op));
  return function;
}

struct QuantizedCase {
  ConvolutionCase c;
  Dtype x, W, y;
  Dtype numbers = Dtype::float32;  // of zero points
  bool by_channel = true, has_bias = true, has_z = false, is_symmetric = true;
  kernels::UnaryFunctor function = {};
  Layout layout = Layout::channels_last;
};

/// The integers of the CPU, and the bits of its float32 numbers.
void check_quantized(const Device& device, const QuantizedCase& q) {
  CAPTURE(to_string(q.c.x));
  CAPTURE(to_string(q.c.w));
  CAPTURE(std::string(name(q.x)));
  CAPTURE(std::string(name(q.W)));
  CAPTURE(std::string(name(q.y)));
  const Shape shape = q.c.y();
  const bool is_rounded = q.y != Dtype::float32;
  kernels::QuantizedConvolution options;
  options.geometry = q.c.geometry();
  options.function = q.function;
  options.low = q.y == Dtype::int8 ? -128 : 0;
  options.high = q.y == Dtype::int8 ? 127 : 255;
  const auto wide = static_cast<double>(numel(q.c.w) / q.c.w[0]);
  const Array scale = full({}, 0.02, Dtype::float32), zero = full({}, q.x == Dtype::int8 ? -7 : 101, q.numbers);
  const Shape by = {q.by_channel ? shape[1] : 1};
  const Array w_scale = uniform_array(by, 0.01, 0.03, Dtype::float32, 5);
  std::vector<int32_t> zeros;
  for (int64_t o = 0; o < by[0]; ++o) {
    zeros.push_back((q.W == Dtype::uint8 ? 128 : 0) - (q.is_symmetric ? 0 : static_cast<int32_t>(o % 5)));
  }
  const Array w_zero = array(zeros).astype(q.numbers);
  const Array bias = q.has_bias ? uniform_array({shape[1]}, -1, 1, Dtype::float32, 6) : Array();
  const Array z = q.has_z ? in_layout(uniform_array(shape, -1, 1, Dtype::float32, 7), q.layout) : Array();
  // So that results spread over the range.
  const Array y_scale = is_rounded ? full({}, 0.02 * std::sqrt(wide), Dtype::float32) : Array();
  const Array y_zero = is_rounded ? full({}, q.y == Dtype::int8 ? 3 : 120, q.numbers) : Array();
  const auto run = [&](const Array& x, const Array& xs, const Array& xz, const Array& W, const Array& ws,
                       const Array& wz, const Array& added, const Array& b, const Array& ys, const Array& yz) {
    const Array y = in_layout(empty(shape, q.y, x.device()), q.layout);
    launch<QuantizedConvolutionForward>(x.device(), options, x, xs, xz, W, ws, wz, added, b, ys, yz, y);
    return y;
  };
  const Array x = in_layout(drawn_bytes(q.c.x, q.x, 1), q.layout), W = in_layout(drawn_bytes(q.c.w, q.W, 2), q.layout);
  const Array expected = run(x, scale, zero, W, w_scale, w_zero, z, bias, y_scale, y_zero);
  const auto there = [&](const Array& a) { return on_device(a, device); };
  const Array found = run(there(x), there(scale), there(zero), there(W), there(w_scale), there(w_zero), there(z),
                          there(bias), there(y_scale), there(y_zero));
  CHECK(found.to_vector<float>() == expected.to_vector<float>());
}

TEST_CASE("convolutions of 8 bits on a device: the CPU's integers") {
  const auto device = gpu_device();
  if (!device) return;
  constexpr Dtype u8 = Dtype::uint8, i8 = Dtype::int8, f32 = Dtype::float32;
  const ConvolutionCase images[] = {
      {{2, 3, 9, 11}, {7, 3, 3, 3}, {2, 2}, {1, 1}},        // channels one by one
      {{1, 12, 7, 6}, {20, 12, 3, 2}, {}, {1, 0}, {2, 1}},  // words
      {{2, 32, 5, 7}, {68, 32, 3, 3}, {}, {1, 1}},          // pieces, two tiles of channels
      {{1, 16, 12, 9}, {8, 16, 1, 1}},                      // two tiles of positions
      {{1, 24, 6, 6}, {24, 4, 3, 3}, {}, {1, 1}, {}, 6},    // groups
      {{2, 8, 30}, {6, 8, 5}, {2}, {2}},                    // one axis
      {{1, 40, 3, 4}, {5, 40, 3, 4}, {}, {2, 3}},           // more padding than image
  };
  const kernels::UnaryFunctor functions[] = {
      {}, unary(kernels::Relu{}), unary(kernels::ClippedRelu{6}), unary(kernels::Clip{-1, 2})};
  size_t i = 0;
  for (const ConvolutionCase& c : images) {
    for (const Dtype y : {f32, u8, i8}) {
      const bool even = i % 2 == 0;
      check_quantized(*device, {.c = c,
                                .x = i % 3 == 0 ? i8 : u8,
                                .W = i % 4 == 3 ? u8 : i8,
                                .y = y,
                                .numbers = even ? f32 : Dtype::int32,
                                .by_channel = i % 3 != 1,
                                .has_bias = i % 5 != 0,
                                .has_z = i % 4 >= 2,
                                .is_symmetric = i % 7 < 3,
                                .function = functions[i % 4],
                                .layout = i % 6 == 5 ? Layout::contiguous : Layout::channels_last});
      ++i;
    }
  }
}

TEST_CASE("convolutions of 8 bits on a device: each group has a channel") {
  const auto device = gpu_device();
  if (!device) return;
  const ConvolutionCase images[] = {{{2, 8, 9, 7}, {8, 1, 3, 3}, {}, {1, 1}, {}, 8},
                                    {{1, 6, 8, 9}, {6, 1, 5, 3}, {2, 2}, {2, 1}, {}, 6},
                                    {{1, 12, 7, 13}, {12, 1, 3, 3}, {1, 2}, {2, 2}, {2, 2}, 12}};
  size_t i = 0;
  for (const ConvolutionCase& c : images) {
    for (const Dtype y : {Dtype::float32, Dtype::uint8}) {
      check_quantized(*device, {.c = c,
                                .x = i % 2 == 0 ? Dtype::uint8 : Dtype::int8,
                                .W = i % 3 == 0 ? Dtype::uint8 : Dtype::int8,
                                .y = y,
                                .has_z = i % 4 == 3,
                                .is_symmetric = i % 3 == 1,
                                .function = i % 2 == 0 ? unary(kernels::Relu{}) : kernels::UnaryFunctor{}});
      ++i;
    }
  }
}

TEST_CASE("convolutions of 8 bits on a device: functions that kernels do not know, dtypes that they do not take") {
  const auto device = gpu_device();
  if (!device) return;
  const ConvolutionCase c = {{1, 8, 6, 6}, {4, 8, 3, 3}, {}, {1, 1}};
  // max(x, 0.5 x) is of the known ones by another name: the numbers can be exact.
  for (const Dtype y : {Dtype::float32, Dtype::int8}) {
    check_quantized(
        *device, {.c = c, .x = Dtype::uint8, .W = Dtype::int8, .y = y, .function = unary(kernels::Shrink{0.5, 0.25})});
  }
  const Array x = zeros({1, 4, 5}, Dtype::float32, *device), W = zeros({2, 4, 3}, Dtype::int8, *device),
              one = full({}, 1, Dtype::float32, *device), y = empty({1, 2, 3}, Dtype::float32, *device);
  kernels::QuantizedConvolution options;
  options.geometry.ndim = 1;
  options.geometry.stride[0] = options.geometry.dilate[0] = 1;
  CHECK_THROWS_WITH_AS(
      launch<QuantizedConvolutionForward>(*device, options, x, one, one, W, one, one, Array(), Array(), Array(),
                                          Array(), y),
      "quantized_convolution_forward: x, W and y have dtypes float32, int8 and float32: x and W must be "
      "uint8 or int8, y one of these or float32",
      TypeError);
}

TEST_CASE("convolutions of 8 bits on a device: groups of odd numbers of channels are sums of integers") {
  const auto device = gpu_device();
  if (!device) return;
  const ConvolutionCase c = {{1, 10, 5, 5}, {6, 5, 3, 3}, {}, {1, 1}, {}, 2};
  const Array x = drawn_bytes(c.x, Dtype::int8, 1), W = drawn_bytes(c.w, Dtype::int8, 2);
  // Sums below 2^24 are exact in float32.
  const Array expected = empty(c.y(), Dtype::float32);
  launch<kernels::ConvolutionForward>(Device(), c.geometry(), x.astype(Dtype::float32), W.astype(Dtype::float32),
                                      Array(), expected);
  const Array one = full({}, 1, Dtype::float32, *device), none = full({}, 0, Dtype::int8, *device);
  const Array found = empty(c.y(), Dtype::float32, *device);
  kernels::QuantizedConvolution options;
  options.geometry = c.geometry();
  launch<QuantizedConvolutionForward>(*device, options, x.to_device(*device), one, none, W.to_device(*device), one,
                                      none, Array(), Array(), Array(), Array(), found);
  CHECK(found.to_vector<float>() == expected.to_vector<float>());
}

TEST_CASE("additions of 8 bits on a device: the CPU's integers") {
  const auto device = gpu_device();
  if (!device) return;
  for (const int64_t n : {1, 37, 256, 4099}) {
    for (const bool relu : {false, true}) {
      for (const auto& [left, right, result] :
           {std::array{Dtype::uint8, Dtype::int8, Dtype::uint8}, {Dtype::int8, Dtype::int8, Dtype::int8}}) {
        CAPTURE(n);
        CAPTURE(relu);
        const Array a = drawn_bytes({n}, left, 1), b = drawn_bytes({n}, right, 2);
        const Array numbers[] = {full({}, 0.013, Dtype::float32), full({}, 17, left),
                                 full({}, 0.021, Dtype::float32), full({}, -9, Dtype::int32),
                                 full({}, 0.017, Dtype::float32), full({}, 11, Dtype::float64)};
        const kernels::QuantizedAdd options = {result == Dtype::int8 ? -128.0 : 0.0,
                                               result == Dtype::int8 ? 127.0 : 255.0, relu};
        const auto run = [&](const Device& on) {
          const auto there = [&](const Array& x) { return x.to_device(on); };
          const Array y = empty({n}, result, on);
          launch<kernels::QuantizedAddForward>(on, options, there(a), there(numbers[0]), there(numbers[1]), there(b),
                                               there(numbers[2]), there(numbers[3]), there(numbers[4]),
                                               there(numbers[5]), y);
          return y.to_vector<int32_t>();
        };
        CHECK(run(*device) == run(Device()));
      }
    }
  }
}

}  // namespace
}  // namespace kusari::testing
