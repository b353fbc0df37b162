#include "kusari/framework/functions/math/batch_l2_norm_squared.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("batch_l2_norm_squared") {
  for (const Shape& shape : {Shape{2, 3}, Shape{3, 2, 4}, Shape{0, 3}, Shape{3, 0}, Shape{2, 1, 2, 3}}) {
    CAPTURE(to_string(shape));
    const Array x = uniform(shape, -1, 1);
    const int64_t n = shape[0], inner = n == 0 ? 0 : numel(shape) / n;
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      const Array cast = x.astype(dtype);
      const std::vector<double> values = cast.to_vector<double>();
      std::vector<double> expected(static_cast<size_t>(n), 0.0);
      for (size_t i = 0; i < values.size(); ++i) expected[i / static_cast<size_t>(inner)] += values[i] * values[i];
      check_close(F::batch_l2_norm_squared(cast), {n}, expected, 4);
    }
    check_gradients([](const Variable& v) { return F::batch_l2_norm_squared(v); }, x);
  }
  CHECK_THROWS_WITH_AS(F::batch_l2_norm_squared(uniform({3}, 0, 1)),
                       "F::batch_l2_norm_squared: x has shape (3,): x.ndim must be at least 2 (1 < 2)", TypeError);
  CHECK_THROWS_WITH_AS(F::batch_l2_norm_squared(Variable(int_ones({3, 2}), false)),
                       "F::batch_l2_norm_squared: x has dtype int64: x.dtype must be floating", TypeError);
}

}  // namespace
}  // namespace kusari
