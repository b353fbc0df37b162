#include "kusari/framework/functions/detection/normalized_fusion_silu.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/silu.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

Variable fused(const Variables& xs, const Variable& w, double eps = 1e-4) {
  return F::normalized_fusion_silu({xs.data(), xs.size()}, w, eps);
}

/// By other functions.
Variable fused_in_parts(const Variables& xs, const Variable& w, double eps = 1e-4) {
  const Variable positive = F::relu(w), share = positive / (F::sum(positive) + eps);
  Variable mean;
  for (size_t i = 0; i < xs.size(); ++i) {
    const Variable term = F::get_item(share, static_cast<int64_t>(i)) * xs[i];
    mean = i == 0 ? term : mean + term;
  }
  return F::silu(mean);
}

Variables maps_of(size_t count, const Shape& shape, Dtype dtype = Dtype::float64, bool channels_last = false) {
  Variables maps;
  for (size_t i = 0; i < count; ++i) {
    const Array x = uniform(shape, -3, 3, i + 1).astype(dtype);
    maps.push_back(channels_last ? x.channels_last() : x);
  }
  return maps;
}

Array weights_of(size_t count, Dtype dtype = Dtype::float64) {
  const std::vector<double> all = {0.7, -0.4, 1.3, 0.9};
  return array(std::vector<double>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)),
               {static_cast<int64_t>(count)}, test_device())
      .astype(dtype);
}

/// y, and the gradients of the maps and of w for a gy that is drawn.
template <class Function>
std::vector<Array> results(const Function& function, const Variables& given, const Array& weights) {
  Variables xs;
  for (const Variable& x : given) xs.push_back(Variable(x.array()));
  Variable w(weights);
  Variable y = function(xs, w);
  y.set_grad(uniform(y.shape(), -1, 1, 99).astype(y.dtype()));
  y.backward();
  std::vector<Array> all = {y.array()};
  for (const Variable& x : xs) all.push_back(x.grad());
  all.push_back(w.grad());
  return all;
}

void check_same_results(const std::vector<Array>& got, const std::vector<Array>& expected, double tol) {
  REQUIRE(got.size() == expected.size());
  for (size_t k = 0; k < got.size(); ++k) {
    CAPTURE(k);
    REQUIRE(got[k].shape() == expected[k].shape());
    const std::vector<double> a = got[k].to_vector<double>(), b = expected[k].to_vector<double>();
    double largest = 1, apart = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::abs(b[i]));
      apart = std::max(apart, std::abs(a[i] - b[i]));
    }
    CHECK(apart <= tol * largest);
  }
}

TEST_CASE("normalized_fusion_silu is what other functions make of maps and weights") {
  for (const size_t count : {1, 2, 3, 4}) {
    CAPTURE(count);
    // Several parts of a sum; less than a vector; nothing.
    for (const Shape& shape : {Shape{2, 3, 101, 103}, Shape{1, 2, 3}, Shape{}, Shape{2, 0, 3}}) {
      CAPTURE(to_string(shape));
      const Variables xs = maps_of(count, shape);
      check_same_results(
          results([](const Variables& x, const Variable& w) { return fused(x, w); }, xs, weights_of(count)),
          results([](const Variables& x, const Variable& w) { return fused_in_parts(x, w); }, xs, weights_of(count)),
          1e-10);
    }
  }
}

