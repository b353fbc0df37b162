#include "kusari/framework/functions/array/scatter_elements.h"

#include <vector>

#include "kusari/framework/kernels/array_operators.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Values = std::vector<double>;
using F::ScatterReduction;

Array numbers_from_one(const Shape& shape) {
  return arange(numel(shape), Dtype::float64, test_device()).reshape(shape) + 1;
}

struct ReductionCase {
  ScatterReduction reduction;
  Values elements, vectors;
};

// From onnx.reference of onnx 1.22.0: ScatterElements and ScatterND of opset 18.
const ReductionCase kReductionCases[] = {
    {ScatterReduction::add,
     {11, 2, 3, 7, 5, 6, 7.5, 15, 11, -11, 15, 12},
     {1, 2.5, 4, 5.5, 7, 8.5, 7, 9, 11, 13, 15, 17}},
    {ScatterReduction::mul,
     {10, 2, 3, 12, 5, 6, 3.5, 56, 18, 200, 44, 12},
     {0, 1, 3, 6, 10, 15, -63, -70, -72, -67.5, -55, -33}},
    {ScatterReduction::max, {10, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
    {ScatterReduction::min,
     {1, 2, 3, 3, 5, 6, 0.5, 7, 2, -20, 4, 12},
     {0, 0.5, 1, 1.5, 2, 2.5, -3, -2.5, -2, -1.5, -1, -0.5}}};

TEST_CASE("scatter_elements and scatter_nd reduce what meets in one element") {
  const Array x = numbers_from_one({3, 4}), cube = numbers_from_one({2, 3, 2});
  const Array index = array<int64_t>({0, 2, 1, 0, 2, 2, -1, 1}, {2, 4}, test_device());
  const Array updates = array<double>({10, -20, 0.5, 3, 2, -1, 4, 7}, {2, 4}, test_device());
  const Array rows = array<int64_t>({1, 0, 1}, {3, 1}, test_device());
  const Array parts = (arange(18, Dtype::float64, test_device()).reshape({3, 3, 2}) - 6) / 2.0;
  for (const ReductionCase& c : kReductionCases) {
    CAPTURE(static_cast<int>(c.reduction));
    for (const Dtype dtype : kFloatingDtypes) {
      const Variable y = F::scatter_elements(x.astype(dtype), index, updates.astype(dtype), 0, c.reduction);
      CHECK(y.dtype() == dtype);
      check_close(y, {3, 4}, c.elements);
      check_close(F::scatter_nd(cube.astype(dtype), rows, parts.astype(dtype), c.reduction), {2, 3, 2}, c.vectors);
    }
    check_gradients(
        [&](const Variable& a, const Variable& u) { return F::scatter_elements(a, index, u, 0, c.reduction); }, x,
        updates);
  }
}

TEST_CASE("scatters replace, and of several updates take the last") {
  const Array x = numbers_from_one({3, 4}), cube = numbers_from_one({2, 3, 2});
  const Array index = array<int64_t>({3, 0, 1, 2, 2, -3}, {3, 2}, test_device());
  const Array updates = array<double>({10, -20, 0.5, 3, 2, -1}, {3, 2}, test_device());
  const Values expected = {-20, 2, 3, 10, 5, 0.5, 3, 8, 9, -1, 2, 12};
  check_close(F::scatter_elements(x, index, updates, 1), {3, 4}, expected);
  const Variable y = F::scatter_elements(x.astype(Dtype::int8), index, updates.astype(Dtype::int8), 1);
  CHECK(y.to_vector<int>() == std::vector<int>{-20, 2, 3, 10, 5, 0, 3, 8, 9, -1, 2, 12});
  CHECK(y.dtype() == Dtype::int8);

  const Array places = array<int64_t>({1, 2, 0, 1}, {2, 2}, test_device());
  check_close(F::scatter_nd(cube, places, array<double>({50, 60, 70, 80}, {2, 2}, test_device())), {2, 3, 2},
              {1, 2, 70, 80, 5, 6, 7, 8, 9, 10, 50, 60});

  const Array again = array<int64_t>({1, 1, 1, 0}, test_device());
  check_close(
      F::scatter_elements(zeros({3}, Dtype::float64, test_device()), again, array<double>({1, 2, 6, 5}, test_device())),
      {3}, {5, 6, 0});
  const Array bools = F::scatter_elements(zeros({3}, Dtype::bool_, test_device()), again,
                                          array<int>({1, 1, 1, 0}, test_device()).astype(Dtype::bool_))
                          .array();
  CHECK(bools.dtype() == Dtype::bool_);
  CHECK(bools.to_vector<bool>() == std::vector<bool>{false, true, false});
  // Rows of vectors: the later one wins as a whole.
  check_close(F::scatter_nd(cube, array<int64_t>({1, 0, 1}, {3, 1}, test_device()), numbers_from_one({3, 3, 2})),
              {2, 3, 2}, {7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18});
  check_gradients([&](const Variable& a, const Variable& u) { return F::scatter_elements(a, index, u, 1); }, x,
                  updates);
  check_gradients([&](const Variable& a, const Variable& u) { return F::scatter_elements(a, again, u); },
                  uniform({3}, -1, 1), uniform({4}, -1, 1, 2));
}

TEST_CASE("scatters of nothing leave x") {
  const Array x = numbers_from_one({3});
  check_close(F::scatter_elements(x, zeros({0}, Dtype::int64), zeros({0}, Dtype::float64)), {3}, {1, 2, 3});
  check_close(F::scatter_nd(x, zeros({0, 1}, Dtype::int64), zeros({0}, Dtype::float64), ScatterReduction::mul), {3},
              {1, 2, 3});
}

TEST_CASE("scatters keep infinities where they are") {
  const Array x = array<float>({INFINITY, 1, NAN}, test_device());
  const Array index = array<int64_t>({1}, test_device()), update = array<float>({INFINITY}, test_device());
  check_close(F::scatter_elements(x, index, update), {3}, {INFINITY, INFINITY, NAN});
  check_close(F::scatter_elements(x, index, update, 0, ScatterReduction::mul), {3}, {INFINITY, INFINITY, NAN});
  check_close(F::scatter_elements(x, index, update, 0, ScatterReduction::max), {3}, {INFINITY, INFINITY, NAN});
}

TEST_CASE("scatters say what does not fit") {
  const Array x = zeros({3, 4});
  CHECK_THROWS_WITH_AS(F::scatter_elements(x, int_ones({2, 4}), zeros({2, 3})),
                       "F::scatter_elements: updates has shape (2, 3): it must be (2, 4), as the indices say",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::scatter_nd(x, int_ones({2, 1}), zeros({2})),
                       "F::scatter_nd: updates has shape (2,): it must be (2, 4), as the indices say", TypeError);
  CHECK_THROWS_WITH_AS(
      F::scatter_elements(x, int_ones({2, 4}), int_ones({2, 4})),
      "F::scatter_elements: x has dtype float32 but updates has dtype int64: x.dtype must equal updates.dtype",
      TypeError);
  const Array bools = zeros({3, 4}, Dtype::bool_);
  CHECK_THROWS_WITH_AS(F::scatter_elements(bools, int_ones({3, 4}), bools, 0, ScatterReduction::add),
                       "F::scatter_elements: x has dtype bool: bools can only be replaced", TypeError);
  CHECK_THROWS_WITH_AS(F::scatter_elements(x, int_ones({2, 4}), Variable()),
                       "F::scatter_elements: updates is not given: it is required", TypeError);
  if (test_device().is_cpu()) {
    CHECK_THROWS_AS(F::scatter_elements(x, full({2, 4}, 3, Dtype::int64), zeros({2, 4})), IndexError);
  }
}

}  // namespace
}  // namespace kusari
