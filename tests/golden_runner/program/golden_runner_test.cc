#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "kusari/tests/golden_runner/program/golden_folder.h"

// What the program golden_runner says and how it exits.
namespace kusari {
namespace {

using testing::Outcome;
using testing::run_golden;

/// A folder with cases of leaky_relu on x = (-2, 3), slope 0.2 unless `attrs` says otherwise.
class Golden : public testing::GoldenFolder {
 public:
  void add(const std::string& id, const Array& y, const Array& gx, const std::string& attrs = "{}",
           const std::string& name = "leaky_relu") {
    GoldenFolder::add({{"case", id},
                       {"kind", "function"},
                       {"name", name},
                       {"args", {{"x", "x0"}}},
                       {"attrs", Json::parse(attrs)},
                       {"train", true},
                       {"inputs", {"x0"}},
                       {"outputs", {"y0"}},
                       {"returns", "y0"},
                       {"grad_outputs", {"gy0"}},
                       {"grads", {"gx0"}}},
                      {{"x0", array<float>({-2, 3})}, {"y0", y}, {"gy0", array<float>({10, 100})}, {"gx0", gx}});
  }
};

const Array kY = array<float>({-0.4f, 3}), kGx = array<float>({2, 100});

TEST_CASE("golden_runner tells right from wrong") {
  Golden golden;
  golden.add("right", kY, kGx);
  golden.add("other_slope", array<float>({-1, 3}), array<float>({5, 100}), R"({"slope": 0.5})");
  SUBCASE("all right") {
    const Outcome all = run_golden(golden.write());
    CHECK(all.exit_code == 0);
    CHECK(all.output == "PASS right\nPASS other_slope\n2 passed, 0 failed, 0 skipped\n");
    CHECK(run_golden(golden.write() + " --quiet").output == "2 passed, 0 failed, 0 skipped\n");
  }
  SUBCASE("wrong values, dtypes and shapes fail, naming the worst element") {
    golden.add("wrong_y", array<float>({-0.4f, 3.5f}), kGx);
    golden.add("wrong_gx", kY, array<float>({2.001f, 100.5f}));
    golden.add("wrong_dtype", array<double>({-0.4, 3}), kGx);
    golden.add("wrong_shape", array<float>({-0.4f, 3}, {1, 2}), kGx);
    golden.add("close_enough", array<float>({-0.40004f, 3.0003f}), kGx);
    golden.add("nan", array<float>({-0.4f, NAN}), kGx);
    const Outcome outcome = run_golden(golden.write() + " --quiet");
    CHECK(outcome.exit_code == 1);
    const auto says = [&](const std::string& text) {
      CHECK_MESSAGE(outcome.output.find(text) != std::string::npos, outcome.output);
    };
    says("FAIL wrong_y: y0[1]: expected 3.5, got 3, difference 0.5 is above 0.00036");
    says("FAIL wrong_gx: gx0[1]: expected 100.5, got 100, ");
    says("FAIL wrong_dtype: y0: expected dtype float64, got float32\n");
    says("FAIL wrong_shape: y0: expected shape (1, 2), got (2,)\n");
    says("FAIL nan: y0[1]: expected nan, got 3");
    says("3 passed, 5 failed, 0 skipped\n");
  }
  SUBCASE("an option that the function does not have fails; a function that nobody knows is skipped") {
    golden.add("unread", kY, kGx, R"({"inplace": true})");
    golden.add("unknown", kY, kGx, "{}", "leakier_relu");
    const Outcome outcome = run_golden(golden.write());
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.output.find("FAIL unread: leaky_relu has no argument inplace (given as true)\n") !=
          std::string::npos);
    CHECK(outcome.output.find("UNSUPPORTED unknown: function leakier_relu\n") != std::string::npos);
    CHECK(
        outcome.output.ends_with("skipped for want of:\n  function leakier_relu (1)\n2 passed, 1 failed, 1 skipped\n"));
  }
  SUBCASE("filters are parts of names or globs") {
    CHECK(run_golden(golden.write() + " --filter slope").output == "PASS other_slope\n1 passed, 0 failed, 0 skipped\n");
    CHECK(run_golden(golden.write() + " --filter 'r*t'").output == "PASS right\n1 passed, 0 failed, 0 skipped\n");
    CHECK(run_golden(golden.write() + " --filter nothing").output == "0 passed, 0 failed, 0 skipped\n");
  }
}

TEST_CASE("golden_runner without data or device says so") {
  const testing::ScratchDirectory empty;
  const Outcome outcome = run_golden("'" + empty.path() + "'");
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.output.find("golden_runner: cannot read ") == 0);
  Golden golden;
  golden.add("right", kY, kGx);
  const Outcome device = run_golden(golden.write() + " --device abacus");
  CHECK(device.exit_code == 2);
  CHECK(device.output.find("get_device: 'abacus' is not a device") != std::string::npos);
}

}  // namespace
}  // namespace kusari
