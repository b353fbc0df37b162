#include "kusari/framework/functions/array/permutate.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("permutate") {
  const Array x = array<float>({0, 1, 2, 3, 4, 5}, {3, 2});
  const Array order = array<int32_t>({2, 0, 1});
  check_close(F::permutate(x, order), {3, 2}, {4, 5, 0, 1, 2, 3});
  check_close(F::permutate(x, order, 0, true), {3, 2}, {2, 3, 4, 5, 0, 1});
  check_close(F::permutate(x, array<int64_t>({1, 0}), -1), {3, 2}, {1, 0, 3, 2, 5, 4});
  check_close(F::permutate(zeros({0, 2}), array(std::vector<int64_t>{})), {0, 2}, {});
  for (const bool inv : {false, true}) {
    check_gradients([&](const Variable& v) { return F::permutate(v, order, 1, inv); }, uniform({2, 3, 2}, -1, 1));
  }
}

TEST_CASE("permutate's errors") {
  const Array x = ones({3, 2});
  CHECK_THROWS_WITH_AS(F::permutate(x, array<int32_t>({0, 1, 3})),
                       "F::permutate: indices holds 3 but must be a permutation of 0 to 2", ValueError);
  CHECK_THROWS_WITH_AS(F::permutate(x, array<int32_t>({0, 1, -1})),
                       "F::permutate: indices holds -1 but must be a permutation of 0 to 2", ValueError);
  CHECK_THROWS_WITH_AS(F::permutate(x, array<int32_t>({0, 1, 1})),
                       "F::permutate: indices holds 1 twice but must be a permutation of 0 to 2", ValueError);
  CHECK_THROWS_WITH_AS(F::permutate(x, array<int32_t>({0, 1})),
                       "F::permutate: indices has dtype int32 and shape (2,) but must hold 3 integers, one for each "
                       "element of axis 0",
                       TypeError);
  CHECK_THROWS_AS(F::permutate(x, array<float>({0, 1, 2})), TypeError);
  CHECK_THROWS_AS(F::permutate(x, Array()), TypeError);
  CHECK_THROWS_AS(F::permutate(x, array<int32_t>({0, 1, 2}), 2), IndexError);
  CHECK_THROWS_WITH_AS(F::permutate(Variable(), array<int32_t>({0})), "F::permutate: x is not given: it is required",
                       TypeError);
}

}  // namespace
}  // namespace kusari
