#include "kusari/framework/core/summary.h"

#include <cmath>
#include <utility>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/scratch_directory.h"

using kusari::array;
using kusari::DictSummary;
using kusari::Observation;
using kusari::ObservedValue;
using kusari::Shape;
using kusari::Summary;
namespace serializers = kusari::serializers;
using Values = DictSummary::Values;

TEST_CASE("Summary: mean and standard deviation") {
  Summary summary;
  CHECK(std::isnan(summary.compute_mean()));
  for (const double x : {1.0, 2.0, 3.0, 6.0}) summary.add(x);
  CHECK(summary.compute_mean() == 3);
  CHECK(summary.compute_std() == doctest::Approx(std::sqrt(3.5)));  // squares 1 + 4 + 9 + 36 = 50, 50 / 4 - 9
  Summary weighted;
  weighted.add(1, 3);
  weighted.add(5, 1);
  CHECK(weighted.compute_mean() == 2);
}

TEST_CASE("DictSummary averages the scalars of observations, in their order") {
  DictSummary summary;
  Observation observation;
  observation.set("loss", ObservedValue(array({2.0f}, Shape{})));
  observation.set("histogram", ObservedValue(array({2.0f, 3.0f})));
  observation.set("accuracy", ObservedValue(0.5, 1));
  summary.add(observation);
  observation.set("loss", 4);
  observation.set("accuracy", ObservedValue(1.0, 3));
  observation.set("lr", 0.1);
  summary.add(observation);
  CHECK(summary.compute_mean() == Values{{"loss", 3}, {"accuracy", 0.875}, {"lr", 0.1}});
  CHECK(summary.contains("lr"));
  CHECK_FALSE(summary.contains("histogram"));
  const Values statistics = summary.make_statistics();
  CHECK(statistics[0] == Values::value_type{"loss", 3});
  CHECK(statistics[1] == Values::value_type{"loss.std", 1});
  CHECK(statistics.size() == 6);
  summary.clear();
  CHECK(summary.compute_mean().empty());
}

TEST_CASE("DictSummary in a file has Chainer's entries") {
  const kusari::testing::ScratchDirectory dir;
  DictSummary summary;
  summary.add("main/loss", 0.25);
  summary.add("main/loss", 0.5);
  summary.add("a \"quoted\" name", 1, 0.5);
  serializers::save_npz(dir / "summary", summary);

  const serializers::NpzReader npz(dir / "summary");
  CHECK(npz.value("_names").text == R"(["main/loss","a \"quoted\" name"])");
  CHECK(npz.array("_summaries/0/_x").item<double>() == 0.75);
  CHECK(npz.array("_summaries/0/_x2").item<double>() == 0.3125);
  CHECK(npz.array("_summaries/0/_n").dtype() == kusari::Dtype::int64);
  CHECK(npz.array("_summaries/0/_n").item<int64_t>() == 2);
  CHECK(npz.array("_summaries/1/_n").item<double>() == 0.5);

  DictSummary restored;
  restored.add("forgotten", 1);
  serializers::load_npz(dir / "summary", restored);
  restored.add("main/loss", 0.75);
  CHECK(restored.compute_mean() == Values{{"main/loss", 0.5}, {"a \"quoted\" name", 1}});
}
