#include "kusari/framework/functions/evaluation/accuracy.h"

#include "kusari/framework/functions/evaluation/binary_accuracy.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("accuracy") {
  const Array y = array<float>({1, 2, 0, 5, 1, 1, 0, 0, 3, 1, 7, 2}, {4, 3});  // predicts 1, 0, 2, 1
  for (const Dtype dtype : kFloatingDtypes) {
    const Array scores = y.astype(dtype);
    CHECK(F::accuracy(scores, array<int>({1, 0, 0, 0})).dtype() == dtype);
    CHECK(F::accuracy(scores, array<int>({1, 0, 0, 0})).item<double>() == 0.5);
    CHECK(F::accuracy(scores, array<int64_t>({1, -1, 0, -1}), -1).item<double>() == 0.5);
    CHECK(F::accuracy(scores, array<int>({0, 0, 0, 0}), 0).item<double>() == 0);
    CHECK(F::accuracy(scores, array<int>({1, 0, -1, -1})).item<double>() == 0.5);
  }
  // Two classes: predicts 1, 0, 1 and 1, 1, 0.
  CHECK(F::accuracy(y.reshape({2, 2, 3}), array<int>({1, 0, 0, 1, 1, 1}, {2, 3})).item<float>() ==
        doctest::Approx(4.0 / 6));
  CHECK(
      F::accuracy(y.reshape({2, 2, 3}).astype(Dtype::float64), array<int>({1, 0, 0, 1, 1, 1}, {2, 3})).item<double>() ==
      4.0 / 6);
  CHECK_FALSE(F::accuracy(Variable(y), array<int>({1, 0, 0, 0})).creator() != nullptr);
  CHECK(F::accuracy(zeros({4096, 2}, Dtype::float16), zeros({4096}, Dtype::int32)).item<float>() == 1);
}

TEST_CASE("accuracy of what does not fit") {
  CHECK_THROWS_WITH_AS(
      F::accuracy(ones({2, 3}), array<int>({0})),
      "F::accuracy: t has shape (1,) but y has shape (2, 3): t.shape[0] must equal y.shape[0] (1 != 2)", TypeError);
  CHECK_THROWS_AS(F::accuracy(ones({2, 3}), ones({2})), TypeError);
  CHECK_THROWS_AS(F::accuracy(ones({2}), array<int>({0, 1})), TypeError);
}

TEST_CASE("binary_accuracy") {
  const Array y = array<float>({-1, 0, 2, -3, 4}), t = array<int>({0, 1, 0, -1, -1});
  CHECK(F::binary_accuracy(y, t).item<float>() == doctest::Approx(2.0 / 3));
  CHECK(F::binary_accuracy(y.astype(Dtype::float16), t).dtype() == Dtype::float16);
  CHECK(F::binary_accuracy(ones({2}), array<int>({-1, -1})).item<float>() == 0);
  CHECK_THROWS_AS(F::binary_accuracy(ones({2}), array<int>({1})), TypeError);
  CHECK_THROWS_AS(F::binary_accuracy(ones({2}), ones({2})), TypeError);
}

}  // namespace
}  // namespace kusari
