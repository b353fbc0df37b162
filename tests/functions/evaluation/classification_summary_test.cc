#include "kusari/framework/functions/evaluation/classification_summary.h"

#include <cstdint>
#include <limits>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

using Values = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Scores whose largest is in the given class.
Array scores(const std::vector<int64_t>& predicted, int64_t classes, Dtype dtype = Dtype::float32) {
  Values values;
  for (const int64_t p : predicted) {
    for (int64_t c = 0; c < classes; ++c) values.push_back(c == p ? 2 : 0.5);
  }
  return array(values, {static_cast<int64_t>(predicted.size()), classes}, test_device()).astype(dtype);
}

TEST_CASE("classification_summary") {
  const Array t = array<int32_t>({0, 0, 0, 1, 1, 3, -1}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    const Array y = scores({0, 0, 1, 1, 2, 3, 0}, 4, dtype);
    const F::ClassificationSummary all = F::classification_summary(y, t);
    CHECK(all.precision.dtype() == (dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32));
    CHECK(all.support.dtype() == Dtype::int64);
    CHECK_FALSE(all.precision.requires_grad());
    check_close(all.precision, {4}, {1, 0.5, 0, 1});
    check_close(all.recall, {4}, {2.0 / 3, 0.5, kNan, 1});
    check_close(all.fbeta, {4}, {0.8, 0.5, kNan, 1});
    CHECK(all.support.to_vector<double>() == Values{3, 2, 0, 1});
    check_close(F::precision(y, t).first, {4}, {1, 0.5, 0, 1});
    check_close(F::recall(y, t).first, {4}, {2.0 / 3, 0.5, kNan, 1});
    check_close(F::f1_score(y, t, {.beta = 7}).first, {4}, {0.8, 0.5, kNan, 1});
    // 5 p r / (4 p + r)
    check_close(F::fbeta_score(y, t, {.beta = 2}).first, {4}, {5 * 2.0 / 3 / (4 + 2.0 / 3), 0.5, kNan, 1});
    CHECK(F::fbeta_score(y, t).second.to_vector<double>() == Values{3, 2, 0, 1});
  }
}

TEST_CASE("classification_summary with other labels than classes of scores") {
  const Array y = scores({0, 1, 2, 2}, 3), t = array<int64_t>({0, 1, 1, 0}, test_device());
  // The predictions of class 2 belong to none of two classes, but they were not hits.
  const F::ClassificationSummary two = F::classification_summary(y, t);
  check_close(two.precision, {2}, {1, 1});
  check_close(two.recall, {2}, {0.5, 0.5});
  const F::ClassificationSummary one = F::classification_summary(y, t, {.label_num = 1});
  check_close(one.precision, {1}, {1});
  CHECK(one.support.to_vector<double>() == Values{2});
  const F::ClassificationSummary five = F::classification_summary(y, t, {.label_num = 5});
  check_close(five.precision, {5}, {1, 1, 0, kNan, kNan});
  const F::ClassificationSummary ignored = F::classification_summary(y, t, {.ignore_label = 0});
  CHECK(ignored.support.to_vector<double>() == Values{0, 2});
  check_close(ignored.precision, {2}, {kNan, 1});
  // A label that is ignored counts when the number of classes is found out.
  CHECK(F::classification_summary(y, t, {.ignore_label = 1}).support.shape() == Shape{2});
  CHECK(F::classification_summary(scores({0}, 2), array<int32_t>({-1}, test_device())).support.shape() == Shape{0});
}

TEST_CASE("classification_summary of images") {
  // (N, C, H, 1) with (N, H): the axis of size 1 is not one of labels.
  const Array y = array<float>({1, 0, 0, 1, 0, 1, 1, 0}, {2, 2, 2, 1}, test_device());
  const Array t = array<int32_t>({0, 1, 0, 0}, {2, 2}, test_device());
  const auto [precision, support] = F::precision(y, t);
  check_close(precision, {2}, {1, 0.5});
  CHECK(support.to_vector<double>() == Values{3, 1});
}

TEST_CASE("classification_summary with wrong arguments") {
  const Array y = scores({0, 1}, 2), t = array<int32_t>({0, 1}, test_device());
  CHECK_THROWS_WITH_AS(F::classification_summary(y, t, {.label_num = -1}),
                       "F::classification_summary: label_num is -1: it must not be negative", ValueError);
  CHECK_THROWS_WITH_AS(F::classification_summary(scores({}, 2), zeros({0}, Dtype::int32, test_device())),
                       "F::classification_summary: t is empty: label_num must be given", ValueError);
  CHECK(F::classification_summary(scores({}, 2), zeros({0}, Dtype::int32, test_device()), {.label_num = 2})
            .support.to_vector<double>() == Values{0, 0});
  CHECK_THROWS_WITH_AS(F::classification_summary(y, y),
                       "F::classification_summary: t has dtype float32: t.dtype must be an integer or bool", TypeError);
  CHECK_THROWS_AS(F::classification_summary(t, t), TypeError);
  CHECK_THROWS_AS(F::classification_summary(y, array<int32_t>({0}, test_device())), TypeError);
  CHECK_THROWS_AS(F::classification_summary(y, t.reshape({2, 1})), TypeError);
  if (test_device().is_cpu()) {
    CHECK_THROWS_WITH_AS(F::recall(y, array<int32_t>({0, -2}, test_device())),
                         "F::recall: t has a negative label: labels must be at least 0, or -1 (ignore_label)",
                         IndexError);
    CHECK_THROWS_AS(F::classification_summary(y, array<int32_t>({-5, -5}, test_device())), IndexError);
  }
}

TEST_CASE("more labels than there is memory for") {
  const Variable y = ones({2, 3}, Dtype::float32, test_device()), t = zeros({2}, Dtype::int32, test_device());
  for (const int64_t label_num : {int64_t{1} << 62, INT64_MAX}) {
    const F::ClassificationSummaryOptions options{.label_num = label_num};
    CHECK_THROWS_AS(F::classification_summary(y, t, options), ValueError);
    CHECK_THROWS_AS(F::precision(y, t, options), ValueError);
    CHECK_THROWS_AS(F::recall(y, t, options), ValueError);
    CHECK_THROWS_AS(F::f1_score(y, t, options), ValueError);
    CHECK_THROWS_AS(F::fbeta_score(y, t, options), ValueError);
  }
  CHECK_THROWS_AS(F::f1_score(y, t, {.label_num = int64_t{1} << 55}), OutOfMemoryError);
  CHECK_THROWS_AS(F::f1_score(y, full({2}, INT64_MAX, Dtype::int64, test_device())), ValueError);
  CHECK_THROWS_AS(F::f1_score(y, full({2}, int64_t{1} << 62, Dtype::int64, test_device())), ValueError);
}

}  // namespace
}  // namespace kusari
