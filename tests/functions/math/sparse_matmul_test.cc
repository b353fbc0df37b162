#include "kusari/framework/functions/math/sparse_matmul.h"

#include "kusari/framework/functions/math/matmul.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

Array rows() { return array<int32_t>({0, 1, 1, 1}); }
Array columns() { return array<int32_t>({2, 0, 2, 0}); }  // one place twice

TEST_CASE("sparse_matmul") {
  const utils::CooMatrix a(array<float>({1, 2, 3, 4}), rows(), columns(), {2, 3});  // (0 0 1; 6 0 3)
  const Array b = array<float>({1, 2, 3, 4, 5, 6}, {3, 2});
  check_close(F::sparse_matmul(a, b), {2, 2}, {5, 6, 21, 30});
  check_close(F::sparse_matmul(a, b.transpose().contiguous(), {.transb = true}), {2, 2}, {5, 6, 21, 30});
  check_close(F::sparse_matmul(b, a), {3, 3}, {12, 0, 7, 24, 0, 15, 36, 0, 23});
  check_close(F::sparse_matmul(b.transpose(), a, {.transb = true}), {2, 2}, {5, 21, 6, 30});
  for (const Dtype dtype : kFloatingDtypes) {
    const utils::CooMatrix narrow(array<float>({1, 2, 3, 4}).astype(dtype), rows(), columns(), {2, 3});
    const Variable y = F::sparse_matmul(narrow, b.astype(dtype));
    CHECK(y.dtype() == dtype);
    check_close(y, {2, 2}, {5, 6, 21, 30});
  }
  CHECK(F::sparse_matmul(a, b.astype(Dtype::float64)).dtype() == Dtype::float64);
  const utils::CooMatrix nothing(zeros({0}), array(std::vector<int64_t>{}), array(std::vector<int64_t>{}), {2, 3});
  check_close(F::sparse_matmul(nothing, b), {2, 2}, {0, 0, 0, 0});
}

TEST_CASE("sparse_matmul equals the dense product") {
  const Array row = array<int32_t>({0, 1, 2, 1, 0, -1}, {2, 3}), col = array<int32_t>({1, 3, 3, 0, 0, -1}, {2, 3});
  const Array data = uniform({2, 3}, -1, 1);
  for (const bool transa : {false, true}) {
    for (const bool transb : {false, true}) {
      const utils::CooMatrix sparse(data, row, col, {3, 4});
      const Array right = uniform({2, transb ? 2 : (transa ? 3 : 4), transb ? (transa ? 3 : 4) : 2}, -1, 1, 2);
      const std::vector<double> y = F::sparse_matmul(sparse, right, {transa, transb}).to_vector<double>();
      const Variable dense = F::matmul(sparse.to_dense(), right, {.transa = transa, .transb = transb});
      check_close(dense, {2, transa ? 4 : 3, 2}, y);
      const Array left = uniform({2, transa ? (transb ? 4 : 3) : 2, transa ? 2 : (transb ? 4 : 3)}, -1, 1, 3);
      const std::vector<double> z = F::sparse_matmul(left, sparse, {transa, transb}).to_vector<double>();
      check_close(F::matmul(left, sparse.to_dense(), {.transa = transa, .transb = transb}), {2, 2, transb ? 3 : 4}, z);
      check_gradients(
          [&](const Variable& d, const Variable& x) {
            return F::sparse_matmul(utils::CooMatrix(d, row, col, {3, 4}), x, {transa, transb});
          },
          data, right);
      check_gradients(
          [&](const Variable& d, const Variable& x) {
            return F::sparse_matmul(x, utils::CooMatrix(d, row, col, {3, 4}), {transa, transb});
          },
          data, left);
    }
  }
}

TEST_CASE("sparse_matmul's gradients") {
  check_gradients(
      [](const Variable& d, const Variable& x) {
        return F::sparse_matmul(utils::CooMatrix(d, rows(), columns(), {2, 3}), x);
      },
      uniform({4}, -1, 1, 1), uniform({3, 2}, -1, 1, 2));
}

TEST_CASE("sparse_matmul's errors") {
  const utils::CooMatrix a(array<float>({1, 2, 3, 4}), rows(), columns(), {2, 3});
  CHECK_THROWS_WITH_AS(F::sparse_matmul(a, ones({2, 2})),
                       "F::sparse_matmul: a has shape (2, 3) but b has shape (2, 2): their inner sizes must be equal "
                       "(3 != 2)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::sparse_matmul(ones({2, 3}), a),
                       "F::sparse_matmul: a has shape (2, 3) but b has shape (2, 3): their inner sizes must be equal "
                       "(3 != 2)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::sparse_matmul(a, ones({1, 3, 2})),
                       "F::sparse_matmul: b has shape (1, 3, 2): b.ndim must equal 2 (3 != 2)", TypeError);
  CHECK_THROWS_WITH_AS(F::sparse_matmul(a, int_ones({3, 2})),
                       "F::sparse_matmul: b has dtype int64: b.dtype must be floating", TypeError);
  const utils::CooMatrix two(ones({2, 1}), array<int32_t>({0, 0}, {2, 1}), array<int32_t>({0, 0}, {2, 1}), {2, 3});
  CHECK_THROWS_WITH_AS(F::sparse_matmul(two, ones({3, 3, 2})),
                       "F::sparse_matmul: b has shape (3, 3, 2) but there are 2 sparse matrices", TypeError);
}

}  // namespace
}  // namespace kusari
