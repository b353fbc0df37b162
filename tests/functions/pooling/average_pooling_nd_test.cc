#include "kusari/framework/functions/pooling/average_pooling_nd.h"

#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/functions/pooling/windows_testing.h"

namespace kusari {
namespace {

using namespace testing;

/// How much of each element of x is in each element of y, by the definition.
template <class Body>
void for_each_weight(const Windows& windows, bool counts_padding, const Body& body) {
  std::vector<double> inside(static_cast<size_t>(numel(windows.y())));
  double places = 1;
  for (const int64_t k : windows.ksize) places *= static_cast<double>(k);
  windows.for_each_place([&](int64_t o, int64_t, int64_t element) { inside[static_cast<size_t>(o)] += element >= 0; });
  windows.for_each_place([&](int64_t o, int64_t, int64_t element) {
    const size_t i = static_cast<size_t>(o);
    if (element >= 0) body(i, static_cast<size_t>(element), 1 / (counts_padding ? places : inside[i]));
  });
}

void check_average_pooling(unsigned seed) {
  Windows windows = random_windows(seed);
  windows.cover_all = false;
  for (int i = 0; i < windows.ndim(); ++i) {
    if (windows.out(i) == 0) return;
  }
  CAPTURE(seed);
  CAPTURE(windows.text());
  const bool counts_padding = seed % 2 == 0;
  F::AveragePoolingOptions options{.stride = PerAxis(windows.stride), .pad = PerAxis(windows.pad)};
  if (!counts_padding) options.pad_value = std::nullopt;

  const std::vector<double> values = small_integers(numel(windows.x), seed);
  const Variable x(in_some_layout(values, windows.x, seed / 2));
  const Variable y = F::average_pooling_nd(x, PerAxis(windows.ksize), options);
  REQUIRE(y.shape() == windows.y());
  CHECK(y.dtype() == x.dtype());
  CHECK(has_image_layout(y.array()));
  const std::vector<double> gy = small_integers(y.size(), seed + 1);
  std::vector<double> expected(gy.size()), gx(values.size());
  std::vector<bool> is_empty(gy.size(), true);
  for_each_weight(windows, counts_padding, [&](size_t o, size_t i, double weight) {
    expected[o] += values[i] * weight;
    gx[i] += gy[o] * weight;
    is_empty[o] = false;
  });
  for (size_t o = 0; o < expected.size(); ++o) {
    if (is_empty[o] && !counts_padding) expected[o] = std::nan("");
  }
  check_close(y, windows.y(), expected, 4);
  const std::vector<double> found = gradient(y, x, in_some_layout(gy, y.shape(), seed).astype(y.dtype()));
  check_close(array(found, windows.x).astype(x.dtype()), windows.x, gx, 4);
}

TEST_CASE("average pooling in random geometries") {
  for (unsigned seed = 0; seed < 300; ++seed) check_average_pooling(seed);
}

TEST_CASE("average pooling's names, defaults and padding") {
  const Array x = arange(16).reshape({1, 1, 4, 4});
  check_close(F::average_pooling_2d(x, 2), {1, 1, 2, 2}, {2.5, 4.5, 10.5, 12.5});
  check_close(F::average_pooling_2d(x, 2, {.stride = 3, .pad = 1}), {1, 1, 2, 2}, {0, 1.25, 5, 12.5});
  check_close(F::average_pooling_2d(x, 2, {.stride = 3, .pad = 1, .pad_value = std::nullopt}), {1, 1, 2, 2},
              {0, 2.5, 10, 12.5});
  check_close(F::average_pooling_1d(x.reshape({1, 1, 16}), 5), {1, 1, 3}, {2, 7, 12});
  check_close(F::average_pooling_3d(x.reshape({1, 1, 2, 2, 4}), 2), {1, 1, 1, 1, 2}, {6.5, 8.5});
  CHECK(F::average_pooling_nd(x, 3).shape() == Shape{1, 1, 1, 1});
  CHECK(F::average_pooling_2d(zeros({0, 3, 4, 4}), 2).shape() == Shape{0, 3, 2, 2});
  // A long sum keeps its digits.
  check_close(F::average_pooling_1d(full({1, 1, 100000}, 0.1, Dtype::float32), 100000), {1, 1, 1}, {0.1F}, 8);
}

TEST_CASE("average pooling's gradients") {
  const Array x = uniform({2, 3, 5, 4}, -1, 1), image = x.channels_last();
  for (const Array& input : {x, image}) {
    check_gradients([](const Variable& v) { return F::average_pooling_2d(v, 2); }, input);
    check_gradients([](const Variable& v) { return F::average_pooling_2d(v, 3, {.stride = 2, .pad = 1}); }, input);
    check_gradients(
        [](const Variable& v) {
          return F::average_pooling_2d(v, 3, {.stride = 2, .pad = 1, .pad_value = std::nullopt});
        },
        input);
    check_gradients([](const Variable& v) { return F::global_average_pooling_2d(v); }, input);
  }
  check_gradients([](const Variable& v) { return F::average_pooling_3d(v, 2, {.stride = 1}); },
                  uniform({1, 2, 3, 3, 3}, -1, 1));
}

TEST_CASE("global_average_pooling_2d") {
  const Array x = uniform({3, 20, 7, 5}, -1, 1);
  const std::vector<double> values = x.to_vector<double>();
  std::vector<double> expected(60);
  for (size_t i = 0; i < values.size(); ++i) expected[i / 35] += values[i] / 35;
  check_close(F::global_average_pooling_2d(x), {3, 20}, expected);
  const Variable y = F::global_average_pooling_2d(x.channels_last().astype(Dtype::float32));
  check_close(y, {3, 20}, expected);
  CHECK(y.array().is_contiguous());
  CHECK_THROWS_WITH_AS(F::global_average_pooling_2d(ones({2, 3})),
                       "F::global_average_pooling_2d: x has shape (2, 3): x.ndim must equal 4 (2 != 4)", TypeError);
}

TEST_CASE("average pooling of windows whose sums or counts 16 bits do not hold") {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    const Array tens = full({1, 1, 100, 100}, 10, dtype, test_device()),
                many = ones({1, 1, 300, 300}, dtype, test_device());
    check_close(F::average_pooling_nd(tens, 100, {.cover_all = true}), {1, 1, 1, 1}, {10});
    check_close(F::average_pooling_nd(many, 300, {.cover_all = true}), {1, 1, 1, 1}, {1});
    CHECK(F::average_pooling_nd(many, 300, {.cover_all = true}).dtype() == dtype);
  }
}

TEST_CASE("average pooling of what cannot be pooled") {
  const Array x = ones({1, 2, 4, 4});
  CHECK_THROWS_WITH_AS(F::average_pooling_2d(x, 2, {.pad_value = 1.5}),
                       "F::average_pooling_2d: pad_value is 1.5: it must be 0 or absent", ValueError);
  CHECK_THROWS_WITH_AS(F::average_pooling_1d(x, 2),
                       "F::average_pooling_1d: x has shape (1, 2, 4, 4): x.ndim must equal 3 (4 != 3)", TypeError);
  CHECK_THROWS_WITH_AS(F::average_pooling_2d(int_ones({1, 2, 4, 4}), 2),
                       "F::average_pooling_2d: x has dtype int64: x.dtype must be floating", TypeError);
  CHECK_THROWS_WITH_AS(F::average_pooling_2d(x, {3, 7}),
                       "F::average_pooling_2d: ksize is (3, 7) and pad is (0, 0) but x has shape (1, 2, 4, 4): no "
                       "window fits into axis 3",
                       ValueError);
}

TEST_CASE("average pooling of no images ends at once, however long they are") {
  const Variable x(zeros({0, 4, int64_t{1} << 32}));
  const Variable y = F::average_pooling_1d(x, 4, {.stride = 2});
  CHECK(y.shape() == Shape{0, 4, (int64_t{1} << 31) - 1});
  F::sum(y).backward();
  CHECK(x.grad().shape() == x.shape());
}

}  // namespace
}  // namespace kusari
