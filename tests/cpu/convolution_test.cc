#include "kusari/framework/kernels/convolution.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/threads.h"
#include "kusari/tests/cpu/convolution_problems.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using testing::Geometry;
using testing::in_order;
using testing::Order;
using testing::Problem;
using testing::random_problem;
using testing::Wanted;

// factor: of the rounding of the largest sum; the sums have up to some thousand products.
void check_all(const Problem& p, Dtype dtype, Order order, double factor = 40) {
  INFO(p.text(), " ", name(dtype), " order ", static_cast<int>(order));
  const auto values = [&](const Shape& shape, uint64_t seed) {
    return in_order(testing::uniform(shape, -1, 1, seed).astype(dtype), order);
  };
  const Array x = values(p.x, 1), W = values(p.W, 2), y = values(p.y, 3);
  const Array b = testing::uniform({p.y[1]}, -1, 1, 4).astype(dtype),
              bx = testing::uniform({p.x[1]}, -1, 1, 5).astype(dtype);
  const kernels::Convolution g = p.parameters();
  const auto add_bias = [](std::vector<double> to, const Array& bias, const Shape& shape) {
    const std::vector<double> values_of = bias.to_vector<double>();
    const size_t pixels = to.size() / static_cast<size_t>(shape[0] * shape[1]);
    for (size_t i = 0; i < to.size(); ++i) to[i] += values_of[i / pixels % values_of.size()];
    return to;
  };
  const auto fresh = [&](const Shape& shape) { return in_order(full(shape, 7, dtype), order); };

  const std::vector<double> forward = testing::reference_convolution(Wanted::y, x, W, y, p.geometry);
  Array result = fresh(p.y);
  launch<kernels::ConvolutionForward>(Device(), g, x, W, Array(), result);
  testing::check_close(result, p.y, forward, factor);
  result = fresh(p.y);
  launch<kernels::ConvolutionForward>(Device(), g, x, W, b, result);
  testing::check_close(result, p.y, add_bias(forward, b, p.y), factor);

  const std::vector<double> data = testing::reference_convolution(Wanted::x, x, W, y, p.geometry);
  result = fresh(p.x);
  launch<kernels::ConvolutionDataGrad>(Device(), g, y, W, Array(), result);
  testing::check_close(result, p.x, data, factor);
  result = fresh(p.x);
  launch<kernels::ConvolutionDataGrad>(Device(), g, y, W, bx, result);
  testing::check_close(result, p.x, add_bias(data, bx, p.x), factor);

  result = fresh(p.W);
  launch<kernels::ConvolutionFilterGrad>(Device(), g, x, y, result);
  testing::check_close(result, p.W, testing::reference_convolution(Wanted::W, x, W, y, p.geometry), 4 * factor);
}

TEST_CASE("convolution of random geometries is what its definition says") {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    const Problem p = random_problem(seed);
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
      check_all(p, dtype, seed % 4 == 0 ? Order::sliced : (seed % 4 == 1 ? Order::c : Order::channels_last));
    }
  }
}

TEST_CASE("convolution with sizes that are cut into several chunks") {
  for (const Problem& p : testing::long_problems()) {
    check_all(p, Dtype::float32, Order::channels_last);
    check_all(p, Dtype::float64, Order::c);
  }
}

TEST_CASE("convolution with strides along an axis with a single position") {
  const Problem narrow = {{{1, 2}, {1, 2}, {2, 1}}, {1, 1, 9, 1}, {14, 1, 4, 4}, {1, 14, 5, 1}};
  const Problem flat = {{{3, 1}, {0, 1}, {1, 1}}, {2, 1, 4, 6}, {8, 1, 3, 3}, {2, 8, 1, 6}};
  for (const Problem& p : {narrow, flat}) check_all(p, Dtype::float32, Order::channels_last);
}

TEST_CASE("convolution with padding that leaves a kernel little or nothing") {
  const Problem nothing = {{{3}, {2}, {2}}, {4, 13, 1}, {8, 13, 1}, {4, 8, 2}};
  const Problem deep = {{{2, 1, 1}, {3, 1, 1}, {1, 1, 1}}, {2, 16, 4, 3, 3}, {16, 16, 4, 3, 3}, {2, 16, 4, 3, 3}};
  for (const Problem& p : {nothing, deep}) check_all(p, Dtype::float32, Order::channels_last);
}

