#include "kusari/framework/core/summary.h"

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
