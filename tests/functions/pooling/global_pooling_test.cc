#include "kusari/framework/functions/pooling/global_pooling.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Values = std::vector<double>;

TEST_CASE("global pooling over any number of spatial axes") {
  for (const Shape& shape :
       {Shape{2, 3, 5}, Shape{2, 3, 4, 5}, Shape{2, 3, 2, 3, 4}, Shape{1, 2, 1}, Shape{0, 2, 3, 3}}) {
    CAPTURE(to_string(shape));
    Shape result = Shape::filled(shape.ndim(), 1);
    result[0] = shape[0];
    result[1] = shape[1];
    for (const Dtype dtype : kFloatingDtypes) {
      const Array x = uniform(shape, -1, 1).astype(dtype);
      const Values v = x.to_vector<double>();
      const int64_t channels = shape[0] * shape[1], n = channels == 0 ? 0 : x.size() / channels;
      Values largest, mean;
      for (int64_t i = 0; i < channels; ++i) {
        const auto begin = v.begin() + i * n;
        largest.push_back(*std::max_element(begin, begin + n));
        double sum = 0;
        for (int64_t k = 0; k < n; ++k) sum += begin[k];
        mean.push_back(sum / static_cast<double>(n));
      }
      CHECK(F::global_max_pooling_nd(x).dtype() == dtype);
      check_close(F::global_max_pooling_nd(x), result, largest);
      check_close(F::global_average_pooling_nd(x), result, mean, 2);
    }
  }
  check_gradients(F::global_max_pooling_nd, uniform({2, 3, 2, 3}, -1, 1));
  check_gradients(F::global_average_pooling_nd, uniform({2, 3, 2, 3}, -1, 1));
}

TEST_CASE("global max pooling: the gradient goes to the first of equal ones, NaN is larger than any number") {
  const Variable x(array<float>({1, 4, 4, 2}, {1, 1, 2, 2}));
  CHECK(gradient(F::global_max_pooling_nd(x), x) == Values{0, 1, 0, 0});
  CHECK(std::isnan(F::global_max_pooling_nd(array<float>({1, NAN, 4}, {1, 1, 3})).item<float>()));
}

TEST_CASE("global pooling says what does not fit") {
  CHECK_THROWS_WITH_AS(F::global_max_pooling_nd(zeros({2, 3})),
                       "F::global_max_pooling_nd: x has shape (2, 3): it must be (N, C, in...), with one or more "
                       "spatial axes, none of them empty",
                       TypeError);
  CHECK_THROWS_AS(F::global_average_pooling_nd(zeros({2, 3, 0})), TypeError);
  CHECK_THROWS_WITH_AS(F::global_average_pooling_nd(int_ones({2, 3, 4})),
                       "F::global_average_pooling_nd: x has dtype int64: x.dtype must be floating", TypeError);
}

}  // namespace
}  // namespace kusari
