#include "kusari/framework/functions/evaluation/confusion_matrix.h"

#include <cstdint>
#include <limits>

#include "kusari/framework/kernels/array_operators.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

using Counts = std::vector<int64_t>;

TEST_CASE("confusion_matrix") {
  // The example of scikit-learn's documentation, of labels and of scores.
  const Array t = array<int32_t>({2, 0, 2, 2, 0, 1}, test_device());
  const Array predicted = array<int64_t>({0, 0, 2, 2, 0, 2}, test_device());
  const Counts expected = {2, 0, 0, 0, 0, 1, 1, 0, 2};
  const Variable matrix = F::confusion_matrix(predicted, t);
  CHECK(matrix.shape() == Shape{3, 3});
  CHECK(matrix.dtype() == Dtype::int64);
  CHECK(matrix.device() == test_device());
  CHECK_FALSE(matrix.requires_grad());
  CHECK(matrix.to_vector<int64_t>() == expected);
  const Array scores = array<float>({5, 1, 2, 3, 2, 1, 0, 1, 7, 0, 0, 1, 1, 0, 0, 1, 2, 3}, {6, 3}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    CHECK(F::confusion_matrix(scores.astype(dtype), t).to_vector<int64_t>() == expected);
  }
  CHECK(F::confusion_matrix(predicted, t, {.label_num = 4}).to_vector<int64_t>() ==
        Counts{2, 0, 0, 0, 0, 0, 1, 0, 1, 0, 2, 0, 0, 0, 0, 0});
}

TEST_CASE("confusion_matrix does not count what is ignored") {
  const Array t = array<int32_t>({-1, 0, 1, -1}, {2, 2}, test_device());
  // Predictions beyond the classes do not matter there.
  const Array predicted = array<int32_t>({9, 1, 1, -7}, {2, 2}, test_device());
  CHECK(F::confusion_matrix(predicted, t).to_vector<int64_t>() == Counts{0, 1, 0, 1});
  CHECK(F::confusion_matrix(predicted, t + 1, {.label_num = 3, .ignore_label = 0}).to_vector<int64_t>() ==
        Counts{0, 0, 0, 0, 1, 0, 0, 1, 0});
  // (N, C, W)
  const Array images = array<float>({0, 0, 0, 1, 1, 1, 1, 0}, {2, 2, 2}, test_device());
  CHECK(F::confusion_matrix(images, t).to_vector<int64_t>() == Counts{0, 1, 1, 0});
  CHECK(F::confusion_matrix(zeros({0}, Dtype::int32, test_device()), zeros({0}, Dtype::int32, test_device()),
                            {.label_num = 2})
            .to_vector<int64_t>() == Counts{0, 0, 0, 0});
}

TEST_CASE("confusion_matrix with wrong arguments") {
  const Array t = array<int32_t>({0, 2}, test_device()), predicted = array<int32_t>({3, 1}, test_device());
  CHECK_THROWS_WITH_AS(F::confusion_matrix(ones({2, 2}, Dtype::float32, test_device()), t),
                       "F::confusion_matrix: label 2 in t must be in [0, 2)", IndexError);
  CHECK_THROWS_WITH_AS(F::confusion_matrix(predicted, t, {.label_num = 3}),
                       "F::confusion_matrix: class 3 in y must be in [0, 3)", IndexError);
  CHECK_THROWS_AS(F::confusion_matrix(predicted, array<int32_t>({0, -2}, test_device())), IndexError);
  CHECK_THROWS_WITH_AS(F::confusion_matrix(predicted, t, {.label_num = -1}),
                       "F::confusion_matrix: label_num is -1: it must not be negative", ValueError);
  CHECK_THROWS_WITH_AS(F::confusion_matrix(predicted, full({2}, -1, Dtype::int32, test_device())),
                       "F::confusion_matrix: no label counts: label_num must be given", ValueError);
  CHECK_THROWS_WITH_AS(
      F::confusion_matrix(ones({2}, Dtype::float32, test_device()), t),
      "F::confusion_matrix: y has shape (2,) and dtype float32 and t has shape (2,) and dtype int32: y "
      "must be (N, C, ...) scores with t (N, ...) integers, or both integers of one shape",
      TypeError);
  CHECK_THROWS_AS(F::confusion_matrix(predicted, ones({2}, Dtype::float32, test_device())), TypeError);
  CHECK_THROWS_AS(F::confusion_matrix(predicted, ones({3}, Dtype::int32, test_device())), TypeError);
  CHECK_THROWS_AS(F::confusion_matrix(predicted, t, {.label_num = int64_t{1} << 40}), OutOfMemoryError);
  CHECK_THROWS_AS(F::confusion_matrix(predicted, full({2}, INT64_MAX, Dtype::int64, test_device())), ValueError);
}

}  // namespace
}  // namespace kusari
