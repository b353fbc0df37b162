// Convolutions of float16 and bfloat16 against their definition.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/kernels/convolution.h"
#include "kusari/tests/core/child_process.h"
#include "kusari/tests/cpu/convolution_problems.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using testing::in_order;
using testing::long_problems;
using testing::Order;
using testing::Problem;
using testing::random_problem;
using testing::Wanted;

// Half of the distance between neighbours, relative to a number.
double rounding(Dtype dtype) {
  return dtype == Dtype::float16 ? 0x1p-11 : (dtype == Dtype::bfloat16 ? 0x1p-8 : 0x1p-24);
}

Array magnitudes(const Array& x) {
  const std::vector<double> values = x.to_vector<double>();
  std::vector<double> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), [](double value) { return std::fabs(value); });
  return array<double>(result, x.shape());
}

// Exact sums, and the sums of the products' magnitudes.
struct Sums {
  std::vector<double> value, magnitude;
  double terms = 1;
};

Sums sums_of(Wanted wanted, const Problem& p, const Array& x, const Array& W, const Array& y) {
  Sums sums;
  sums.value = testing::reference_convolution(wanted, x, W, y, p.geometry);
  sums.magnitude = testing::reference_convolution(wanted, magnitudes(x), magnitudes(W), magnitudes(y), p.geometry);
  // Each element of a result has at most so many products.
  const auto products = static_cast<double>(p.y[0] * (p.y.size() > 0 ? numel(p.y) / p.y[0] : 0)) *
                        static_cast<double>(numel(p.W) / p.W[0]);
  const Shape& shape = wanted == Wanted::y ? p.y : (wanted == Wanted::x ? p.x : p.W);
  sums.terms = std::max(1.0, wanted == Wanted::y ? static_cast<double>(numel(p.W) / p.W[0])
                                                 : products / static_cast<double>(numel(shape)) * 4);
  return sums;
}

void add_bias(Sums& sums, const Array& bias, const Shape& shape) {
  const std::vector<double> values = bias.to_vector<double>();
  const size_t pixels = sums.value.size() / static_cast<size_t>(shape[0] * shape[1]);
  for (size_t i = 0; i < sums.value.size(); ++i) {
    const double b = values[i / pixels % values.size()];
    sums.value[i] += b;
    sums.magnitude[i] += std::fabs(b);
  }
}

// The result is rounded once; the sums are float32; `rounded` of a factor of each product may have been rounded before.
void check_sums(const Array& result, const Shape& shape, const Sums& sums, double rounded = 0) {
  REQUIRE(result.shape() == shape);
  const std::vector<double> values = result.to_vector<double>();
  REQUIRE(values.size() == sums.value.size());
  constexpr double kSmallest = 0x1p-24;  // a float16's
  const double per_magnitude = rounded + (sums.terms + 2) * 0x1p-23;
  for (size_t i = 0; i < values.size(); ++i) {
    const double bound = 1.01 * rounding(result.dtype()) * std::fabs(sums.value[i]) +
                         per_magnitude * sums.magnitude[i] + (result.dtype() == Dtype::float16 ? kSmallest : 0);
    if (std::fabs(values[i] - sums.value[i]) <= bound) continue;
    CAPTURE(i);
    CAPTURE(bound);
    CHECK(values[i] == sums.value[i]);
  }
}

struct Dtypes {
  Dtype x, W, bias;
};

