#include "kusari/framework/kernels/quantized_convolution.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/tests/core/child_process.h"
#include "kusari/tests/cpu/convolution_problems.h"

namespace kusari {
namespace {

using testing::Choices;
using testing::Problem;

/// Drawn integers of a dtype's whole range, or `most` everywhere.
Array integers(const Shape& shape, Dtype dtype, uint64_t seed, bool is_extreme) {
  const int64_t low = dtype == Dtype::int8 ? -128 : 0;
  std::vector<int32_t> values;
  for (int64_t i = 0; i < numel(shape); ++i) {
    const auto drawn = static_cast<int64_t>(philox_word(seed, static_cast<uint64_t>(i)) % 256);
    values.push_back(static_cast<int32_t>(low + (is_extreme ? 255 : drawn)));
  }
  return array(values, shape).astype(dtype);
}
Array reals(const Shape& shape, uint64_t seed) {
  std::vector<float> values;
  for (int64_t i = 0; i < numel(shape); ++i) {
    values.push_back(
        static_cast<float>(static_cast<double>(philox_word(seed, static_cast<uint64_t>(i)) % 2000) / 1000 - 1));
  }
  return array(values, shape);
}

struct Case {
  Problem problem;
  Dtype x, W, y;
  bool by_channel, has_bias, has_z, is_extreme;
  int function;              // none, ReLU, ReLU to 6, sigmoid
  bool is_symmetric = true;  // the weights' zero points are those that leave 8 bits
  float y_scale = 0.05f;     // 1: rounding divides by nothing
};

kernels::UnaryFunctor functor_of(int function) {
  kernels::UnaryFunctor result;
  const auto set = [&](const auto& op) {
    using Op = std::remove_cvref_t<decltype(op)>;
    result.kernel = kernel_id<kernels::Pointwise<Op>>();
    std::memcpy(result.functor, &op, sizeof(op));
  };
  if (function == 1) set(kernels::Relu{});
  if (function == 2) set(kernels::ClippedRelu{6});
  if (function == 3) set(kernels::Sigmoid{});
  return result;
}
double function_of(int function, double v) {
  if (function == 1) return std::max(v, 0.0);
  if (function == 2) return std::min(std::max(v, 0.0), 6.0);
  return function == 3 ? 1 / (1 + std::exp(-v)) : v;
}

/// By plain loops over integers.
std::vector<double> expected_results(const Case& c, const Array& x, const Array& W, float x_scale, int x_zero,
                                     const Array& w_scale, const Array& w_zero, const Array& bias, const Array& z) {
  const Problem& p = c.problem;
  const auto xs = x.to_vector<int64_t>(), ws = W.to_vector<int64_t>();
  const auto scales = w_scale.to_vector<float>();
  const auto zeros = w_zero.to_vector<int64_t>();
  const auto biases = bias.is_defined() ? bias.to_vector<float>() : std::vector<float>();
  const auto zs = z.is_defined() ? z.to_vector<float>() : std::vector<float>();
  const int64_t channels = p.W[1], outs = p.y[1], own = outs / p.geometry.groups;
  const int ndim = p.x.ndim() - 2;
  const auto size = [&](const Shape& shape, int axis) { return axis < ndim ? shape[axis + 2] : 1; };
  std::vector<double> results;
  for (int64_t n = 0; n < p.y[0]; ++n) {
    for (int64_t o = 0; o < outs; ++o) {
      const auto by = [&](const auto& values) { return values[values.size() == 1 ? 0 : static_cast<size_t>(o)]; };
      for (int64_t i = 0; i < size(p.y, 0); ++i) {
        for (int64_t j = 0; j < size(p.y, 1); ++j) {
          int64_t sum = 0;
          for (int64_t ch = 0; ch < channels; ++ch) {
            for (int64_t ki = 0; ki < size(p.W, 0); ++ki) {
              for (int64_t kj = 0; kj < size(p.W, 1); ++kj) {
                const int64_t at0 = i * p.geometry.stride[0] - p.geometry.pad[0] + ki * p.geometry.dilate[0];
                const int64_t at1 =
                    ndim > 1 ? j * p.geometry.stride[1] - p.geometry.pad[1] + kj * p.geometry.dilate[1] : 0;
                if (at0 < 0 || at0 >= size(p.x, 0) || at1 < 0 || at1 >= size(p.x, 1)) continue;
                const int64_t from = o / own * channels + ch;
                const int64_t xi = ((n * p.x[1] + from) * size(p.x, 0) + at0) * size(p.x, 1) + at1;
                const int64_t wi = ((o * channels + ch) * size(p.W, 0) + ki) * size(p.W, 1) + kj;
                sum += (xs[static_cast<size_t>(xi)] - x_zero) * (ws[static_cast<size_t>(wi)] - by(zeros));
              }
            }
          }
          double v = static_cast<double>(sum) * static_cast<double>(x_scale) * static_cast<double>(by(scales));
          const size_t place = results.size();
          if (!biases.empty()) v += static_cast<double>(biases[static_cast<size_t>(o)]);
          if (!zs.empty()) v += static_cast<double>(zs[place]);
          results.push_back(function_of(c.function, v));
        }
      }
    }
  }
  return results;
}

void check(const Case& c, uint64_t seed) {
  const Problem& p = c.problem;
  CAPTURE(p.text());
  const Array x = integers(p.x, c.x, seed, c.is_extreme), W = integers(p.W, c.W, seed + 1, c.is_extreme);
  const float x_scale = 0.02f;
  const int x_zero = c.x == Dtype::uint8 ? static_cast<int>(seed % 200) : static_cast<int>(seed % 100) - 50;
  const int64_t outs = p.y[1];
  std::vector<float> scales;
  std::vector<int32_t> zeros;
  for (int64_t o = 0; o < (c.by_channel ? outs : 1); ++o) {
    scales.push_back((0.01f + 0.001f * static_cast<float>(o % 7)) * (c.y_scale / 0.05f));
    const auto away = static_cast<int32_t>(c.is_symmetric ? 0 : o % 3);
    zeros.push_back(c.W == Dtype::uint8 ? 128 - away : away);
  }
  const Shape by = {static_cast<int64_t>(scales.size())};
  const Array w_scale = array(scales, by), w_zero = array(zeros, by);
  const Array bias = c.has_bias ? reals({outs}, seed + 2) : Array(), z = c.has_z ? reals(p.y, seed + 3) : Array();
  const std::vector<double> expected = expected_results(c, x, W, x_scale, x_zero, w_scale, w_zero, bias, z);

  kernels::QuantizedConvolution options;
  options.geometry = p.parameters();
  options.function = functor_of(c.function);
  const bool is_narrow = c.y != Dtype::float32;
  const int y_zero = c.y == Dtype::uint8 ? 30 : -10;
  if (is_narrow) {
    options.low = c.y == Dtype::uint8 ? 0 : -128;
    options.high = c.y == Dtype::uint8 ? 255 : 127;
  }
  const auto run = [&](testing::Order order) {
    const Array y = testing::in_order(empty(p.y, c.y), order);
    launch<kernels::QuantizedConvolutionForward>(Device(), options, testing::in_order(x, order),
                                                 full({}, x_scale, Dtype::float32), full({}, x_zero, Dtype::int32), W,
                                                 w_scale, w_zero, z, bias,
                                                 is_narrow ? full({}, c.y_scale, Dtype::float32) : Array(),
                                                 is_narrow ? full({}, y_zero, Dtype::int32) : Array(), y);
    return y.astype(Dtype::float64).to_vector<double>();
  };
  const std::vector<double> found = run(testing::Order::channels_last);
  CHECK(run(testing::Order::c) == found);
  const int threads = num_threads();
  for (const int n : {1, 3}) {
    set_num_threads(n);
    CHECK(run(testing::Order::channels_last) == found);
  }
  set_num_threads(threads);
  size_t wrong = 0;
  double largest = 1;
  for (const double v : expected) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!is_narrow) {
      if (!(std::abs(found[i] - expected[i]) <= 2e-6 * largest)) ++wrong;
      continue;
    }
    const double q =
        std::clamp(std::nearbyint(expected[i] / static_cast<double>(c.y_scale)) + y_zero, options.low, options.high);
    // Where the value lies between two steps, rounding decides.
    const double fraction = expected[i] / static_cast<double>(c.y_scale),
                 away = std::abs(fraction - std::floor(fraction) - 0.5);
    if (!(std::abs(found[i] - q) <= (away < 1e-3 ? 1 : 0))) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("convolutions of 8 bits: weights that are kept packed have their own zero points and groups") {
  struct Kind {
    Shape x, W;
    int64_t groups;
  };
  for (const Kind& kind : {Kind{{1, 16, 7, 9}, {32, 16, 3, 3}, 1}, Kind{{2, 64, 8, 8}, {64, 64, 3, 3}, 1},
                           Kind{{1, 24, 6, 6}, {24, 1, 3, 3}, 24}, Kind{{1, 8, 5, 5}, {24, 8, 1, 1}, 1}}) {
    CAPTURE(to_string(kind.W));
    const Array W = integers(kind.W, Dtype::uint8, 7, false);
    const auto run = [&](int64_t groups, int32_t zero, bool is_fixed) {
      const int64_t pad = kind.W[2] / 2;
      const Problem p = {{{1, 1}, {pad, pad}, {1, 1}, groups},
                         {kind.x[0], kind.W[1] * groups, kind.x[2], kind.x[3]},
                         kind.W,
                         {kind.x[0], kind.W[0], kind.x[2], kind.x[3]}};
      kernels::QuantizedConvolution options;
      options.geometry = p.parameters();
      options.geometry.weights_are_fixed = is_fixed;
      const Array y = testing::in_order(empty(p.y, Dtype::float32), testing::Order::channels_last);
      launch<kernels::QuantizedConvolutionForward>(
          Device(), options, testing::in_order(integers(p.x, Dtype::uint8, 8, false), testing::Order::channels_last),
          full({}, 0.02f, Dtype::float32), full({}, 100, Dtype::int32), W, full({}, 0.01f, Dtype::float32),
          full({}, zero, Dtype::int32), Array(), Array(), Array(), Array(), y);
      return y.to_vector<float>();
    };
    std::vector<std::pair<int64_t, int32_t>> calls = {{kind.groups, 128}, {kind.groups, 120}};
    if (kind.groups == 1 && kind.W[0] % 4 == 0) calls.emplace_back(4, 128);
    for (int round = 0; round < 2; ++round) {
      for (const auto& [groups, zero] : calls) CHECK(run(groups, zero, true) == run(groups, zero, false));
    }
  }
}

/// With groups, pairs of channels are needed, or one channel and one result for each.
bool can_be_narrow(const Problem& p) {
  return p.geometry.groups == 1 || p.W[1] % 2 == 0 || (p.W[1] == 1 && p.y[1] == p.geometry.groups);
}

TEST_CASE("convolutions of 8 bits are exact sums of integers") {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    Choices choose(seed);
    Problem p = testing::random_problem(seed + 1000);
    if (p.x.ndim() > 4) continue;
    if (!can_be_narrow(p)) continue;
    CAPTURE(seed);
    const auto dtype = [&] { return choose(0, 1) == 0 ? Dtype::uint8 : Dtype::int8; };
    const Case c = {p,
                    dtype(),
                    dtype(),
                    choose(0, 1) == 0 ? Dtype::float32 : dtype(),
                    choose(0, 1) == 0,
                    choose(0, 1) == 0,
                    choose(0, 1) == 0,
                    choose(0, 4) == 0,
                    static_cast<int>(choose(0, 3)),
                    seed % 2 == 0,
                    seed % 4 < 2 ? 1.0f : 0.05f};
    check(c, seed);
  }
}

TEST_CASE("depthwise convolutions of 8 bits are exact sums of integers") {
  uint64_t seed = 2000;
  for (const int64_t channels : {1, 7, 16, 40}) {
    for (const auto& [lines, kernel] : {std::pair<int64_t, int64_t>{3, 3}, {5, 5}, {3, 5}, {1, 1}, {7, 7}, {4, 2}}) {
      for (const int64_t stride : {1, 2, 3}) {
        for (const int64_t dilate : {1, 2}) {
          ++seed;
          Choices choose(seed);
          Problem p = {};
          p.geometry = {{stride, stride}, {lines / 2, kernel / 2}, {dilate, dilate}, channels};
          const auto out = [&](int64_t in, int64_t k) { return (in + k / 2 * 2 - (k - 1) * dilate - 1) / stride + 1; };
          p.x = {2, channels, 13, 23};
          p.W = {channels, 1, lines, kernel};
          p.y = {2, channels, out(13, lines), out(23, kernel)};
          const auto dtype = [&] { return choose(0, 1) == 0 ? Dtype::uint8 : Dtype::int8; };
          check({p, dtype(), dtype(), choose(0, 1) == 0 ? Dtype::float32 : dtype(), choose(0, 1) == 0,
                 choose(0, 1) == 0, choose(0, 1) == 0, choose(0, 4) == 0, static_cast<int>(choose(0, 3)),
                 choose(0, 3) != 0, choose(0, 1) == 0 ? 1.0f : 0.05f},
                seed);
        }
      }
    }
  }
}

TEST_CASE("convolutions of 8 bits do not saturate") {
  const Problem p = {{{1, 1}, {1, 1}, {1, 1}}, {1, 64, 9, 9}, {40, 64, 3, 3}, {1, 40, 9, 9}};
  check({p, Dtype::uint8, Dtype::int8, Dtype::float32, true, true, false, true, 0}, 7);
  check({p, Dtype::uint8, Dtype::uint8, Dtype::int8, false, true, true, true, 1}, 8);
  check({p, Dtype::int8, Dtype::int8, Dtype::float32, true, true, false, true, 0, false}, 9);
}

// Counts of channels that Winograd's algorithm in integers takes, where the processor has no products of 8 bits.
TEST_CASE("convolutions of 8 bits, 3x3 of stride 1, are exact sums of integers") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Choices choose(seed + 4000);
    const int64_t ins = 32 * choose(1, 3), outs = 32 * choose(1, 4), batch = choose(1, 3);
    const int64_t height = choose(3, 17), width = choose(3, 40), top = choose(0, 2), left = choose(0, 2);
    const Problem p = {{{1, 1}, {top, left}, {1, 1}},
                       {batch, ins, height, width},
                       {outs, ins, 3, 3},
                       {batch, outs, height + 2 * top - 2, width + 2 * left - 2}};
    const auto dtype = [&] { return choose(0, 1) == 0 ? Dtype::uint8 : Dtype::int8; };
    check({p, dtype(), dtype(), choose(0, 1) == 0 ? Dtype::float32 : dtype(), choose(0, 1) == 0, choose(0, 1) == 0,
           choose(0, 1) == 0, choose(0, 4) == 0, static_cast<int>(choose(0, 3)), seed % 2 == 0,
           seed % 4 < 2 ? 1.0f : 0.05f},
          seed);
  }
  // Blocks of tiles, and the most channels whose sums fit.
  const Problem wide = {{{1, 1}, {1, 1}, {1, 1}}, {1, 256, 31, 33}, {32, 256, 3, 3}, {1, 32, 31, 33}};
  check({wide, Dtype::uint8, Dtype::int8, Dtype::uint8, true, true, false, false, 1, true, 1.0f}, 21);
  for (const int64_t channels : {896, 928}) {
    const Problem deep = {{{1, 1}, {1, 1}, {1, 1}}, {1, channels, 4, 6}, {32, channels, 3, 3}, {1, 32, 4, 6}};
    check({deep, Dtype::uint8, Dtype::uint8, Dtype::float32, false, false, false, true, 0, false}, 200);
  }
}

