#include "kusari/framework/functions/pooling/max_pooling_nd.h"

#include <limits>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/threads.h"
#include "kusari/tests/functions/pooling/windows_testing.h"

namespace kusari {
namespace {

using namespace testing;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Maxima {
  std::vector<double> y;
  std::vector<int64_t> place, element;  // -1: padding
};

Maxima naive(const Windows& windows, const std::vector<double>& x) {
  const size_t n = static_cast<size_t>(numel(windows.y()));
  Maxima result{std::vector<double>(n, -kInfinity), std::vector<int64_t>(n, 0), std::vector<int64_t>(n, -1)};
  windows.for_each_place([&](int64_t o, int64_t place, int64_t element) {
    const size_t i = static_cast<size_t>(o);
    if (element < 0) return;
    const double value = x[static_cast<size_t>(element)];
    const bool is_first_nan = std::isnan(value) && !std::isnan(result.y[i]);
    if (result.element[i] >= 0 && !(value > result.y[i]) && !is_first_nan) return;
    result.y[i] = value;
    result.place[i] = place;
    result.element[i] = element;
  });
  return result;
}

void check_equal(const std::vector<double>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  size_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    wrong += !(got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i])));
  }
  CHECK(wrong == 0);
}

void check_max_pooling(unsigned seed) {
  const Windows windows = random_windows(seed);
  CAPTURE(seed);
  CAPTURE(windows.text());
  std::vector<double> values = small_integers(numel(windows.x), seed);
  if (seed % 3 == 0) {
    for (size_t i = 5; i < values.size(); i += 11) values[i] = kNan;
  }
  const Maxima expected = naive(windows, values);
  const F::MaxPoolingOptions options{
      .stride = PerAxis(windows.stride), .pad = PerAxis(windows.pad), .cover_all = windows.cover_all};
  const PerAxis ksize(windows.ksize);
  const Variable x(in_some_layout(values, windows.x, seed));

  const auto [y, index] = F::max_pooling_nd_with_indices(x, ksize, options);
  REQUIRE(y.shape() == windows.y());
  REQUIRE(index.shape() == windows.y());
  CHECK(y.dtype() == x.dtype());
  CHECK(has_image_layout(y.array()));
  check_equal(y.to_vector<double>(), expected.y);
  CHECK(index.to_vector<int64_t>() == expected.place);
  {
    const auto guard = no_backprop_mode();
    check_equal(F::max_pooling_nd(x, ksize, options).to_vector<double>(), expected.y);
  }

  const std::vector<double> gy = small_integers(y.size(), seed + 1);
  std::vector<double> gx(values.size());
  for (size_t i = 0; i < gy.size(); ++i) {
    if (expected.element[i] >= 0) gx[static_cast<size_t>(expected.element[i])] += gy[i];
  }
  const Variable seed_gradient(in_some_layout(gy, y.shape(), seed).astype(y.dtype()));
  const Variable found = grad({y}, {x}, {.grad_outputs = {&seed_gradient, 1}, .enable_double_backprop = true})[0];
  check_equal(found.to_vector<double>(), gx);

  // The gradient picks when it is differentiated.
  const std::vector<double> ggx = small_integers(x.size(), seed + 2);
  std::vector<double> ggy(gy.size());
  for (size_t i = 0; i < ggy.size(); ++i) {
    if (expected.element[i] >= 0) ggy[i] = ggx[static_cast<size_t>(expected.element[i])];
  }
  const Variable second(in_some_layout(ggx, x.shape(), seed).astype(x.dtype()));
  const Variable picked = grad({found}, {seed_gradient}, {.grad_outputs = {&second, 1}})[0];
  check_equal(picked.to_vector<double>(), ggy);
}

TEST_CASE("max pooling in random geometries") {
  for (unsigned seed = 0; seed < 300; ++seed) check_max_pooling(seed);
}

TEST_CASE("max pooling with channels first") {
  const auto guard = using_config(&Config::channels_last, false);
  const Windows windows{{2, 3, 5, 6}, {3, 2}, {2, 1}, {1, 0}, true};
  const std::vector<double> values = small_integers(numel(windows.x), 1);
  const Array y = F::max_pooling_2d(array(values, windows.x), {3, 2}, {.stride = {2, 1}, .pad = {1, 0}}).array();
  CHECK(y.is_contiguous());
  check_equal(y.to_vector<double>(), naive(windows, values).y);
}

TEST_CASE("max pooling with windows of more than 256 places") {
  const Windows windows{{1, 20, 23, 30}, {15, 18}, {4, 5}, {2, 3}, true};
  const std::vector<double> values = small_integers(numel(windows.x), 3);
  const Maxima expected = naive(windows, values);
  const Variable x(array(values, windows.x));
  const auto [y, index] = F::max_pooling_2d_with_indices(x, {15, 18}, {.stride = {4, 5}, .pad = {2, 3}});
  CHECK(index.dtype() == Dtype::int32);
  check_equal(y.to_vector<double>(), expected.y);
  CHECK(index.to_vector<int64_t>() == expected.place);
  std::vector<double> gx(values.size());
  for (const int64_t element : expected.element) gx[static_cast<size_t>(element)] += 1;
  check_equal(gradient(y, x), gx);
}

