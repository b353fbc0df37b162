#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "kusari/framework/core/error.h"
#include "kusari/framework/training/detection/eval_detection_coco.h"
#include "kusari/framework/training/detection/eval_detection_voc.h"
#include "kusari/tests/golden_data.h"

using namespace kusari;
using metrics::CocoAnnotation;
using metrics::CocoMetrics;
using metrics::CocoResult;
using metrics::GroundTruth;
using nlohmann::json;

namespace {

json cases_of(const std::string& name) {
  std::ifstream file(testing::golden_path("detection/" + name));
  REQUIRE(file.good());
  return json::parse(file);
}

CocoMetrics evaluate_case(const json& c) {
  std::vector<CocoAnnotation> annotations;
  for (const json& a : c["annotations"]) {
    annotations.push_back({a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7] != 0, false});
  }
  std::vector<CocoResult> results;
  for (const json& r : c["results"]) results.push_back({r[0], r[1], r[2], r[3], r[4], r[5], r[6]});
  return metrics::eval_detection_coco(c["images"].get<std::vector<int64_t>>(),
                                      c["categories"].get<std::vector<int64_t>>(), annotations, results);
}

double number_or_nan(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

void check_same(double got, double expected) {
  if (std::isnan(expected)) {
    CHECK(std::isnan(got));
  } else {
    CHECK(std::abs(got - expected) <= 1e-12);
  }
}

CocoMetrics one_image(const std::vector<CocoAnnotation>& annotations, const std::vector<CocoResult>& results) {
  return metrics::eval_detection_coco(std::vector<int64_t>{1}, std::vector<int64_t>{1}, annotations, results);
}

}  // namespace

TEST_CASE("eval_detection_coco: the numbers of pycocotools 2.0.11") {
  const json cases = cases_of("coco_cases.json");
  REQUIRE(cases.size() == 24);
  for (size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    const std::array<double, 12> stats = evaluate_case(cases[i]).stats();
    for (size_t k = 0; k < 12; ++k) check_same(stats[k], cases[i]["stats"][k]);
  }
}

TEST_CASE("eval_detection_coco: the rules one by one") {
  const CocoAnnotation box{1, 1, 10, 10, 50, 50, 2500, false, false};
  const CocoMetrics exact = one_image({box}, {{1, 1, 10, 10, 50, 50, 0.5}});
  CHECK(exact.ap == doctest::Approx(1));
  CHECK(exact.ap_small == -1);  // nothing of that size
  CHECK(exact.ap_medium == doctest::Approx(1));
  CHECK(exact.ar1 == 1);
  CHECK(exact.class_ap.size() == 1);
  // IoU 0.8: a hit at 0.50 .. 0.80, seven of ten.
  CHECK(one_image({box}, {{1, 1, 10, 10, 50, 40, 0.5}}).ap == doctest::Approx(0.7));
  // A miss with a better score halves the precision.
  CHECK(one_image({box}, {{1, 1, 200, 200, 50, 50, 0.9}, {1, 1, 10, 10, 50, 50, 0.5}}).ap50 == doctest::Approx(0.5));
  CHECK(one_image({box}, {}).ap == 0);
  CHECK(one_image({}, {{1, 1, 10, 10, 50, 50, 0.5}}).ap == -1);
  CHECK(std::isnan(one_image({}, {}).class_ap[0]));
  // A crowd is not to be found, and matches any number of detections, by their own area.
  const CocoAnnotation crowd{1, 1, 0, 0, 300, 300, 90000, true, false};
  CHECK(one_image({crowd}, {{1, 1, 5, 5, 20, 20, 0.9}}).ap == -1);
  CHECK(one_image({box, crowd},
                  {{1, 1, 100, 100, 20, 20, 0.9}, {1, 1, 150, 100, 20, 20, 0.8}, {1, 1, 10, 10, 50, 50, 0.5}})
            .ap50 == doctest::Approx(1));
  // Other images and categories do not count.
  CHECK(one_image({box, {2, 1, 0, 0, 9, 9, 81, false, false}}, {{1, 1, 10, 10, 50, 50, 0.5}, {1, 7, 0, 0, 5, 5, 1}})
            .ap50 == doctest::Approx(1));
  CHECK_THROWS_WITH_AS(one_image({box}, {{1, 1, 0, 0, NAN, 5, 0.5}}),
                       "eval_detection_coco: results[0] has a number that is not finite", ValueError);
}