TEST_CASE("convolution with dilated kernels that reach beyond the image with most of their taps") {
  const Problem far = {{{1, 1}, {6, 6}, {6, 6}}, {2, 8, 5, 4}, {12, 8, 3, 3}, {2, 12, 5, 4}};
  const Problem on_one_side = {{{1, 2}, {0, 9}, {2, 4}}, {2, 6, 3, 4}, {4, 6, 2, 4}, {2, 4, 1, 5}};
  const Problem strided = {{{2, 1}, {12, 3}, {6, 3}, 2}, {2, 8, 7, 4}, {6, 4, 5, 3}, {2, 6, 4, 4}};
  const Problem grouped = {{{1}, {40}, {20}, 16}, {3, 16, 9}, {16, 1, 5}, {3, 16, 9}};
  for (const Problem& p : {far, on_one_side, strided, grouped}) check_all(p, Dtype::float32, Order::channels_last);
}

TEST_CASE("convolution with 3x3 kernels and many channels") {
  // Winograd's transformations lose about four bits.
  constexpr double kLossy = 1000;
  const auto problem = [](int64_t batch, int64_t in, int64_t out, Shape size, int64_t pad) {
    return Problem{{{1, 1}, {pad, pad}, {1, 1}},
                   {batch, in, size[0], size[1]},
                   {out, in, 3, 3},
                   {batch, out, size[0] + 2 * pad - 2, size[1] + 2 * pad - 2}};
  };
  for (const Problem& p : {problem(1, 32, 32, {3, 3}, 0), problem(3, 32, 96, {5, 9}, 1), problem(2, 96, 32, {8, 8}, 2),
                           problem(2, 64, 64, {13, 4}, 1), problem(1, 160, 64, {1, 1}, 1),
                           problem(5, 32, 64, {6, 7}, 0), problem(2, 288, 320, {8, 8}, 1)}) {
    check_all(p, Dtype::float32, Order::channels_last, kLossy);
  }
}

TEST_CASE("autotuned convolution agrees with the others and stays with its choice") {
  const Problem p = {{{1, 1}, {1, 1}, {1, 1}}, {4, 32, 12, 12}, {64, 32, 3, 3}, {4, 64, 12, 12}};
  const Array x = testing::uniform(p.x, -1, 1, 1).astype(Dtype::float32).channels_last();
  const Array W = testing::uniform(p.W, -1, 1, 2).astype(Dtype::float32).channels_last();
  kernels::Convolution g = p.parameters();
  g.autotune = true;
  const Array first = empty_channels_last(p.y, Dtype::float32), second = empty_like(first);
  launch<kernels::ConvolutionForward>(Device(), g, x, W, Array(), first);
  launch<kernels::ConvolutionForward>(Device(), g, x, W, Array(), second);
  CHECK(first.to_vector<float>() == second.to_vector<float>());
  testing::check_close(first, p.y, testing::reference_convolution(Wanted::y, x, W, first, p.geometry), 1000);
}

TEST_CASE("convolution notices that fixed weights were written to") {
  const Problem p = {{{1, 1}, {1, 1}, {1, 1}}, {2, 32, 6, 6}, {32, 32, 3, 3}, {2, 32, 6, 6}};
  const Array x = testing::uniform(p.x, -1, 1, 1).astype(Dtype::float32).channels_last();
  const Array W = testing::uniform(p.W, -1, 1, 2).astype(Dtype::float32).channels_last();
  kernels::Convolution g = p.parameters();
  g.weights_are_fixed = true;
  const auto convolved = [&] {
    const Array y = empty_channels_last(p.y, Dtype::float32);
    launch<kernels::ConvolutionForward>(Device(), g, x, W, Array(), y);
    return y.to_vector<float>();
  };
  const std::vector<float> before = convolved();
  CHECK(convolved() == before);
  W.fill(0);  // through the door
  CHECK(convolved() == std::vector<float>(before.size(), 0.0f));
  W.data<float>()[0] = 1;  // past it
  W.mark_written();
  CHECK(convolved() != std::vector<float>(before.size(), 0.0f));
}