void check_dtypes(const Problem& p, const Dtypes& dtypes, Order order) {
  INFO(p.text(), " ", name(dtypes.x), " ", name(dtypes.W), " ", name(dtypes.bias), " order ", static_cast<int>(order));
  const auto values = [&](const Shape& shape, Dtype dtype, uint64_t seed) {
    return in_order(testing::uniform(shape, -1, 1, seed).astype(dtype), order);
  };
  const Array x = values(p.x, dtypes.x, 1), W = values(p.W, dtypes.W, 2), y = values(p.y, dtypes.x, 3);
  const Array b = testing::uniform({p.y[1]}, -1, 1, 4).astype(dtypes.bias);
  const Array bx = testing::uniform({p.x[1]}, -1, 1, 5).astype(dtypes.bias);
  const kernels::Convolution g = p.parameters();
  const auto fresh = [&](const Shape& shape, Dtype dtype) { return in_order(full(shape, 7, dtype), order); };
  // W may be rounded to the dtype of x.
  const double rounded = dtypes.x == Dtype::bfloat16 && dtypes.W != Dtype::bfloat16 ? 0x1p-8 : 0;

  Sums sums = sums_of(Wanted::y, p, x, W, y);
  Array result = fresh(p.y, dtypes.x);
  launch<kernels::ConvolutionForward>(Device(), g, x, W, Array(), result);
  check_sums(result, p.y, sums, rounded);
  add_bias(sums, b, p.y);
  result = fresh(p.y, dtypes.x);
  launch<kernels::ConvolutionForward>(Device(), g, x, W, b, result);
  check_sums(result, p.y, sums, rounded);

  sums = sums_of(Wanted::x, p, x, W, y);
  result = fresh(p.x, dtypes.x);
  launch<kernels::ConvolutionDataGrad>(Device(), g, y, W, Array(), result);
  check_sums(result, p.x, sums, rounded);
  add_bias(sums, bx, p.x);
  result = fresh(p.x, dtypes.x);
  launch<kernels::ConvolutionDataGrad>(Device(), g, y, W, bx, result);
  check_sums(result, p.x, sums, rounded);

  result = fresh(p.W, dtypes.W);
  launch<kernels::ConvolutionFilterGrad>(Device(), g, x, y, result);
  check_sums(result, p.W, sums_of(Wanted::W, p, x, W, y));
}

constexpr Dtype kHalf = Dtype::float16, kBrain = Dtype::bfloat16, kFloat = Dtype::float32;
constexpr Dtypes kAllDtypes[] = {{kHalf, kHalf, kHalf},   {kBrain, kBrain, kBrain}, {kHalf, kFloat, kFloat},
                                 {kBrain, kFloat, kHalf}, {kFloat, kBrain, kBrain}, {kFloat, kHalf, kFloat},
                                 {kBrain, kHalf, kFloat}, {kHalf, kBrain, kBrain}};

TEST_CASE("convolution of half types of random geometries is what its definition says") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const Problem p = random_problem(seed + 1000);
    const auto order = static_cast<Order>(seed % 3);
    check_dtypes(p, kAllDtypes[seed % 2], order);
    check_dtypes(p, kAllDtypes[2 + seed % std::size(kAllDtypes) % (std::size(kAllDtypes) - 2)], order);
  }
}

TEST_CASE("convolution of half types with sizes that are cut into several chunks") {
  for (const Problem& p : long_problems()) {
    for (int i = 0; i < 4; ++i) check_dtypes(p, kAllDtypes[i], Order::channels_last);
  }
}

TEST_CASE("convolution of bfloat16 whose kernels nowhere lie on x, as a whole or in part") {
  const Problem problems[] = {{{{2}, {2}, {1}, 15}, {1, 15, 1}, {15, 1, 3}, {1, 15, 2}},
                              {{{2}, {3}, {1}, 1}, {3, 8, 1}, {66, 8, 5}, {3, 66, 2}},
                              {{{1, 2}, {3, 3}, {2, 1}, 2}, {2, 22, 9, 1}, {54, 11, 5, 4}, {2, 54, 7, 2}},
                              {{{3}, {2}, {1}, 2}, {1, 4, 2}, {70, 2, 3}, {1, 70, 2}}};
  for (const Problem& p : problems) {
    for (int round = 0; round < 3; ++round) {
      full({1 << 16}, 1e30, Dtype::float32);  // what memory holds that is used again
      check_dtypes(p, kAllDtypes[1], Order::channels_last);
    }
  }
}

