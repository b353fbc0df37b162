#include "kusari/framework/functions/loss/row_scores.h"

#include <vector>

#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

constexpr kernels::RowLookup kLookup{"F::test", true, -1};

Array some_rows(int64_t n, int64_t k, int64_t rows) {
  std::vector<int> values;
  for (int64_t i = 0; i < n * k; ++i) values.push_back(static_cast<int>((i * 7 + i / 5) % (rows + 1)) - 1);
  return array(values, {n, k}, test_device());
}

// Scores by the definition, and their gradients for gy = 1.
struct Expected {
  std::vector<double> y, gx, gW;

  Expected(const Array& x_array, const Array& W_array, const Array& rows)
      : y(static_cast<size_t>(rows.size())),
        gx(static_cast<size_t>(x_array.size())),
        gW(static_cast<size_t>(W_array.size())) {
    const std::vector<double> x = x_array.to_vector<double>(), W = W_array.to_vector<double>();
    const std::vector<int> r = rows.to_vector<int>();
    const size_t d = static_cast<size_t>(x_array.shape()[1]), k = static_cast<size_t>(rows.shape()[1]);
    for (size_t j = 0; j < r.size(); ++j) {
      if (r[j] == -1) continue;
      for (size_t c = 0; c < d; ++c) {
        const size_t from = j / k * d + c, row = static_cast<size_t>(r[j]) * d + c;
        y[j] += x[from] * W[row];
        gx[from] += W[row];
        gW[row] += x[from];
      }
    }
  }
};

TEST_CASE("row_scores") {
  struct Case {
    int64_t n, k, d, rows;
  };
  for (const Case& c :
       {Case{3, 2, 4, 5}, {1, 1, 1, 1}, {40, 30, 70, 9}, {2, 3, 17, 600}, {0, 2, 3, 4}, {2, 0, 3, 4}, {2, 2, 0, 3}}) {
    CAPTURE(c.n);
    CAPTURE(c.d);
    const Array rows = some_rows(c.n, c.k, c.rows);
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      const Variable x(uniform({c.n, c.d}, -1, 1, 1).astype(dtype)), W(uniform({c.rows, c.d}, -1, 1, 2).astype(dtype));
      const Expected expected(x.array(), W.array(), rows);
      const Variable y = F::row_scores(x, W, rows, kLookup);
      CHECK(y.dtype() == (dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32));
      check_close(y, {c.n, c.k}, expected.y, 10);
      const Variables g = grad({F::sum(y)}, {x, W});
      CHECK(g[0].dtype() == dtype);
      CHECK(g[1].dtype() == dtype);
      check_close(g[0], x.shape(), expected.gx, 10);
      check_close(g[1], W.shape(), expected.gW, 10);
    }
  }
}

TEST_CASE("row_scores of dtypes side by side, and of strided arrays") {
  const Array x = uniform({4, 3}, -1, 1, 1).transpose(), W = uniform({4, 5}, -1, 1, 2).transpose();
  const Array rows = some_rows(2, 3, 5).transpose();
  const Expected expected(x, W.astype(Dtype::float16), rows);
  const Variable y = F::row_scores(x, W.astype(Dtype::float16), rows.astype(Dtype::int64), kLookup);
  CHECK(y.dtype() == Dtype::float64);
  check_close(y, {3, 2}, expected.y);
  // Without an ignored one, negative indices count from the end.
  const Variable last = F::row_scores(x, W, full({3, 1}, -1, Dtype::int32, test_device()), {"F::test"});
  check_close(last, {3, 1}, Expected(x, W, full({3, 1}, 4, Dtype::int32, test_device())).y);
}

TEST_CASE("row_scores's gradients") {
  const Array rows = some_rows(3, 4, 2);
  const auto scores = [&](const Variable& x, const Variable& W) { return F::row_scores(x, W, rows, kLookup); };
  check_gradients(scores, uniform({3, 2}, -1, 1, 1), uniform({2, 2}, -1, 1, 2));
}

TEST_CASE("row_scores of a row that is not there") {
  if (!test_device().is_cpu()) return;
  const Array x = ones({1, 2}), W = ones({3, 2});
  CHECK_THROWS_WITH_AS(F::row_scores(x, W, array<int>({3}, {1, 1}), kLookup),
                       "F::test: index 3 is out of range for an axis of size 3", IndexError);
  CHECK_THROWS_AS(F::row_scores(x, W, array<int>({-4}, {1, 1}), kLookup), IndexError);
}

}  // namespace
}  // namespace kusari