TEST_CASE("convolutions whose fixed weights are parts of one array each have their own") {
  for (const auto& [channels, groups] : {std::pair<int64_t, int64_t>{32, 1}, {24, 1}, {24, 24}, {24, 3}}) {
    for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::bfloat16}) {
      for (const bool is_innermost : {true, false}) {
        CAPTURE(channels);
        CAPTURE(groups);
        CAPTURE(name(dtype));
        CAPTURE(is_innermost);
        const Problem p = {{{1, 1}, {1, 1}, {1, 1}, groups},
                           {2, channels, 6, 6},
                           {channels, channels / groups, 3, 3},
                           {2, channels, 6, 6}};
        const Array x = testing::uniform(p.x, -1, 1, 1).astype(dtype).channels_last();
        const Shape all = {3 * channels, channels / groups, 3, 3};
        const Array drawn = testing::uniform(all, -1, 1, 2).astype(dtype),
                    W = is_innermost ? drawn.channels_last() : drawn;
        kernels::Convolution g = p.parameters();
        const auto convolved = [&](int64_t part, bool is_fixed) {
          g.weights_are_fixed = is_fixed;
          const Array y = empty_channels_last(p.y, dtype);
          launch<kernels::ConvolutionForward>(Device(), g, x, W.slice(0, part * channels, channels), Array(), y);
          return y.to_vector<float>();
        };
        for (int round = 0; round < 2; ++round) {
          for (int64_t part = 0; part < 3; ++part) CHECK(convolved(part, true) == convolved(part, false));
        }
      }
    }
  }
}

TEST_CASE("convolutions of other groups with the same fixed weights") {
  for (const Shape& W : {Shape{24, 8, 3, 3}, Shape{512, 8, 1, 1}, Shape{32, 1, 3, 3}}) {
    for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
      CAPTURE(to_string(W));
      CAPTURE(name(dtype));
      const Array w = testing::uniform(W, -1, 1, 2).astype(dtype).channels_last();
      const auto convolved = [&](int64_t groups, bool is_fixed) {
        const int64_t pad = W[2] / 2;
        const Problem p = {{{1, 1}, {pad, pad}, {1, 1}, groups}, {1, W[1] * groups, 6, 6}, W, {1, W[0], 6, 6}};
        kernels::Convolution g = p.parameters();
        g.weights_are_fixed = is_fixed;
        const Array x = testing::uniform(p.x, -1, 1, 1).astype(dtype).channels_last();
        const Array y = empty_channels_last(p.y, dtype);
        launch<kernels::ConvolutionForward>(Device(), g, x, w, Array(), y);
        return y.to_vector<float>();
      };
      for (const int64_t groups : {1, 2, 8, 1, 8}) CHECK(convolved(groups, true) == convolved(groups, false));
    }
  }
}

TEST_CASE("convolution gives the same bits for any number of threads") {
  const int before = num_threads();
  for (const int64_t groups : {int64_t{1}, int64_t{2}, int64_t{24}}) {
    const Problem p = {{{2, 1}, {1, 1}, {1, 1}, groups}, {3, 24, 33, 34}, {48, 24 / groups, 3, 3}, {3, 48, 17, 34}};
    const Array x = testing::uniform(p.x, -1, 1, 1).astype(Dtype::float32);
    const Array W = testing::uniform(p.W, -1, 1, 2).astype(Dtype::float32);
    const Array gy = testing::uniform(p.y, -1, 1, 3).astype(Dtype::float32);
    std::vector<std::vector<float>> seen;
    for (const int threads : {1, 2, 5}) {
      set_num_threads(threads);
      const Array y = empty(p.y), gx = empty(p.x), gW = empty(p.W);
      launch<kernels::ConvolutionForward>(Device(), p.parameters(), x, W, Array(), y);
      launch<kernels::ConvolutionDataGrad>(Device(), p.parameters(), gy, W, Array(), gx);
      launch<kernels::ConvolutionFilterGrad>(Device(), p.parameters(), x, gy, gW);
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

TEST_CASE("convolution does not mind the debugging layout") {
  const auto guard = using_config(&Config::channels_last, false);
  check_all(random_problem(3), Dtype::float32, Order::c);
}

TEST_CASE("convolution of nothing") {
  const Geometry g = {{1, 1}, {0, 0}, {1, 1}};
  const Problem none = {g, {0, 2, 5, 5}, {3, 2, 3, 3}, {0, 3, 3, 3}};
  const Array gW = full(none.W, 5, Dtype::float32);
  launch<kernels::ConvolutionFilterGrad>(Device(), none.parameters(), zeros(none.x), zeros(none.y), gW);
  CHECK(gW.to_vector<float>() == std::vector<float>(54, 0.0f));
  const Problem no_channels = {g, {1, 0, 3, 3}, {2, 0, 3, 3}, {1, 2, 1, 1}};
  const Array y = empty(no_channels.y);
  launch<kernels::ConvolutionForward>(Device(), no_channels.parameters(), zeros(no_channels.x), zeros(no_channels.W),
                                      array<float>({3, 4}), y);
  CHECK(y.to_vector<float>() == std::vector<float>{3, 4});
}

}  // namespace
}  // namespace kusari
