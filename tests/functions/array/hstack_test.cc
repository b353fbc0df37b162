#include "kusari/framework/functions/array/hstack.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("hstack, vstack and dstack") {
  const Array row = array<float>({1, 2}), matrix = array<float>({3, 4, 5, 6}, {2, 2});
  check_close(F::hstack({row, row}), {4}, {1, 2, 1, 2});
  check_close(F::hstack({matrix, matrix}), {2, 4}, {3, 4, 3, 4, 5, 6, 5, 6});
  check_close(F::hstack({ones({}), ones({})}), {2}, {1, 1});
  check_close(F::vstack({row, matrix}), {3, 2}, {1, 2, 3, 4, 5, 6});
  check_close(F::vstack({ones({}), ones({})}), {2, 1}, {1, 1});
  check_close(F::dstack({row, row}), {1, 2, 2}, {1, 1, 2, 2});
  check_close(F::dstack({matrix, matrix}), {2, 2, 2}, {3, 3, 4, 4, 5, 5, 6, 6});
  check_gradients(
      [](const Variable& a, const Variable& b) {
        return F::dstack({a, b});
      },
      uniform({2, 3}, -1, 1, 1), uniform({2, 3}, -1, 1, 2));
  CHECK_THROWS_AS(F::vstack({row, ones({3})}), TypeError);
  CHECK_THROWS_AS(F::hstack(std::span<const Variable>()), ValueError);
}

}  // namespace
}  // namespace kusari