TEST_CASE("1x1 convolution of bfloat16 with an odd number of channels, at any number of places") {
  for (const int64_t channels : {1, 3, 4, 31}) {
    for (int64_t places = 1; places <= 130; places += places < 27 || (places > 32 && places < 86) ? 9 : 1) {
      check_dtypes({{{1}, {0}, {1}, 1}, {1, 2, places}, {channels, 2, 1}, {1, channels, places}}, kAllDtypes[1],
                   Order::channels_last);
    }
  }
}

TEST_CASE("convolution of half types without bfloat16's instructions") {
  for (const char* const isa : {"v4", "v1"}) {
    const testing::ChildResult child = testing::run_in_child(
        std::string("KUSARI_CPU_ISA=") + isa, "convolution of half types with sizes that are cut into several chunks");
    INFO(child.output);
    CHECK(child.exit_code == 0);
  }
}

TEST_CASE("convolution of bfloat16 through each algorithm") {
  for (const char* const algorithm : {"direct", "blocked", "im2col", "packed"}) {
    const testing::ChildResult child =
        testing::run_in_child(std::string("KUSARI_CONVOLUTION=") + algorithm,
                              "convolution of half types with sizes that are cut into several chunks");
    INFO(child.output);
    CHECK(child.exit_code == 0);
  }
}

// Several chunks of images, the last one smaller: 2, 2 and 1.
const Problem kChunks = {{{1, 2}, {1, 0}, {1, 1}}, {5, 24, 120, 180}, {16, 24, 3, 2}, {5, 16, 120, 90}};

TEST_CASE("convolution of float16 is that of float32, rounded, whatever the number of images") {
  const auto values = [](const Shape& shape, uint64_t seed) {
    return testing::uniform(shape, -1, 1, seed).astype(Dtype::float16).channels_last();
  };
  const Array x = values(kChunks.x, 1), W = values(kChunks.W, 2), gy = values(kChunks.y, 3);
  const auto run = [&](Dtype dtype) {
    const Array y = empty_channels_last(kChunks.y, dtype), gx = empty_channels_last(kChunks.x, dtype),
                gW = empty_channels_last(kChunks.W, dtype);
    const kernels::Convolution g = kChunks.parameters();
    launch<kernels::ConvolutionForward>(Device(), g, x.astype(dtype), W.astype(dtype), Array(), y);
    launch<kernels::ConvolutionDataGrad>(Device(), g, gy.astype(dtype), W.astype(dtype), Array(), gx);
    launch<kernels::ConvolutionFilterGrad>(Device(), g, x.astype(dtype), gy.astype(dtype), gW);
    return std::vector<Array>{y, gx, gW};
  };
  const std::vector<Array> wide = run(Dtype::float32), narrow = run(Dtype::float16);
  for (size_t i = 0; i < wide.size(); ++i) {
    testing::check_close(narrow[i], wide[i].shape(), wide[i].to_vector<double>());
  }
}

TEST_CASE("convolution of float16 needs little memory beside its arrays") {
  constexpr int64_t kBatch = 64;
  const Problem p = {{{2, 2}, {1, 1}, {1, 1}}, {kBatch, 32, 64, 64}, {32, 32, 3, 3}, {kBatch, 32, 32, 32}};
  const kernels::Convolution g = p.parameters();
  const Array x = empty_channels_last(p.x, Dtype::float16), y = empty_channels_last(p.y, Dtype::float16);
  const Array W = empty_channels_last(p.W, Dtype::float16);
  for (const Array& a : {x, y, W}) a.fill(0.5);
  const int64_t copies = (x.size() + y.size()) * 4;  // what whole copies in float32 would take
  const auto most = [](const auto& run) {
    const int64_t before = memory::statistics().allocated;
    memory::reset_max_allocated();
    run();
    return memory::statistics().max_allocated - before;
  };
  const int64_t limit = 10 << 20;
  REQUIRE(copies > 3 * limit);
  CHECK(most([&] { launch<kernels::ConvolutionForward>(Device(), g, x, W, Array(), y); }) < limit);
  CHECK(most([&] { launch<kernels::ConvolutionDataGrad>(Device(), g, y, W, Array(), x); }) < limit);
  CHECK(most([&] { launch<kernels::ConvolutionFilterGrad>(Device(), g, x, y, W); }) < limit);
}

