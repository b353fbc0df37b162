#include "kusari/framework/functions/array/gather_elements.h"

#include <vector>

#include "kusari/framework/kernels/array_operators.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Values = std::vector<double>;

Array counted_from_one(const Shape& shape) {
  return arange(numel(shape), Dtype::float64, test_device()).reshape(shape) + 1;
}

// Expected values from onnx.reference of onnx 1.22.0: GatherElements and GatherND of opset 13.
TEST_CASE("gather_elements along either axis") {
  const Array x = counted_from_one({3, 4});
  const Array i0 = array<int64_t>({0, 2, 1, 0, 2, 2, -1, 1}, {2, 4}, test_device());
  const Array i1 = array<int64_t>({3, 0, 1, -2, 2, 2}, {3, 2}, test_device());
  check_close(F::gather_elements(x, i0), {2, 4}, {1, 10, 7, 4, 9, 10, 11, 8});
  check_close(F::gather_elements(x, i1, 1), {3, 2}, {4, 1, 6, 7, 11, 11});
  check_close(F::gather_elements(x, i1.astype(Dtype::int32), -1), {3, 2}, {4, 1, 6, 7, 11, 11});
  check_close(F::gather_elements(x.transpose().contiguous().transpose(), i0), {2, 4}, {1, 10, 7, 4, 9, 10, 11, 8});
  CHECK(F::gather_elements(x.astype(Dtype::int8), i0).dtype() == Dtype::int8);
  check_close(F::gather_elements(x, zeros({0, 2}, Dtype::int64)), {0, 2}, {});
  check_close(F::gather_elements(array<float>({7, 8, 9}), array<int>({2, 0})), {2}, {9, 7});
}

TEST_CASE("gather_elements: several axes, against loops") {
  const Shape shape{3, 4, 5}, taken{2, 3, 6};
  const Array x = uniform(shape, -1, 1);
  std::vector<int64_t> indices(static_cast<size_t>(numel(taken)));
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(philox_word(3, i) % 10) - 5;
  const Values v = x.to_vector<double>();
  Values expected;
  for (int64_t i = 0, k = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      for (int64_t l = 0; l < 6; ++l, ++k) {
        const int64_t at = (indices[static_cast<size_t>(k)] + 5) % 5;
        expected.push_back(v[static_cast<size_t>((i * 4 + j) * 5 + at)]);
      }
    }
  }
  const Array index = array(indices, taken, test_device());
  check_close(F::gather_elements(x, index, 2), taken, expected);
  check_gradients([&](const Variable& a) { return F::gather_elements(a, index, 2); }, x);
}

TEST_CASE("gather_nd") {
  const Array x = counted_from_one({2, 3, 2});
  const auto index = [](std::initializer_list<int64_t> values, const Shape& shape) {
    return array<int64_t>(values, shape, test_device());
  };
  check_close(F::gather_nd(x, index({1, 2, 0, 1, -1, 0}, {3, 2})), {3, 2}, {11, 12, 3, 4, 7, 8});
  check_close(F::gather_nd(x, index({1, -1}, {2, 1, 1}), 1), {2, 1, 2}, {3, 4, 11, 12});
  check_close(F::gather_nd(x, index({0, 1, 1, 1, 2, 0}, {1, 2, 3})), {1, 2}, {4, 11});
  check_close(F::gather_nd(x, index({1}, {1})), {3, 2}, {7, 8, 9, 10, 11, 12});
  check_close(F::gather_nd(x, index({2, 0}, {2, 1}), 1), {2, 2}, {5, 6, 7, 8});
  const Array repeated = index({1, 2, 0, 1, 1, 2}, {3, 2});
  check_gradients([&](const Variable& a) { return F::gather_nd(a, repeated); }, uniform({2, 3, 2}, -1, 1));
}

TEST_CASE("gathers say what does not fit") {
  const Array x = zeros({3, 4});
  CHECK_THROWS_WITH_AS(F::gather_elements(x, ones({2, 4})),
                       "F::gather_elements: indices has dtype float32: indices.dtype must be an integer dtype",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::gather_elements(x, int_ones({4})),
                       "F::gather_elements: x has shape (3, 4) but indices has shape (4,): they must have as many axes",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::gather_elements(x, int_ones({2, 5})),
                       "F::gather_elements: x has shape (3, 4) but indices has shape (2, 5): axis 1 of indices must "
                       "not be longer",
                       TypeError);
  CHECK_THROWS_AS(F::gather_elements(x, int_ones({2, 4}), 2), IndexError);
  if (test_device().is_cpu()) {
    CHECK_THROWS_WITH_AS(F::gather_elements(x, full({1, 4}, 3, Dtype::int64)),
                         "F::gather_elements: index 3 is out of range for an axis of size 3", IndexError);
    CHECK_THROWS_AS(F::gather_nd(x, full({2, 2}, 3, Dtype::int64)), IndexError);
  }
  CHECK_THROWS_WITH_AS(F::gather_nd(x, int_ones({2, 3})),
                       "F::gather_nd: x has shape (3, 4) but indices has shape (2, 3): the last axis of indices must "
                       "have one index at least, and at most one per axis",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::gather_nd(x, int_ones({2, 1}), 2),
                       "F::gather_nd: batch_dims is 2 but x has shape (3, 4) and indices has shape (2, 1): both must "
                       "have these axes, and indices one more",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::gather_nd(x, int_ones({2, 1}), 1),
                       "F::gather_nd: x has shape (3, 4) but indices has shape (2, 1): their batch axes must be equal",
                       TypeError);
}

}  // namespace
}  // namespace kusari
