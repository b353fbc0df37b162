#include "kusari/framework/functions/array/unique.h"

#include <cmath>
#include <cstdint>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Places = std::vector<int64_t>;

void check_unique(const F::UniqueResult& found, const Shape& shape, const std::vector<double>& values,
                  const Places& indices, const Places& inverse, const Places& counts) {
  check_close(found.values, shape, values);
  CHECK(found.indices.to_vector<int64_t>() == indices);
  CHECK(found.inverse.to_vector<int64_t>() == inverse);
  CHECK(found.counts.to_vector<int64_t>() == counts);
  CHECK(found.indices.dtype() == Dtype::int64);
}

TEST_CASE("unique elements") {
  for (const Dtype dtype : {Dtype::int8, Dtype::int64, Dtype::float16, Dtype::float32}) {
    const Array x = array<double>({2, 1, 1, 3, 4, 3}, {2, 3}, test_device()).astype(dtype);
    CHECK(F::unique(x).values.dtype() == dtype);
    check_unique(F::unique(x), {4}, {1, 2, 3, 4}, {1, 0, 3, 4}, {1, 0, 0, 2, 3, 2}, {2, 1, 2, 1});
    check_unique(F::unique(x, {.sorted = false}), {4}, {2, 1, 3, 4}, {0, 1, 3, 4}, {0, 1, 1, 2, 3, 2}, {1, 2, 2, 1});
  }
  check_unique(F::unique(array<float>({NAN, 1, -INFINITY, NAN}, test_device())), {3}, {-INFINITY, 1, NAN}, {2, 1, 0},
               {2, 1, 0, 2}, {1, 1, 2});
  const int64_t big = int64_t{1} << 60;
  CHECK(F::unique(array<int64_t>({big + 1, big, big + 1}, test_device())).values.to_vector<int64_t>() ==
        Places{big, big + 1});
  check_unique(F::unique(zeros({0, 2})), {0}, {}, {}, {}, {});
  check_unique(F::unique(full({}, 5, Dtype::float32)), {1}, {5}, {0}, {0}, {1});
}

TEST_CASE("unique parts along an axis") {
  // The examples of ONNX's Unique with an axis.
  const Array x = array<float>({1, 0, 0, 1, 0, 0, 2, 3, 4}, {3, 3}, test_device());
  check_unique(F::unique(x, {.axis = 0}), {2, 3}, {1, 0, 0, 2, 3, 4}, {0, 2}, {0, 0, 1}, {2, 1});
  const Array y = array<float>({1, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1, 2, 1, 0, 1}, {2, 4, 2}, test_device());
  check_unique(F::unique(y, {.axis = 1}), {2, 3, 2}, {0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2, 1}, {1, 0, 2}, {1, 0, 2, 0},
               {2, 1, 1});
  CHECK(F::unique(zeros({2, 0}), {.axis = 0}).values.shape() == Shape{1, 0});
  CHECK(F::unique(zeros({0, 2}), {.axis = 0}).values.shape() == Shape{0, 2});
  CHECK_THROWS_AS(F::unique(x, {.axis = 2}), IndexError);
  CHECK_THROWS_WITH_AS(F::unique(Variable()), "F::unique: x is not given: it is required", TypeError);
}

TEST_CASE("unique: the gradient goes to the first of equal ones") {
  const Variable x(array<float>({2, 1, 2, 1, 3}));
  const Variable values = F::unique(x).values;
  CHECK(gradient(values, x, array<float>({5, 6, 7})) == std::vector<double>{6, 5, 0, 0, 7});
}

}  // namespace
}  // namespace kusari