TEST_CASE("convolution of half types gives the same bits for any number of threads") {
  const int before = num_threads();
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    const Array x = testing::uniform(kChunks.x, -1, 1, 1).astype(dtype).channels_last();
    const Array W = testing::uniform(kChunks.W, -1, 1, 2).astype(dtype).channels_last();
    const Array gy = testing::uniform(kChunks.y, -1, 1, 3).astype(dtype).channels_last();
    std::vector<std::vector<float>> seen;
    for (const int threads : {1, 2, 5}) {
      set_num_threads(threads);
      const Array y = empty_like(gy), gx = empty_like(x), gW = empty(kChunks.W, Dtype::float32);
      launch<kernels::ConvolutionForward>(Device(), kChunks.parameters(), x, W, Array(), y);
      launch<kernels::ConvolutionDataGrad>(Device(), kChunks.parameters(), gy, W, Array(), gx);
      launch<kernels::ConvolutionFilterGrad>(Device(), kChunks.parameters(), x, gy, gW);
      std::vector<float> all;
      for (const Array& a : {y, gx, gW}) {
        const std::vector<float> some = a.to_vector<float>();
        all.insert(all.end(), some.begin(), some.end());
      }
      seen.push_back(std::move(all));
    }
    CHECK(seen[0] == seen[1]);
    CHECK(seen[0] == seen[2]);
  }
  set_num_threads(before);
}

TEST_CASE("autotuned convolution of half types stays with its choice") {
  const Problem p = {{{1, 1}, {1, 1}, {1, 1}}, {4, 40, 12, 12}, {48, 40, 3, 3}, {4, 48, 12, 12}};
  kernels::Convolution g = p.parameters();
  g.autotune = true;
  for (const Dtypes& dtypes : {kAllDtypes[0], kAllDtypes[1], Dtypes{kBrain, kFloat, kFloat}}) {
    const Array x = testing::uniform(p.x, -1, 1, 1).astype(dtypes.x),
                gy = testing::uniform(p.y, -1, 1, 2).astype(dtypes.x);
    const Array first = empty_channels_last(p.W, dtypes.W), second = empty_like(first);
    launch<kernels::ConvolutionFilterGrad>(Device(), g, x, gy, first);
    launch<kernels::ConvolutionFilterGrad>(Device(), g, x, gy, second);
    CHECK(first.to_vector<float>() == second.to_vector<float>());
    check_sums(first, p.W, sums_of(Wanted::W, p, x, first, gy));
  }
}

TEST_CASE("convolution of half types with residual, bias and ReLU") {
  const Problem p = {{{1, 1}, {1, 1}, {1, 1}}, {2, 20, 9, 7}, {24, 20, 3, 3}, {2, 24, 9, 7}};
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    const Array x = testing::uniform(p.x, -1, 1, 1).astype(dtype), W = testing::uniform(p.W, -1, 1, 2).astype(dtype);
    const Array z = testing::uniform(p.y, -1, 1, 3).astype(dtype), b = testing::uniform({24}, -1, 1, 4).astype(dtype);
    const Array y = empty_channels_last(p.y, dtype);
    launch<kernels::ConvolutionFusedForward>(Device(), p.parameters(), kernels::ConvolutionActivation::relu, x, W, z, b,
                                             y);
    Sums sums = sums_of(Wanted::y, p, x, W, y);
    add_bias(sums, b, p.y);
    const std::vector<double> addends = z.to_vector<double>(), values = y.to_vector<double>();
    for (size_t i = 0; i < values.size(); ++i) {
      const double expected = std::max(0.0, sums.value[i] + addends[i]);
      const double roundings = 1.01 * rounding(dtype) * (2 * std::fabs(sums.value[i]) + std::fabs(addends[i]));
      CAPTURE(i);
      CHECK(std::fabs(values[i] - expected) <= roundings + 1e-4 * sums.magnitude[i]);
    }
  }
}

}  // namespace
}  // namespace kusari
