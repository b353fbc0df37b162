#include "kusari/framework/functions/evaluation/top_k_accuracy.h"

#include <cmath>

#include "kusari/framework/functions/evaluation/accuracy.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("top_k_accuracy") {
  // The order of the classes: 1 0 2, 0 2 1, 2 1 0, 1 2 0.
  const Array y = array<float>({1, 2, 0, 5, 1, 2, 0, 1, 3, 1, 7, 2}, {4, 3});
  const Array t = array<int>({0, 1, 2, 0});
  for (const Dtype dtype : kFloatingDtypes) {
    const Array scores = y.astype(dtype);
    CHECK(F::top_k_accuracy(scores, t, 1).dtype() == dtype);
    CHECK(F::top_k_accuracy(scores, t, 1).item<double>() == 0.25);
    CHECK(F::top_k_accuracy(scores, t, 2).item<double>() == 0.5);
    CHECK(F::top_k_accuracy(scores, t, 3).item<double>() == 1);
    CHECK(F::top_k_accuracy(scores, array<int64_t>({0, -1, 2, 0}), 3).item<double>() == 0.75);
    CHECK(F::top_k_accuracy(scores, array<int8_t>({0, -1, 2, -1}), 2, -1).item<double>() == 1);
    CHECK(F::top_k_accuracy(scores, array<int>({1, 1, 1, 1}), 2, 1).item<double>() == 0);
  }
  const Array images = uniform({2, 5, 3}, -1, 1), labels = array<int>({0, 3, 4, 1, 1, 2}, {2, 3}, test_device());
  CHECK(F::top_k_accuracy(images, labels, 1).item<double>() == F::accuracy(images, labels).item<double>());
  CHECK(F::top_k_accuracy(images, labels, 5).item<double>() == 1);
  // Of equal scores the first.
  CHECK(F::top_k_accuracy(zeros({1, 4}), array<int>({1}), 2).item<float>() == 1);
  CHECK(F::top_k_accuracy(zeros({1, 4}), array<int>({2}), 2).item<float>() == 0);
  CHECK(F::top_k_accuracy(Variable(y), t, 2).creator() == nullptr);
  CHECK(F::top_k_accuracy(zeros({0, 2}), zeros({0}, Dtype::int32), 1).item<float>() == 0);
  // More hits than float16 counts.
  CHECK(F::top_k_accuracy(zeros({70000, 2}, Dtype::float16), zeros({70000}, Dtype::int32), 1).item<float>() == 1);
}

TEST_CASE("top_k_accuracy of what does not fit") {
  CHECK_THROWS_WITH_AS(F::top_k_accuracy(ones({2, 3}), array<int>({0}), 1),
                       "F::top_k_accuracy: y has shape (2, 3) and t has shape (1,) and dtype int32: y must be "
                       "(N, C, ...) and t (N, ...) integers",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::top_k_accuracy(ones({2, 3}), array<int>({0, 1}), 4),
                       "F::top_k_accuracy: k is 4: it must be in [1, C]", ValueError);
  CHECK_THROWS_AS(F::top_k_accuracy(ones({2, 3}), array<int>({0, 1}), 0), ValueError);
  CHECK_THROWS_AS(F::top_k_accuracy(ones({2, 3}), ones({2}), 1), TypeError);
  CHECK_THROWS_AS(F::top_k_accuracy(ones({2}), array<int>({0, 1}), 1), TypeError);
  CHECK_THROWS_AS(F::top_k_accuracy(int_ones({2, 3}), array<int>({0, 1}), 1), TypeError);
}

}  // namespace
}  // namespace kusari
