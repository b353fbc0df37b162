#include "kusari/framework/core/summary.h"

#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

TEST_CASE("summary: values on a device are averaged like the host's") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kDtypes) {
    CAPTURE(name(dtype));
    const auto scalar = [&](double value, const Device& where) { return full({}, value, dtype, where); };
    Summary summary, expected;
    for (const double value : {1.0, 0.0, 3.0, 5.0}) {
      summary.add(ObservedValue(scalar(value, *device), 0.5 + value));
      expected.add(scalar(value, Device()).item<double>(), 0.5 + value);
    }
    CHECK(summary.compute_mean() == expected.compute_mean());
    CHECK(summary.compute_std() == expected.compute_std());
    summary.add(ObservedValue(scalar(1, *device)));
    summary.add(ObservedValue(scalar(0, Device())));
    expected.add(1);
    expected.add(0);
    CHECK(summary.compute_mean() == expected.compute_mean());
  }
}

TEST_CASE("summary: means as values to be reported stay on the device") {
  const auto device = gpu_device();
  if (!device) return;
  DictSummary summary, expected;
  const auto add = [&](const std::string& name, double value, double weight, bool on_device) {
    if (on_device) {
      summary.add(name, ObservedValue(full({}, value, Dtype::float32, *device), weight));
    } else {
      summary.add(name, value, weight);
    }
    expected.add(name, value, weight);
  };
  for (const double value : {1.0, 4.0, -3.0}) {
    add("device", value, 0.5, true);
    add("host", value, 2, false);
    add("both", value, 1, value > 0);
  }
  const Observation means = summary.mean_values(0.25);
  const DictSummary::Values values = expected.compute_mean();
  REQUIRE(values.size() == 3);
  for (const auto& [name, mean] : values) {
    CAPTURE(name);
    const ObservedValue* const value = means.find(name);
    REQUIRE(value != nullptr);
    CHECK(value->value() == doctest::Approx(mean).epsilon(1e-15));
    CHECK(value->array().is_defined() == (name != "host"));
    if (name == "host") continue;
    CHECK(value->array().device() == *device);
    CHECK(value->array().dtype() == Dtype::float64);
    CHECK(value->array().shape() == Shape{});
  }
  CHECK(means.find("device")->weight() == 0.375);
  CHECK(means.find("host")->weight() == 1.5);
  CHECK(means.find("both")->weight() == 0.75);
  for (const auto& [name, mean] : values) {  // reading means changes nothing
    summary.add(name, ObservedValue(full({}, 10, Dtype::float32, *device)));
    expected.add(name, 10.0, 1);
  }
  CHECK(summary.mean_values().find("both")->value() == expected.compute_mean().back().second);
}

TEST_CASE("summary: copies go their own way, moved ones take theirs along") {
  const auto device = gpu_device();
  if (!device) return;
  Summary summary;
  summary.add(ObservedValue(full({}, 2, Dtype::float32, *device)));
  Summary copy = summary;
  copy.add(ObservedValue(full({}, 4, Dtype::float32, *device)));
  summary.add(ObservedValue(full({}, 6, Dtype::float32, *device)));
  CHECK(summary.compute_mean() == 4);
  CHECK(copy.compute_mean() == 3);
  copy.add(ObservedValue(full({}, 9, Dtype::float32, *device)));
  const Summary moved = std::move(copy);
  CHECK(moved.compute_mean() == 5);
}

}  // namespace
}  // namespace kusari::testing
