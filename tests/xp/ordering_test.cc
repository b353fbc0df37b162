#include "kusari/framework/xp/ordering.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/xp/indexing.h"
#include "kusari/tests/xp/arrays.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool comes_before(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }

/// Loops over an array (outer, n, inner): calls body(row of n, index of the row's element k).
template <class Body>
void for_rows(const Shape& shape, int axis, const Body& body) {
  int64_t inner = 1, outer = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.ndim(); ++i) inner *= shape[i];
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      body([=](int64_t k) { return static_cast<size_t>((o * shape[axis] + k) * inner + i); });
    }
  }
}

}  // namespace

TEST_CASE("xp::sort and argsort along any axis, in every dtype") {
  for (const Dtype dtype : kAllDtypes) {
    CAPTURE(name(dtype));
    for (const Shape& shape : {Shape{7}, Shape{3, 5, 4}, Shape{2, 0}, Shape{1, 6}}) {
      Array x = integers(shape, 0, dtype == Dtype::bool_ ? 1 : 5, 3, dtype);
      if (is_floating(dtype) && x.size() > 4) x.reshape({x.size()}).slice(0, 1, 2, 3).fill(kNan);
      for (int axis = 0; axis < shape.ndim(); ++axis) {
        const std::vector<double> values = numbers(x);
        std::vector<double> sorted = values, places(values.size());
        for_rows(shape, axis, [&](const auto& at) {
          std::vector<int64_t> order(static_cast<size_t>(shape[axis]));
          std::iota(order.begin(), order.end(), int64_t{0});
          std::stable_sort(order.begin(), order.end(),
                           [&](int64_t a, int64_t b) { return comes_before(values[at(a)], values[at(b)]); });
          for (int64_t k = 0; k < shape[axis]; ++k) {
            sorted[at(k)] = values[at(order[static_cast<size_t>(k)])];
            places[at(k)] = static_cast<double>(order[static_cast<size_t>(k)]);
          }
        });
        check_equal(xp::sort(x, axis), shape, sorted);
        check_equal(xp::argsort(x, axis - shape.ndim()), shape, places);
        CHECK(xp::sort(x, axis).dtype() == dtype);
        check_equal(xp::sort(x.transpose(), shape.ndim() - 1 - axis).transpose(), shape, sorted);
      }
      std::vector<double> flat = numbers(x);
      std::stable_sort(flat.begin(), flat.end(), comes_before);
      check_equal(xp::sort(x, std::nullopt), {x.size()}, flat);
    }
  }
  const int64_t big = int64_t{1} << 60;
  CHECK(xp::sort(array<int64_t>({big + 1, big})).to_vector<int64_t>() == std::vector<int64_t>{big, big + 1});
  CHECK_THROWS_AS(xp::sort(array(1.0)), IndexError);
  CHECK_THROWS_AS(xp::argsort(integers({2}, 0, 1), 1), IndexError);
  CHECK(xp::argsort(array(1.0), std::nullopt).shape() == Shape{1});
}

TEST_CASE("xp::topk takes the first of equal elements") {
  const Array x = array<double>({3, 1, 3, 5, 1, 2, 5, 4}, {2, 4});
  const xp::TopElements most = xp::topk(x, 2), least = xp::topk(x, 2, {.largest = false});
  check_equal(most.values, {2, 2}, {5, 3, 5, 4});
  check_equal(most.indices, {2, 2}, {3, 0, 2, 3});
  CHECK(most.indices.dtype() == Dtype::int64);
  check_equal(least.values, {2, 2}, {1, 3, 1, 2});
  check_equal(least.indices, {2, 2}, {1, 0, 0, 1});
  check_equal(xp::topk(x, 1, {.axis = 0}).indices, {1, 4}, {0, 1, 1, 0});
  CHECK(xp::topk(x, 0).values.shape() == Shape{2, 0});
  CHECK(xp::topk(x, 0, {.largest = false}).values.shape() == Shape{2, 0});
  CHECK_THROWS_WITH_AS(xp::topk(x, 5), "xp::topk: k is 5: it must be from 0 to the size of the axis", ValueError);
}

TEST_CASE("xp::argmax, argmin and unique") {
  const Array x = array<double>({2, 5, 5, 1, kNan, 1}, {2, 3}, test_device());
  check_equal(xp::argmax(x), {}, {4});
  check_equal(xp::argmax(x, 0), {3}, {0, 1, 0});
  check_equal(xp::argmin(x.slice(1, 2, 1), 0), {1}, {1});
  CHECK(xp::argmax(x).dtype() == Dtype::int64);
  CHECK_THROWS_WITH_AS(xp::argmax(Array()), "xp::argmax: x is an undefined array", StateError);
  const xp::UniqueElements u = xp::unique(x);
  check_equal(u.values, {4}, {1, 2, 5, kNan});
  check_equal(u.indices, {4}, {3, 0, 1, 4});
  check_equal(u.inverse, {6}, {1, 2, 2, 0, 3, 0});
  check_equal(u.counts, {4}, {2, 1, 2, 1});
  check_equal(xp::unique(array<int32_t>({1, 0, 1, 0, 1, 1}, {3, 2}), 0).values, {2, 2}, {1, 0, 1, 1});
}

TEST_CASE("xp::searchsorted on both sides") {
  const Array sorted = array<double>({1, 2, 2, 4, kNan});
  const Array values = array<double>({0, 1, 2, 3, 4, 9, kNan, -1}, {2, 4});
  check_equal(xp::searchsorted(sorted, values), {2, 4}, {0, 0, 1, 3, 3, 4, 4, 0});
  check_equal(xp::searchsorted(sorted, values, {.right = true}), {2, 4}, {0, 1, 3, 3, 4, 4, 5, 0});
  check_equal(xp::searchsorted(array<int32_t>({1, 3}), array(2.5)), {}, {1});
  check_equal(xp::searchsorted(zeros({0}), array<float>({1, 2})), {2}, {0, 0});
  CHECK_THROWS_AS(xp::searchsorted(values, values), TypeError);
}
