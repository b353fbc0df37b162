// Packed and depthwise convolutions of bfloat16 against their definition, with all that can follow the sums. Processors
// without AVX512_BF16 compute them by other algorithms, to the same bounds.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/convolution.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/tests/cpu/convolution_problems.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using testing::Choices;
using testing::Problem;
using testing::Wanted;

// What follows the sums and the bias.
enum class After { nothing, relu, clipped_relu, clip, silu };
constexpr int64_t kKindsOfAfter = 5;

double after(After kind, double x) {
  switch (kind) {
    case After::nothing:
      return x;
    case After::relu:
      return std::max(x, 0.0);
    case After::clipped_relu:
      return std::clamp(x, 0.0, 1.5);
    case After::clip:
      return std::clamp(x, -0.25, 1.0);
    case After::silu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

template <class Op>
kernels::UnaryFunctor functor_of(const Op& op) {
  kernels::UnaryFunctor function;
  function.kernel = kernel_id<kernels::Pointwise<Op>>();
  std::memcpy(function.functor, &op, sizeof(op));
  return function;
}

struct Operands {
  Array x, W, z, bias;
};

Array convolved(const Problem& p, const Operands& a, After kind) {
  const Array y = empty_channels_last(p.y, Dtype::bfloat16);
  const kernels::Convolution g = p.parameters();
  const auto with = [&](const kernels::UnaryFunctor& function) {
    launch<kernels::ConvolutionFunctionForward>(Device(), g, function, a.x, a.W, a.z, a.bias, y);
  };
  switch (kind) {
    case After::nothing:
    case After::relu:
      launch<kernels::ConvolutionFusedForward>(
          Device(), g,
          kind == After::relu ? kernels::ConvolutionActivation::relu : kernels::ConvolutionActivation::none, a.x, a.W,
          a.z, a.bias, y);
      break;
    case After::clipped_relu:
      with(functor_of(kernels::ClippedRelu{1.5}));
      break;
    case After::clip:
      with(functor_of(kernels::Clip{-0.25, 1}));
      break;
    case After::silu:
      with(functor_of(kernels::Silu{}));
      break;
  }
  return y;
}

// Of many channels, of few, of groups, or depthwise.
Problem drawn_problem(uint64_t seed) {
  Choices choose(seed);
  Problem p;
  const int64_t kind = choose(0, 3), ndim = choose(1, 2);
  p.geometry.groups = kind == 2 ? choose(2, 3) : kind == 3 ? choose(2, 100) : 1;
  const int64_t own = kind == 0 ? choose(17, 150) : kind == 1 ? choose(1, 9) : kind == 2 ? choose(8, 21) : 1;
  const int64_t outs = kind == 3 ? 1 : kind == 2 ? choose(8, 40) : choose(1, 70);
  p.x = {choose(1, 3), own * p.geometry.groups};
  p.W = {outs * p.geometry.groups, own};
  p.y = {p.x[0], outs * p.geometry.groups};
  for (int64_t i = 0; i < ndim; ++i) {
    const int64_t kernel = choose(1, kind == 0 ? 3 : 7), stride = choose(1, 3), dilate = choose(1, 4) == 1 ? 2 : 1;
    const int64_t pad = choose(0, kernel / 2), reach = dilate * (kernel - 1) + 1, in = reach + choose(0, 17);
    p.x.push_back(in);
    p.W.push_back(kernel);
    p.y.push_back((in + 2 * pad - reach) / stride + 1);
    p.geometry.stride.push_back(stride);
    p.geometry.pad.push_back(pad);
    p.geometry.dilate.push_back(dilate);
  }
  return p;
}

Array magnitude_of(const Array& x) {
  std::vector<double> values = x.to_vector<double>();
  for (double& value : values) value = std::fabs(value);
  return array<double>(values, x.shape());
}

void check_problem(const Problem& p, Dtype w_dtype, bool has_z, bool has_bias, After kind) {
  INFO(p.text(), " weights ", name(w_dtype), " z ", has_z, " bias ", has_bias, " after ", static_cast<int>(kind));
  const auto drawn = [](const Shape& shape, Dtype dtype, uint64_t seed) {
    return testing::uniform(shape, -1, 1, seed).astype(dtype).channels_last();
  };
  const Operands a = {drawn(p.x, Dtype::bfloat16, 1), drawn(p.W, w_dtype, 2),
                      has_z ? drawn(p.y, Dtype::bfloat16, 3) : Array(),
                      has_bias ? testing::uniform({p.y[1]}, -1, 1, 4).astype(Dtype::float32) : Array()};
  const Array y = convolved(p, a, kind);
  set_num_threads(3);
  CHECK(convolved(p, a, kind).to_vector<float>() == y.to_vector<float>());
  set_num_threads(1);

  std::vector<double> sums = testing::reference_convolution(Wanted::y, a.x, a.W, y, p.geometry);
  std::vector<double> magnitudes =
      testing::reference_convolution(Wanted::y, magnitude_of(a.x), magnitude_of(a.W), y, p.geometry);
  const std::vector<double> found = y.to_vector<double>();
  const std::vector<double> z = has_z ? a.z.to_vector<double>() : std::vector<double>(sums.size());
  const std::vector<double> bias = has_bias ? a.bias.to_vector<double>() : std::vector<double>(sums.size());
  const size_t pixels = static_cast<size_t>(numel(p.y) / (p.y[0] * p.y[1]));
  // Sums of float32, of which weights may have been rounded before; results are rounded once, or, by other algorithms,
  // before z and the function as well.
  const double per_magnitude = (w_dtype == Dtype::float32 ? 0x1p-8 : 0) + static_cast<double>(numel(p.W)) * 0x1p-23;
  size_t wrong = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    const double sum = sums[i] + bias[i / pixels % static_cast<size_t>(p.y[1])], expected = after(kind, sum + z[i]);
    const double bound = 0x1.05p-8 * (2 * std::fabs(sum) + 2 * std::fabs(z[i])) + per_magnitude * (magnitudes[i] + 1);
    if (!(std::fabs(found[i] - expected) <= bound)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("packed and depthwise convolutions of bfloat16 are what their definition says") {
  const int before = num_threads();
  set_num_threads(1);
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    Choices choose(seed + 5000);
    const Problem p = drawn_problem(seed);
    check_problem(p, choose(0, 3) == 0 ? Dtype::float32 : Dtype::bfloat16, choose(0, 1) == 0, choose(0, 2) > 0,
                  static_cast<After>(choose(0, kKindsOfAfter - 1)));
  }
  // Sums in several parts, ragged columns.
  const Problem deep = {{{1, 1}, {0, 0}, {1, 1}}, {1, 1100, 5, 5}, {75, 1100, 1, 1}, {1, 75, 5, 5}};
  const Problem deep_kernel = {{{1, 1}, {1, 1}, {1, 1}}, {1, 130, 6, 7}, {20, 130, 3, 3}, {1, 20, 6, 7}};
  for (const Problem& p : {deep, deep_kernel}) {
    for (int64_t kind = 0; kind < kKindsOfAfter; ++kind) {
      check_problem(p, Dtype::bfloat16, kind % 2 == 0, true, static_cast<After>(kind));
    }
  }
  set_num_threads(before);
}

// Channels are multiplied in pairs: what lies beside an odd one must not count, not even multiplied by zero.
TEST_CASE("convolutions of bfloat16 keep NaN and infinity where they are") {
  // oneDNN's, where they are forced, do multiply by zeros.
  const char* const forced = std::getenv("KUSARI_CONVOLUTION");
  if (forced != nullptr && (std::string(forced) == "direct" || std::string(forced) == "blocked")) return;
  struct Case {
    int64_t channels, outs, groups;
  };
  for (const Case& c : {Case{3, 8, 1}, {1, 16, 1}, {33, 40, 1}, {27, 27, 3}, {35, 35, 35}, {64, 64, 64}, {66, 32, 1}}) {
    CAPTURE(c.channels);
    CAPTURE(c.groups);
    constexpr int64_t kSize = 9, kAt = 4;
    const Problem p = {{{1, 1}, {1, 1}, {1, 1}, c.groups},
                       {2, c.channels, kSize, kSize},
                       {c.outs, c.channels / c.groups, 3, 3},
                       {2, c.outs, kSize, kSize}};
    const Array x = testing::uniform(p.x, -1, 1, 1).astype(Dtype::bfloat16).channels_last();
    const Array W = testing::uniform(p.W, 0.5, 1, 2).astype(Dtype::bfloat16).channels_last();
    const std::vector<float> whole = convolved(p, {x, W, {}, {}}, After::nothing).to_vector<float>();
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      const Array spoilt = x.copy();
      spoilt.slice(0, 0, 1).slice(1, 0, 1).slice(2, kAt, 1).slice(3, kAt, 1).fill(bad);
      const std::vector<float> found = convolved(p, {spoilt, W, {}, {}}, After::nothing).to_vector<float>();
      size_t wrong = 0;
      for (size_t i = 0; i < found.size(); ++i) {
        const auto at = static_cast<int64_t>(i);
        const int64_t row = at / kSize % kSize, column = at % kSize, out = at / (kSize * kSize);
        const bool is_reached = std::abs(row - kAt) <= 1 && std::abs(column - kAt) <= 1 && out < c.outs / c.groups;
        if (is_reached ? std::isfinite(found[i]) : found[i] != whole[i]) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }
}

}  // namespace
}  // namespace kusari
