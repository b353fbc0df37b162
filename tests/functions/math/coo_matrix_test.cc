#include "kusari/framework/functions/math/coo_matrix.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("CooMatrix") {
  const Array data = array<float>({1, 2, 3}), row = array<int32_t>({0, 1, 1}), col = array<int32_t>({2, 0, 0});
  const utils::CooMatrix matrix(data, row, col, {2, 3});
  CHECK(!matrix.is_batch());
  CHECK(matrix.shape() == Shape{2, 3});
  check_close(matrix.to_dense(), {2, 3}, {0, 0, 1, 5, 0, 0});  // 2 + 3 in one place
  const utils::CooMatrix empty_one(zeros({0}), array(std::vector<int64_t>{}), array(std::vector<int64_t>{}), {2, 1});
  check_close(empty_one.to_dense(), {2, 1}, {0, 0});
  check_gradients(
      [&](const Variable& x) {
        return utils::CooMatrix(x, row, col, {2, 3}).to_dense();
      },
      uniform({3}, -1, 1));
}

TEST_CASE("to_coo") {
  const Array x = array<float>({0, 1, 2, 0, 0, 3}, {2, 3});
  const utils::CooMatrix matrix = utils::to_coo(x, std::nullopt, true);
  CHECK(matrix.data().requires_grad());
  CHECK(!utils::to_coo(x).data().requires_grad());
  check_close(matrix.data(), {3}, {1, 2, 3});
  CHECK(matrix.row().to_vector<int>() == std::vector<int>{0, 0, 1});
  CHECK(matrix.col().to_vector<int>() == std::vector<int>{1, 2, 2});
  check_close(matrix.to_dense(), {2, 3}, {0, 1, 2, 0, 0, 3});
  CHECK(utils::to_coo(x.astype(Dtype::float16)).data().dtype() == Dtype::float16);
}

TEST_CASE("to_coo of several matrices fills up with places that are not there") {
  const Array x = array<float>({0, 1, 2, 0, 0, 0, 5, 0}, {2, 2, 2});
  const utils::CooMatrix matrix = utils::to_coo(x);
  CHECK(matrix.is_batch());
  check_close(matrix.data(), {2, 2}, {1, 2, 5, 0});
  CHECK(matrix.row().to_vector<int>() == std::vector<int>{0, 1, 1, -1});
  CHECK(matrix.col().to_vector<int>() == std::vector<int>{1, 0, 0, -1});
  check_close(matrix.to_dense(), {2, 2, 2}, {0, 1, 2, 0, 0, 0, 5, 0});
  CHECK(utils::to_coo(empty({int64_t{1} << 33, 0, 7})).data().shape() == Shape{int64_t{1} << 33, 0});
  CHECK(utils::to_coo(x, 3).data().shape() == Shape{2, 3});
  CHECK_THROWS_WITH_AS(utils::to_coo(x, 1), "utils::to_coo: ldnz is 1 but a matrix has 2 elements that are not zero",
                       ValueError);
  CHECK_THROWS_WITH_AS(utils::to_coo(ones({2})),
                       "utils::to_coo: x has dtype float32 and shape (2,) but must be floating and have 2 or 3 axes",
                       TypeError);
}

TEST_CASE("CooMatrix's errors") {
  const Array data = ones({2}), row = array<int32_t>({0, 1}), col = array<int32_t>({0, 1});
  CHECK_THROWS_WITH_AS(utils::CooMatrix(data, array<int32_t>({0, 2}), col, {2, 2}),
                       "utils::CooMatrix: row holds 2 but the matrix has 2", IndexError);
  CHECK_THROWS_WITH_AS(utils::CooMatrix(data, row, array<int32_t>({0, -2}), {2, 2}),
                       "utils::CooMatrix: col holds -2 but the matrix has 2", IndexError);
  CHECK_THROWS_WITH_AS(utils::CooMatrix(data, array<int32_t>({0}), col, {2, 2}),
                       "utils::CooMatrix: row has shape (1,) but data has shape (2,): they must be equal", ValueError);
  CHECK_THROWS_WITH_AS(utils::CooMatrix(data, row, ones({2}), {2, 2}),
                       "utils::CooMatrix: col has dtype float32 but must have int32 or int64", TypeError);
  CHECK_THROWS_WITH_AS(utils::CooMatrix(data, row, col, {2, 2, 2}),
                       "utils::CooMatrix: shape (2, 2, 2) must have two sizes", ValueError);
  CHECK_THROWS_WITH_AS(utils::CooMatrix(ones({}), row, col, {2, 2}),
                       "utils::CooMatrix: data has shape (): data.ndim must be 1 or 2", ValueError);
  CHECK_THROWS_WITH_AS(utils::CooMatrix(int_ones({2}), row, col, {2, 2}),
                       "utils::CooMatrix: data has dtype int64: data.dtype must be floating", TypeError);
}

}  // namespace
}  // namespace kusari