TEST_CASE("normalized_fusion_silu in smaller dtypes: as in float64 of the same numbers, the weights' gradient too") {
  for (const size_t count : {2, 3}) {
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32}) {
      for (const bool same_weights : {true, false}) {
        CAPTURE(count);
        CAPTURE(name(dtype));
        CAPTURE(same_weights);
        const Variables xs = maps_of(count, {2, 5, 33, 35}, dtype);
        const Array w = weights_of(count, same_weights ? dtype : Dtype::float32);
        Variables wide;
        for (const Variable& x : xs) wide.push_back(Variable(x.array().astype(Dtype::float64)));
        const auto function = [](const Variables& x, const Variable& v) { return fused(x, v); };
        Variable y = fused(wide, w.astype(Dtype::float64));
        const std::vector<Array> got = results(function, xs, w);
        // gy is rounded too.
        const auto with_rounded = [&](const Variables& x, const Variable& v) {
          return F::cast(fused_in_parts(x, v), dtype);
        };
        const std::vector<Array> expected = results(with_rounded, wide, w.astype(Dtype::float64));
        CHECK(got[0].dtype() == dtype);
        CHECK(got[1].dtype() == dtype);
        CHECK(got.back().dtype() == w.dtype());
        check_same_results(got, expected, 2 * tolerance(dtype));
      }
    }
  }
}

TEST_CASE("normalized_fusion_silu of maps that lie differently in memory, and of several dtypes") {
  const Variables plain = maps_of(3, {2, 6, 5, 7}, Dtype::float32);
  const std::vector<double> expected = fused(plain, weights_of(3, Dtype::float32)).array().to_vector<double>();
  const Variables images = maps_of(3, {2, 6, 5, 7}, Dtype::float32, true);
  for (const Variables& xs :
       {images, Variables{plain[0], images[1], plain[2]},
        Variables{Variable(plain[0].array().transpose().contiguous().transpose()), plain[1], plain[2]}}) {
    const Variable y = fused(xs, weights_of(3, Dtype::float32));
    check_close(y, {2, 6, 5, 7}, expected);
    const bool has_image = std::any_of(xs.begin(), xs.end(), [](const Variable& x) {
      return x.array().is_channels_last() && !x.array().is_contiguous();
    });
    CHECK(has_image_layout(y.array()) == (has_image || !config().channels_last));
    const auto function = [](const Variables& x, const Variable& w) { return fused(x, w); };
    check_same_results(results(function, xs, weights_of(3)), results(function, plain, weights_of(3)), 1e-6);
  }
  // An array that does not begin where vectors do.
  const Array long_one = uniform({2 * 6 * 5 * 7 + 1}, -1, 1).astype(Dtype::float32);
  const Array shifted = long_one.slice(0, 1, 2 * 6 * 5 * 7).reshape({2, 6, 5, 7});
  check_close(fused({Variable(shifted), plain[1]}, weights_of(2)), {2, 6, 5, 7},
              fused({Variable(shifted.copy()), plain[1]}, weights_of(2)).array().to_vector<double>());
  const Variable mixed = fused({Variable(plain[0].array().astype(Dtype::float16)), plain[1]}, weights_of(2));
  CHECK(mixed.dtype() == Dtype::float32);
}

TEST_CASE("normalized_fusion_silu's gradients, first and second order") {
  const Array w = weights_of(3) + 0.9;
  check_gradients(
      [](const Variable& a, const Variable& b, const Variable& v) {
        return fused({a, b}, v);
      },
      uniform({2, 3}, -2, 2, 1), uniform({2, 3}, -2, 2, 2), weights_of(2) + 0.9);
  check_gradients(
      [](const Variable& a, const Variable& b, const Variable& c, const Variable& v) {
        return fused({a, b, c}, v, 0.1);
      },
      uniform({2, 3}, -2, 2, 1), uniform({2, 3}, -2, 2, 2), uniform({2, 3}, -2, 2, 3), w);
  // One map computed from another, and one map twice.
  check_gradients(
      [](const Variable& a, const Variable& v) {
        return fused({a, a * a, a}, v);
      },
      uniform({2, 3}, -2, 2), w);
}