TEST_CASE("max pooling's names, defaults and sizes") {
  const Array x = arange(36).reshape({1, 1, 6, 6});
  check_close(F::max_pooling_2d(x, 2), {1, 1, 3, 3}, {7, 9, 11, 19, 21, 23, 31, 33, 35});
  // cover_all: one more window over the last row and column.
  CHECK(F::max_pooling_2d(x, 4, {.stride = 3}).shape() == Shape{1, 1, 2, 2});
  CHECK(F::max_pooling_2d(x, 3, {.stride = 2}).shape() == Shape{1, 1, 3, 3});
  CHECK(F::max_pooling_2d(x, 3, {.stride = 2, .cover_all = false}).shape() == Shape{1, 1, 2, 2});
  CHECK(F::max_pooling_2d(x, {2, 3}, {.stride = {3, 1}, .pad = {0, 1}}).shape() == Shape{1, 1, 3, 6});
  check_close(F::max_pooling_1d(x.reshape({1, 1, 36}), 10), {1, 1, 4}, {9, 19, 29, 35});
  check_close(F::max_pooling_3d(x.reshape({1, 1, 3, 3, 4}), 2), {1, 1, 2, 2, 2}, {17, 19, 21, 23, 29, 31, 33, 35});
  CHECK(F::max_pooling_nd(x, 2).shape() == Shape{1, 1, 3, 3});
  CHECK(F::max_pooling_1d_with_indices(x.reshape({1, 1, 36}), 4).second.to_vector<int>() == std::vector<int>(9, 3));
  CHECK(F::max_pooling_3d_with_indices(x.reshape({1, 1, 3, 3, 4}), {3, 3, 4}).second.to_vector<int>() ==
        std::vector<int>{35});
  CHECK(F::max_pooling_2d(zeros({0, 3, 6, 6}), 2).shape() == Shape{0, 3, 3, 3});
  CHECK(F::max_pooling_2d(zeros({2, 0, 6, 6}), 2).shape() == Shape{2, 0, 3, 3});
  // A window that cover_all puts outside x altogether.
  check_close(F::max_pooling_1d(arange(5).reshape({1, 1, 5}), 1, {.stride = 3}), {1, 1, 3}, {0, 3, -kInfinity});
}

TEST_CASE("max pooling's gradients") {
  const Array x = uniform({2, 3, 5, 4}, -1, 1), image = x.channels_last();
  for (const Array& input : {x, image}) {
    check_gradients([](const Variable& v) { return F::max_pooling_2d(v, 2); }, input);
    check_gradients([](const Variable& v) { return F::max_pooling_2d(v, 3, {.stride = 2, .pad = 1}); }, input);
    check_gradients([](const Variable& v) { return F::max_pooling_2d(v, 3, {.stride = 1, .cover_all = false}); },
                    input);
  }
  check_gradients([](const Variable& v) { return F::max_pooling_1d(v, 3, {.stride = 2}); }, uniform({2, 2, 7}, -1, 1));
  check_gradients([](const Variable& v) { return F::max_pooling_3d(v, 2, {.stride = 1}); },
                  uniform({1, 2, 3, 3, 3}, -1, 1));
}

TEST_CASE("max pooling is the same on any number of threads") {
  const int before = num_threads();
  const Array x = uniform({3, 48, 40, 36}, -1, 1).astype(Dtype::float32);
  const auto run = [&](int threads) {
    set_num_threads(threads);
    const Variable v(x);
    const Variable y = F::max_pooling_2d(v, 3, {.stride = 2, .pad = 1});
    std::vector<double> all = y.to_vector<double>();
    const std::vector<double> g = gradient(y, v, uniform(y.shape(), -1, 1, 7).astype(Dtype::float32));
    all.insert(all.end(), g.begin(), g.end());
    return all;
  };
  const std::vector<double> alone = run(1);
  CHECK(run(2) == alone);
  CHECK(run(5) == alone);
  set_num_threads(before);
}

TEST_CASE("max pooling of what cannot be pooled") {
  const Array x = ones({1, 2, 4, 4});
  CHECK_THROWS_WITH_AS(F::max_pooling_2d(int_ones({1, 2, 4, 4}), 2),
                       "F::max_pooling_2d: x has dtype int64: x.dtype must be floating", TypeError);
  CHECK_THROWS_WITH_AS(F::max_pooling_2d(ones({2, 4, 4}), 2),
                       "F::max_pooling_2d: x has shape (2, 4, 4): x.ndim must equal 4 (3 != 4)", TypeError);
  CHECK_THROWS_WITH_AS(F::max_pooling_nd(ones({2, 4}), 2),
                       "F::max_pooling_nd: x has shape (2, 4): x.ndim must equal 3 (2 != 3)", TypeError);
  CHECK_THROWS_WITH_AS(F::max_pooling_2d(x, 5, {.cover_all = false}),
                       "F::max_pooling_2d: ksize is (5, 5) and pad is (0, 0) but x has shape (1, 2, 4, 4): no window "
                       "fits into axis 2",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::max_pooling_2d(x, {2, 2, 2}),
                       "F::max_pooling_2d: ksize is (2, 2, 2): it must be one number or one for each of the 2 spatial "
                       "axes",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::max_pooling_2d(x, 2, {.stride = {1, 0}}),
                       "F::max_pooling_2d: stride is (1, 0): it must be at least 1 along each axis", ValueError);
  CHECK_THROWS_WITH_AS(F::max_pooling_2d(x, 2, {.pad = -1}),
                       "F::max_pooling_2d: pad is (-1, -1): it must be at least 0 along each axis", ValueError);
}

}  // namespace
}  // namespace kusari