TEST_CASE("eval_detection_coco: of boxes") {
  const std::vector<GroundTruth> truth = {{.bbox = {{10, 20, 60, 90}, {0, 0, 5, 5}}, .label = {0, 2}},
                                          {.bbox = {{1, 1, 40, 40}}, .label = {2}, .area = {100}, .crowded = {0}}};
  const std::vector<Detections> found = {{{{10, 20, 60, 90}}, {0}, {0.5F}}, {{{1, 1, 40, 40}}, {2}, {0.5F}}};
  const CocoMetrics coco = metrics::eval_detection_coco(found, truth);
  CHECK(coco.class_ap.size() == 3);
  CHECK(coco.class_ap[0] == doctest::Approx(1));
  CHECK(std::isnan(coco.class_ap[1]));
  CHECK(coco.class_ap[2] == doctest::Approx(51.0 / 101));  // one of two: recalls 0 .. 0.50
  CHECK(coco.ap == doctest::Approx((1 + 51.0 / 101) / 2));
  CHECK(coco.ar_small == doctest::Approx(0.5));
  CHECK(metrics::eval_detection_coco(std::vector<Detections>(), std::vector<GroundTruth>()).ap == -1);
  CHECK_THROWS_AS(metrics::eval_detection_coco(found, std::vector<GroundTruth>()), ValueError);
}

TEST_CASE("eval_detection_voc: the numbers of ChainerCV 0.13.1") {
  const json cases = cases_of("voc_cases.json");
  REQUIRE(cases.size() == 16);
  for (size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    const json& c = cases[i];
    std::vector<GroundTruth> truth(c["images"].get<size_t>());
    std::vector<Detections> found(truth.size());
    for (const json& t : c["truth"]) {
      GroundTruth& image = truth[t[0].get<size_t>()];
      image.bbox.push_back({t[2], t[3], t[4], t[5]});
      image.label.push_back(t[1]);
      image.difficult.push_back(t[6]);
    }
    for (const json& f : c["found"]) {
      Detections& image = found[f[0].get<size_t>()];
      image.bbox.push_back({f[2], f[3], f[4], f[5]});
      image.label.push_back(f[1]);
      image.score.push_back(f[6]);
    }
    for (const bool by_points : {false, true}) {
      const json& expected = c[by_points ? "points" : "area"];
      const metrics::VocMetrics voc = metrics::eval_detection_voc(found, truth, {.use_07_metric = by_points});
      check_same(voc.map, number_or_nan(expected["map"]));
      REQUIRE(voc.ap.size() == expected["ap"].size());
      for (size_t k = 0; k < voc.ap.size(); ++k) check_same(voc.ap[k], number_or_nan(expected["ap"][k]));
    }
  }
}

TEST_CASE("eval_detection_voc: the rules one by one") {
  const std::vector<GroundTruth> truth = {
      {.bbox = {{0, 0, 9, 9}, {50, 50, 59, 59}}, .label = {0, 0}, .difficult = {0, 1}}};
  const auto map = [&](const std::vector<Box>& boxes, const std::vector<float>& scores) {
    const std::vector<Detections> found = {{boxes, std::vector<int32_t>(boxes.size(), 0), scores}};
    return metrics::eval_detection_voc(found, truth).map;
  };
  CHECK(map({{0, 0, 9, 9}}, {0.5F}) == 1);
  // One pixel more on each side: 5 x 10 of 10 x 10 is enough.
  CHECK(map({{0, 0, 4, 9}}, {0.5F}) == 1);
  CHECK(map({{0, 0, 3.9F, 9}}, {0.5F}) == 0);
  CHECK(map({{50, 50, 59, 59}, {0, 0, 9, 9}}, {0.9F, 0.5F}) == 1);  // the difficult one is neither
  CHECK(map({{0, 0, 9, 9}, {0, 0, 9, 8}}, {0.5F, 0.9F}) == 1);      // the second hit is a miss after all were found
  CHECK(map({{80, 80, 90, 90}, {0, 0, 9, 9}}, {0.9F, 0.5F}) == 0.5);
  CHECK(std::isnan(metrics::eval_detection_voc(std::vector<Detections>(), std::vector<GroundTruth>()).map));
  CHECK_THROWS_WITH_AS(metrics::eval_detection_voc(std::vector<Detections>(1), truth, {.iou_thresh = 0}),
                       "eval_detection_voc: iou_thresh is 0: it must be in (0, 1]", ValueError);
  CHECK_THROWS_WITH_AS(metrics::eval_detection_voc(std::vector<Detections>{{{{0, 0, 1, 1}}, {}, {0.5F}}}, truth),
                       "eval_detection_voc: found.label of image 0 has 0 entries for 1 boxes", ValueError);
  CHECK_THROWS_AS(metrics::eval_detection_voc(std::vector<Detections>{{{{0, 0, 1, 1}}, {-1}, {0.5F}}}, truth),
                  ValueError);
  CHECK_THROWS_AS(metrics::eval_detection_voc(std::vector<Detections>{{{{0, 0, 1, 1}}, {0}, {NAN}}}, truth),
                  ValueError);
}
