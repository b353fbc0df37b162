#include "kusari/framework/functions/evaluation/binary_ranking.h"

#include <cmath>
#include <limits>

#include "kusari/framework/kernels/array_operators.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("roc_auc_score and average_precision_score") {
  // The example of scikit-learn's documentation: 3 of 4 pairs are in order; 1 of 1 and 2 of 3 are of the class.
  const Array y = array<double>({0.1, 0.4, 0.35, 0.8}, test_device()), t = array<int32_t>({0, 0, 1, 1}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    const Variable auc = F::roc_auc_score(y.astype(dtype), t);
    CHECK(auc.dtype() == (dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32));
    CHECK(auc.device() == test_device());
    CHECK_FALSE(auc.requires_grad());
    check_close(auc, {}, {0.75});
    check_close(F::average_precision_score(y.astype(dtype), t), {}, {0.5 + 0.5 * 2 / 3});
  }
  check_close(F::roc_auc_score(-y, t), {}, {0.25});
  const Array perfect = t.astype(Dtype::float32);
  CHECK(F::roc_auc_score(perfect, t).item<double>() == 1);
  CHECK(F::average_precision_score(perfect, t).item<double>() == 1);
  CHECK(F::roc_auc_score(-perfect, t).item<double>() == 0);
  CHECK(F::roc_auc_score(y.reshape({2, 2}), t.reshape({2, 2})).item<double>() == 0.75);
}

TEST_CASE("ranking scores of ties") {
  // All alike: a half of the pairs; one threshold, with the precision of all.
  const Array same = zeros({5}, Dtype::float64, test_device()), t = array<int8_t>({1, 0, 0, 1, 0}, test_device());
  check_close(F::roc_auc_score(same, t), {}, {0.5});
  check_close(F::average_precision_score(same, t), {}, {0.4});
  // The last two have the same score, one of them of the class: 1 + 1 / 2 of 2 pairs; 1 / 2 and 2 / 3.
  const Array y = array<double>({0.9, 0.5, 0.5}, test_device());
  check_close(F::roc_auc_score(y, array<int>({1, 1, 0}, test_device())), {}, {1.5 / 2});
  check_close(F::average_precision_score(y, array<int>({1, 1, 0}, test_device())), {}, {0.5 + 0.5 * 2 / 3});
  const double infinite = std::numeric_limits<double>::infinity();
  check_close(F::roc_auc_score(array<double>({infinite, -infinite, infinite}, test_device()),
                               array<int>({1, 0, 0}, test_device())),
              {}, {1.5 / 2});
}

TEST_CASE("ranking scores of labels that do not count or are all alike") {
  const Array y = array<float>({0.1f, std::nanf(""), 0.35f, 0.8f, 0.4f}, test_device());
  check_close(F::roc_auc_score(y, array<int>({0, -1, 1, 1, 0}, test_device())), {}, {0.75});
  check_close(F::roc_auc_score(y, array<int>({0, 7, 1, 1, 0}, test_device()), 7), {}, {0.75});
  const Array none = zeros({3}, Dtype::int32, test_device()), scores = uniform({3}, 0, 1);
  CHECK(std::isnan(F::roc_auc_score(scores, none).item<double>()));
  CHECK(std::isnan(F::average_precision_score(scores, none).item<double>()));
  CHECK(std::isnan(F::roc_auc_score(scores, int_ones({3})).item<double>()));
  CHECK(F::average_precision_score(scores, int_ones({3})).item<double>() == doctest::Approx(1));
  CHECK(std::isnan(F::roc_auc_score(zeros({0}), zeros({0}, Dtype::int32)).item<double>()));
}

TEST_CASE("ranking scores with wrong arguments") {
  const Array y = ones({2}, Dtype::float32, test_device()), t = array<int>({0, 2}, test_device());
  CHECK_THROWS_WITH_AS(F::roc_auc_score(y, t), "F::roc_auc_score: label 2 in t must be 0, 1, or -1 (ignore_label)",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::average_precision_score(y, y),
                       "F::average_precision_score: y has shape (2,) and t has shape (2,) and dtype float32: t must be "
                       "integers of y's shape",
                       TypeError);
  CHECK_THROWS_AS(F::roc_auc_score(y, zeros({2, 1}, Dtype::int32, test_device())), TypeError);
  CHECK_THROWS_WITH_AS(F::roc_auc_score(t, t), "F::roc_auc_score: y has dtype int32: y.dtype must be floating",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::average_precision_score(full({2}, std::nan(""), Dtype::float32, test_device()),
                                                  zeros({2}, Dtype::int32, test_device())),
                       "F::average_precision_score: y holds NaN: scores must have an order", ValueError);
}

}  // namespace
}  // namespace kusari