TEST_CASE("normalized_fusion_silu computes the gradients that somebody wants") {
  const Variables xs = maps_of(3, {2, 3, 4}, Dtype::float32);
  for (size_t wanted = 0; wanted < 4; ++wanted) {
    CAPTURE(wanted);
    Variables some;
    for (size_t i = 0; i < 3; ++i) some.push_back(Variable(xs[i].array(), i == wanted));
    Variable w(weights_of(3, Dtype::float32), wanted == 3);
    F::sum(fused(some, w)).backward();
    for (size_t i = 0; i < 3; ++i) CHECK(some[i].grad().is_defined() == (i == wanted));
    CHECK(w.grad().is_defined() == (wanted == 3));
  }
}

TEST_CASE("normalized_fusion_silu: weights that count nothing") {
  const Variables xs = maps_of(2, {3, 5});
  const Array none = array<double>({-1, 0}, {2}, test_device());
  for (const double value : fused(xs, none).array().to_vector<double>()) CHECK(value == 0);
  const std::vector<Array> all = results([](const Variables& x, const Variable& w) { return fused(x, w); }, xs, none);
  CHECK(all.back().to_vector<double>() == std::vector<double>{0, 0});
  const Array nan = array<double>({1, std::numeric_limits<double>::quiet_NaN()}, {2}, test_device());
  for (const double value : fused(xs, nan).array().to_vector<double>()) CHECK(std::isnan(value));
}

TEST_CASE("normalized_fusion_silu's weights have the same gradient whatever the number of threads") {
  if (!test_device().is_cpu()) return skip("threads are the CPU's");
  const Variables xs = maps_of(3, {3, 7, 90, 91}, Dtype::float32, true);
  const int before = num_threads();
  std::vector<std::vector<double>> found;
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    found.push_back(
        results([](const Variables& x, const Variable& w) { return fused(x, w); }, xs, weights_of(3, Dtype::float32))
            .back()
            .to_vector<double>());
  }
  set_num_threads(before);
  CHECK(found[0] == found[1]);
  CHECK(found[0] == found[2]);
}

class CountedLaunches final : public LaunchObserver {
 public:
  void on_launch(const Launch& launch, void (*proceed)(const Launch&)) override {
    ++count;
    proceed(launch);
  }
  int count = 0;
};

TEST_CASE("normalized_fusion_silu is one kernel each way") {
  Variables xs;
  for (const Variable& x : maps_of(3, {2, 4, 6, 6}, Dtype::float16, true)) xs.push_back(Variable(x.array()));
  Variable w(weights_of(3, Dtype::float32));
  CountedLaunches forward, backward;
  Variable y;
  {
    const ScopedLaunchObserver scope(forward);
    y = fused(xs, w);
  }
  y.set_grad(ones_like(y.array()));
  {
    const ScopedLaunchObserver scope(backward);
    y.backward();
  }
  CHECK(forward.count == 1);
  CHECK(backward.count == 1);
}

TEST_CASE("normalized_fusion_silu of what does not fit") {
  const Variable x(uniform({2, 3}, -1, 1)), y(uniform({3, 2}, -1, 1));
  const Array w = weights_of(2);
  CHECK_THROWS_WITH_AS(fused({x, x}, weights_of(3)),
                       "F::normalized_fusion_silu: w has shape (3,): w.shape[0] must equal 2 (3 != 2)", TypeError);
  CHECK_THROWS_AS(fused({x, y}, w), TypeError);
  CHECK_THROWS_AS(fused({x, x, x, y}, weights_of(4)), TypeError);
  CHECK_THROWS_AS(fused({x}, weights_of(2)), TypeError);
  CHECK_THROWS_AS(fused({x, x}, int_ones({2})), TypeError);
  CHECK_THROWS_AS(fused({Variable(int_ones({2}), false), Variable(int_ones({2}), false)}, w), TypeError);
  CHECK_THROWS_AS(fused({x, Variable()}, w), TypeError);
  CHECK_THROWS_WITH_AS(fused({x, x}, w, 0), "F::normalized_fusion_silu: eps is 0: it must be positive and finite",
                       ValueError);
  CHECK_THROWS_AS(fused({}, w), ValueError);
}

}  // namespace
}  // namespace kusari
