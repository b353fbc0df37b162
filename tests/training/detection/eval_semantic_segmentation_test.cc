#include "kusari/framework/training/detection/eval_semantic_segmentation.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

using namespace kusari;

TEST_CASE("eval_semantic_segmentation") {
  // Class 0: 3 pixels, 2 right, 1 said to be 1; class 1: 2, 1 right, 1 said to be 3; two do not count.
  const std::vector<Array> truth = {array<int>({0, 0, 0, -1}, {2, 2}), array<int>({1, 1, -1}, {1, 3})};
  const std::vector<Array> predicted = {array<int>({0, 0, 1, 5}, {2, 2}), array<int>({1, 3, 0}, {1, 3})};
  const metrics::SegmentationMetrics result = metrics::eval_semantic_segmentation(predicted, truth);
  REQUIRE(result.iou.size() == 6);
  CHECK(result.iou[0] == 2.0 / 3);
  CHECK(result.iou[1] == 1.0 / 3);
  CHECK(std::isnan(result.iou[2]));
  CHECK(result.iou[3] == 0);
  CHECK(std::isnan(result.iou[5]));  // said only where nothing counts
  CHECK(result.miou == doctest::Approx(1.0 / 3));
  CHECK(result.pixel_accuracy == 3.0 / 5);
  CHECK(result.class_accuracy[0] == 2.0 / 3);
  CHECK(result.class_accuracy[1] == 0.5);
  CHECK(std::isnan(result.class_accuracy[3]));
  CHECK(result.mean_class_accuracy == doctest::Approx((2.0 / 3 + 0.5) / 2));

  metrics::SegmentationConfusion confusion;
  for (size_t i = 0; i < truth.size(); ++i) confusion.add(predicted[i], truth[i]);
  CHECK(confusion.classes() == 6);
  CHECK(confusion.count(0, 1) == 1);
  CHECK(confusion.count(1, 3) == 1);
  CHECK(confusion.count(9, 0) == 0);
  CHECK(std::isnan(metrics::SegmentationConfusion().metrics().miou));

  CHECK_THROWS_WITH_AS(
      confusion.add(zeros({2, 2}, Dtype::int32), zeros({4}, Dtype::int32)),
      "SegmentationConfusion::add: predicted has shape (2, 2) but truth has shape (4,): they must be equal", TypeError);
  CHECK_THROWS_AS(confusion.add(zeros({2}), zeros({2})), TypeError);
  CHECK_THROWS_WITH_AS(confusion.add(array<int>({-1}), array<int>({0})),
                       "SegmentationConfusion::add: predicted has the class -1: it must be in [0, 65535]", ValueError);
  CHECK_THROWS_AS(confusion.add(array<int>({0}), array<int>({-2})), ValueError);
  CHECK_THROWS_AS(metrics::eval_semantic_segmentation(predicted, std::vector<Array>()), ValueError);
}
