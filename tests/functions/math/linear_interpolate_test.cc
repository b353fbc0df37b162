#include "kusari/framework/functions/math/linear_interpolate.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("linear_interpolate") {
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0, 3}, Shape{3, 1, 2}}) {
    CAPTURE(to_string(shape));
    const Array p = uniform(shape, 0, 1, 1), x = uniform(shape, -1, 1, 2), y = uniform(shape, -1, 1, 3);
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      const Array a = p.astype(dtype), b = x.astype(dtype), c = y.astype(dtype);
      const std::vector<double> share = a.to_vector<double>(), one = b.to_vector<double>(), two = c.to_vector<double>();
      std::vector<double> expected;
      for (size_t i = 0; i < share.size(); ++i) expected.push_back(share[i] * one[i] + (1 - share[i]) * two[i]);
      check_close(F::linear_interpolate(a, b, c), shape, expected);
    }
    check_gradients(
        [](const Variable& a, const Variable& b, const Variable& c) { return F::linear_interpolate(a, b, c); }, p, x,
        y);
  }
  CHECK_THROWS_WITH_AS(F::linear_interpolate(uniform({2}, 0, 1), uniform({2}, 0, 1), uniform({2, 2}, 0, 1)),
                       "F::linear_interpolate: y has shape (2, 2) but p has shape (2,): y.shape must equal p.shape",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::linear_interpolate(int_ones({2}), int_ones({2}), int_ones({2})),
                       "F::linear_interpolate: p has dtype int64: p.dtype must be floating", TypeError);
}

}  // namespace
}  // namespace kusari
