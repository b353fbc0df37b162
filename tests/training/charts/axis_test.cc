#include "kusari/framework/training/charts/axis.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace kusari::training::charts;

namespace {

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> result;
  for (const Axis::Tick& tick : axis.ticks) result.push_back(tick.label);
  return result;
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("make_axis puts marks at round numbers") {
  CHECK(labels(make_axis(0, 1, {.marks = 5})) == Labels{"0", "0.2", "0.4", "0.6", "0.8", "1.0"});
  CHECK(labels(make_axis(0.913, 0.987, {.marks = 5})) == Labels{"0.90", "0.92", "0.94", "0.96", "0.98", "1.00"});
  CHECK(labels(make_axis(-3, 7, {.marks = 4})) == Labels{"-5.0", "-2.5", "0", "2.5", "5.0", "7.5"});
  CHECK(labels(make_axis(0, 3e7, {.marks = 3})) == Labels{"0", "1e+07", "2e+07", "3e+07"});
  CHECK(labels(make_axis(0, 3e-6, {.marks = 3})) == Labels{"0", "1e-06", "2e-06", "3e-06"});
  const Axis loose = make_axis(0.913, 0.987, {.marks = 5});
  CHECK(loose.low == doctest::Approx(0.9));
  CHECK(loose.high == doctest::Approx(1));
  CHECK(loose.place(0.95) == doctest::Approx(0.5));
}

TEST_CASE("make_axis with fixed ends and whole numbers") {
  const Axis epochs = make_axis(1, 20, {.marks = 6, .integers = true, .fixed_low = true, .fixed_high = true});
  CHECK(labels(epochs) == Labels{"5", "10", "15", "20"});
  CHECK(epochs.low == 1);
  CHECK(epochs.place(20) == 1);
  CHECK(labels(make_axis(1, 3, {.marks = 6, .integers = true, .fixed_low = true, .fixed_high = true})) ==
        Labels{"1", "2", "3"});
}

TEST_CASE("make_axis gives a range without length one") {
  for (const double value : {0.0, 3.0, -1e-9, 1e9}) {
    CAPTURE(value);
    const Axis axis = make_axis(value, value);
    CHECK(axis.low < value);
    CHECK(axis.high > value);
    CHECK(axis.ticks.size() >= 2);
  }
  CHECK(make_axis(2, 2, {.fixed_low = true}).low == 2);
}

TEST_CASE("make_axis with powers of ten") {
  const Axis axis = make_axis(0.002, 30, {.log = true});
  CHECK(labels(axis) == Labels{"0.001", "0.01", "0.1", "1", "1e+01", "1e+02"});
  CHECK(axis.place(0.001) == doctest::Approx(0));
  CHECK(axis.place(1) == doctest::Approx(0.6));
  CHECK(labels(make_axis(1e-12, 1, {.marks = 4, .log = true})) == Labels{"1e-12", "1e-09", "1e-06", "0.001", "1"});
}

TEST_CASE(
    "make_axis stays finite at the ends of what numbers can be, and where its ends are given in the wrong order") {
  struct Case {
    double low, high;
    AxisOptions options;
  };
  const double largest = std::numeric_limits<double>::max(), smallest = std::numeric_limits<double>::denorm_min();
  for (const Case& c :
       {Case{-largest, largest, {}}, Case{0, smallest, {}}, Case{0, smallest, {.fixed_low = true, .fixed_high = true}},
        Case{smallest, largest, {.log = true}}, Case{10, 5, {.fixed_low = true}}, Case{10, 5, {.fixed_high = true}},
        Case{10, 5, {.fixed_low = true, .fixed_high = true}}}) {
    CAPTURE(c.low);
    CAPTURE(c.high);
    const Axis axis = make_axis(c.low, c.high, c.options);
    CHECK(std::isfinite(axis.low));
    CHECK(std::isfinite(axis.high));
    CHECK(axis.low < axis.high);
    CHECK(std::isfinite(axis.place(1)));
    CHECK(axis.ticks.size() >= 1);
  }
}