TEST_CASE("convolutions of 8 bits, 3x3 of stride 1, without the newest instructions") {
  for (const char* const isa : {"v4", "v3", "v1"}) {
    const testing::ChildResult child = testing::run_in_child(
        std::string("KUSARI_CPU_ISA=") + isa, "convolutions of 8 bits, 3x3 of stride 1, are exact sums of integers");
    INFO(child.output);
    CHECK(child.exit_code == 0);
  }
}

TEST_CASE("convolutions of 8 bits over several blocks") {
  for (const Problem& p : testing::long_problems()) {
    if (!can_be_narrow(p)) continue;
    check({p, Dtype::uint8, Dtype::int8, Dtype::uint8, true, true, false, false, 2}, 11);
    check({p, Dtype::uint8, Dtype::int8, Dtype::int8, true, true, false, false, 1, true, 1.0f}, 11);
    check({p, Dtype::int8, Dtype::int8, Dtype::float32, true, false, true, false, 3}, 12);
  }
}

TEST_CASE("convolutions of 8 bits cut what does not fit, also far beyond") {
  const int64_t channels = 24;  // a panel of weights and a part of one
  const Problem p = {{{1, 1}, {0, 0}, {1, 1}}, {1, 4, 5, 5}, {channels, 4, 1, 1}, {1, channels, 5, 5}};
  const Array x = integers(p.x, Dtype::uint8, 1, true), W = integers(p.W, Dtype::int8, 2, true);
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  // What each channel gets, and the integer that it becomes between -100 and 90.
  const std::vector<std::pair<float, int>> cases = {
      {0, 7},         {2.5f, 9},      {3.5f, 11},        {-2.5f, 5},  {82.5f, 89},    {83, 90},
      {84, 90},       {-107, -100},   {-108, -100},      {300, 90},   {-300, -100},   {40000, 90},
      {-40000, -100}, {3e9f, 90},     {-3e9f, -100},     {1e20f, 90}, {-1e20f, -100}, {3e38f, 90},
      {-3e38f, -100}, {infinity, 90}, {-infinity, -100}, {nan, -100}, {0.4999f, 7},   {-0.4999f, 7}};
  REQUIRE(cases.size() == static_cast<size_t>(channels));
  for (const float y_scale : {1.0f, 0.5f}) {
    CAPTURE(y_scale);
    std::vector<float> biases;
    for (const auto& [value, q] : cases) biases.push_back(value * y_scale);
    kernels::QuantizedConvolution options;
    options.geometry = p.parameters();
    options.low = -100;
    options.high = 90;
    const Array y = empty_channels_last(p.y, Dtype::int8), bias = array(biases, {channels});
    launch<kernels::QuantizedConvolutionForward>(
        Device(), options, x, full({}, 0, Dtype::float32), full({}, 0, Dtype::int32), W, full({}, 0.1, Dtype::float32),
        full({}, 0, Dtype::int32), Array(), bias, full({}, y_scale, Dtype::float32), full({}, 7, Dtype::int32), y);
    const auto found = y.to_vector<int64_t>();
    for (size_t i = 0; i < found.size(); ++i) {
      CAPTURE(cases[i / 25].first);
      CHECK(found[i] == cases[i / 25].second);
    }
  }
}

