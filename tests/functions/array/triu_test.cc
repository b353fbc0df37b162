#include "kusari/framework/functions/array/triu.h"

#include <cmath>
#include <cstdint>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("triu and tril keep what lies on their side of the diagonal") {
  for (const Shape& shape : {Shape{3, 3}, Shape{2, 5}, Shape{2, 3, 4, 2}, Shape{0, 3}, Shape{2, 0, 3}, Shape{1, 1}}) {
    CAPTURE(to_string(shape));
    const int64_t rows = shape[shape.ndim() - 2], columns = shape[shape.ndim() - 1];
    for (const int64_t k : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{4}, int64_t{-5}, INT64_MAX, INT64_MIN}) {
      CAPTURE(k);
      for (const Dtype dtype : {Dtype::int8, Dtype::int64, Dtype::float16, Dtype::float32}) {
        const Array x = arange(numel(shape), Dtype::float32, test_device()).reshape(shape).astype(dtype);
        std::vector<double> upper = x.to_vector<double>(), lower = upper;
        for (size_t i = 0; i < upper.size(); ++i) {
          const auto column = static_cast<int64_t>(i) % columns, row = static_cast<int64_t>(i) / columns % rows;
          if (column - row < k) upper[i] = 0;
          if (column - row > k) lower[i] = 0;
        }
        CHECK(F::triu(x, k).dtype() == dtype);
        check_close(F::triu(x, k), shape, upper);
        check_close(F::tril(x, k), shape, lower);
      }
    }
  }
  const Array bools = ones({2, 2}, Dtype::bool_, test_device());
  CHECK(F::tril(bools).to_vector<bool>() == std::vector<bool>{true, false, true, true});
  check_close(F::triu(full({2, 2}, NAN, Dtype::float32)), {2, 2}, {NAN, NAN, 0, NAN});
}

TEST_CASE("triu and tril: derivatives and errors") {
  check_gradients([](const Variable& x) { return F::triu(x, 1); }, uniform({2, 3, 4}, -1, 1));
  check_gradients([](const Variable& x) { return F::tril(x, -1); }, uniform({2, 3, 4}, -1, 1));
  CHECK_THROWS_WITH_AS(F::triu(ones({3})), "F::triu: x has shape (3,): x.ndim must be at least 2", TypeError);
  CHECK_THROWS_WITH_AS(F::tril(Variable()), "F::tril: x is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari
