#include "kusari/framework/functions/array/segment.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Values = std::vector<double>;

constexpr int64_t kWidth = 3;

/// By loops over rows; empty segments are zeros.
template <class Combine>
Values by_loops(const Values& x, const std::vector<int64_t>& ids, int64_t n, const Combine& combine) {
  Values y;
  for (int64_t s = 0; s < n; ++s) {
    for (int64_t k = 0; k < kWidth; ++k) {
      Values column;
      for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] == s) column.push_back(x[i * kWidth + static_cast<size_t>(k)]);
      }
      y.push_back(column.empty() ? 0 : combine(column));
    }
  }
  return y;
}

double sum_of(const Values& v) {
  double sum = 0;
  for (const double each : v) sum += each;
  return sum;
}

struct SegmentCase {
  std::vector<int64_t> ids;
  int64_t n;
};

TEST_CASE("segment_sum, segment_mean, segment_max and segment_min of rows by ids") {
  std::vector<int64_t> many;
  for (int64_t i = 0; i < 40; ++i) many.push_back(i * i % 7);
  const SegmentCase cases[] = {{{2, 0, 2, 5, 0, 2, 2}, 6}, {{0, 0, 0}, 1}, {{3}, 4}, {{}, 2}, {{}, 0}, {many, 7}};
  for (const SegmentCase& c : cases) {
    CAPTURE(c.ids);
    const auto rows = static_cast<int64_t>(c.ids.size());
    const Array x = uniform({rows, kWidth}, -1, 1, 3);
    const Values numbers = x.to_vector<double>();
    const auto check_one = [&](const char* name, const auto& function, const auto& combine) {
      CAPTURE(name);
      const Values expected = by_loops(numbers, c.ids, c.n, combine);
      for (const Dtype dtype : {Dtype::int32, Dtype::int64}) {
        const Variable ids(array(c.ids, {rows}, test_device()).astype(dtype), false);
        check_close(function(Variable(x), ids, c.n), {c.n, kWidth}, expected);
        if (rows > 0 && rows < 20) {
          check_gradients([&](const Variable& v) { return function(v, ids, c.n); }, x);
        }
      }
    };
    check_one("sum", F::segment_sum, sum_of);
    check_one("mean", F::segment_mean, [](const Values& v) { return sum_of(v) / static_cast<double>(v.size()); });
    check_one("max", F::segment_max, [](const Values& v) { return *std::max_element(v.begin(), v.end()); });
    check_one("min", F::segment_min, [](const Values& v) { return *std::min_element(v.begin(), v.end()); });
  }
}

TEST_CASE("segments of 16 bits, of vectors and of equal numbers") {
  const Variable ids(array<int64_t>(std::vector<int64_t>(4096, 1), {4096}, test_device()), false);
  const Variable half(ones({4096}, Dtype::float16, test_device()));
  const Variable sum = F::segment_sum(half, ids, 2);
  CHECK(sum.dtype() == Dtype::float16);
  CHECK(sum.to_vector<double>() == Values{0, 4096});  // float16 sums stay at 2048
  CHECK(F::segment_mean(half, ids, 2).to_vector<double>() == Values{0, 1});
  Variable equal(ones({3}, Dtype::float32, test_device()));
  F::sum(F::segment_max(equal, Variable(zeros({3}, Dtype::int32, test_device()), false), 1)).backward();
  CHECK(sum_of(equal.grad().to_vector<double>()) == 1);
}

TEST_CASE("segments: errors") {
  const Variable x(ones({2, 3}, Dtype::float32, test_device()));
  const auto ids = [](const std::vector<int64_t>& numbers) {
    return Variable(array(numbers, {static_cast<int64_t>(numbers.size())}, test_device()), false);
  };
  CHECK_THROWS_WITH_AS(F::segment_sum(x, ids({0}), 2),
                       "F::segment_sum: ids has shape (1,) and dtype int64 but x has shape (2, 3): ids must be "
                       "integers, one for each row of x",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::segment_max(x, ids({0, 2}), 2), "F::segment_max: ids has 2: it must be in [0, 2)",
                       IndexError);
  CHECK_THROWS_AS(F::segment_mean(x, x, 2), TypeError);
  CHECK_THROWS_AS(F::segment_min(x, ids({0, 0}), -1), ValueError);
  if (!test_device().is_cpu()) return;  // elsewhere the host does not see them
  CHECK_THROWS_AS(F::segment_sum(x, ids({0, 2}), 2), IndexError);
  CHECK_THROWS_WITH_AS(F::segment_mean(x, ids({0, -1}), 2), "F::segment_mean: ids has -1: it must be in [0, 2)",
                       IndexError);
}

}  // namespace
}  // namespace kusari