TEST_CASE("convolutions of 8 bits whose fixed weights are parts of one array each have their own") {
  const Problem p = {{{1, 1}, {1, 1}, {1, 1}}, {1, 8, 5, 5}, {8, 8, 3, 3}, {1, 8, 5, 5}};
  const Array x = integers(p.x, Dtype::uint8, 1, false), W = integers({24, 8, 3, 3}, Dtype::int8, 2, false);
  const Array one = full({}, 1.0f, Dtype::float32), none = full({}, 0, Dtype::int32);
  kernels::QuantizedConvolution options;
  const auto convolved = [&](int64_t part, bool is_fixed) {
    options.geometry = p.parameters();
    options.geometry.weights_are_fixed = is_fixed;
    const Array y = empty_channels_last(p.y, Dtype::float32);
    launch<kernels::QuantizedConvolutionForward>(Device(), options, x, one, none, W.slice(0, 8 * part, 8), one, none,
                                                 Array(), Array(), Array(), Array(), y);
    return y.to_vector<float>();
  };
  for (int round = 0; round < 2; ++round) {
    for (int64_t part = 0; part < 3; ++part) CHECK(convolved(part, true) == convolved(part, false));
  }
}

TEST_CASE("convolutions of 8 bits name what they cannot do") {
  const Array x = zeros({1, 4, 5}, Dtype::float32), W = zeros({2, 4, 3}, Dtype::int8),
              one = full({}, 1, Dtype::float32);
  kernels::QuantizedConvolution options;
  options.geometry.ndim = 1;
  options.geometry.stride[0] = options.geometry.dilate[0] = 1;
  const Array y = empty({1, 2, 3}, Dtype::float32);
  CHECK_THROWS_WITH_AS(
      launch<kernels::QuantizedConvolutionForward>(Device(), options, x, one, one, W, one, one, Array(), Array(),
                                                   Array(), Array(), y),
      "quantized_convolution_forward: x, W and y have dtypes float32, int8 and float32: x and W must be "
      "uint8 or int8, y one of these or float32",
      TypeError);
  // More terms than 31 bits hold, and groups whose channels make no pairs.
  const auto message_of = [&](int64_t channels, int64_t groups) {
    const Array bytes = zeros({1, channels * groups, 5}, Dtype::uint8),
                weights = zeros({2 * groups, channels, 3}, Dtype::int8);
    options.geometry.groups = groups;
    try {
      launch<kernels::QuantizedConvolutionForward>(Device(), options, bytes, one, one, weights, one, one, Array(),
                                                   Array(), Array(), Array(),
                                                   empty({1, 2 * groups, 3}, Dtype::float32));
    } catch (const ValueError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message_of(11009, 1) ==
        "quantized_convolution_forward: 1 axes, 33027 terms of a sum: at most 2 axes and 33025 terms");
  CHECK(
      message_of(3, 2) ==
      "quantized_convolution_forward: there are 2 groups of 3 channels: it must be an even number of channels of each, "
      "or one of x and of y");
  const Array bytes = zeros({2, 3}, Dtype::int8);
  for (const Array& other : {bytes.transpose().contiguous().transpose(), zeros({3}, Dtype::int8)}) {
    CHECK_THROWS_WITH_AS(launch<kernels::QuantizedAddForward>(Device(), kernels::QuantizedAdd(), bytes, one, one, other,
                                                              one, one, one, one, bytes),
                         "quantized_add_forward: a, b and y must have one shape and one order in memory", ValueError);
  }
}

}  // namespace
}  // namespace kusari
