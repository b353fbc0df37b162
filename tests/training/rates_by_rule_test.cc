// LambdaShift and ReduceOnPlateau.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/lambda_shift.h"
#include "kusari/framework/training/extensions/reduce_on_plateau.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"

namespace kusari {
namespace {

using extensions::LambdaShift;
using extensions::ReduceOnPlateau;

struct Run {
  optimizers::SGD optimizer{1.0};
  testing::FakeUpdater updater;
  training::Trainer trainer{updater};

  Run() { updater.optimizer = &optimizer; }
  // The rates after calls with each value reported as "x".
  std::vector<double> rates(ReduceOnPlateau& extension, const std::vector<double>& values) {
    std::vector<double> result;
    for (const double value : values) {
      updater.update();
      trainer.observation().clear();
      trainer.observation().set("x", value);
      extension(trainer);
      result.push_back(optimizer.lr);
    }
    return result;
  }
};

TEST_CASE("LambdaShift follows its function") {
  Run run;
  const auto noam = [](int64_t t, double init) {
    const auto step = static_cast<double>(t + 1);
    return init * std::min(1 / std::sqrt(step), step / 8);
  };
  LambdaShift shift("lr", noam, {.init = 2});
  shift.initialize(run.trainer);
  CHECK(run.optimizer.lr == noam(0, 2));
  for (int64_t t = 1; t < 10; ++t) {
    shift(run.trainer);
    CHECK(run.optimizer.lr == noam(t, 2));
  }
  const testing::ScratchDirectory folder;
  serializers::save_npz(folder / "shift", shift);
  LambdaShift again("lr", noam);
  serializers::load_npz(folder / "shift", again);
  again.initialize(run.trainer);
  again(run.trainer);
  CHECK(run.optimizer.lr == noam(10, 2));
}

TEST_CASE("LambdaShift names what it cannot use") {
  Run run;
  CHECK_THROWS_AS(LambdaShift("lr", {}), ValueError);
  LambdaShift shift("lr", [](int64_t, double) { return std::numeric_limits<double>::infinity(); });
  CHECK_THROWS_WITH_AS(shift.initialize(run.trainer),
                       "LambdaShift: the function gives inf after 0 calls: it must be finite", ValueError);
}

// Numbers of PyTorch 2.15's ReduceLROnPlateau.
TEST_CASE("ReduceOnPlateau reduces the rate when nothing gets better") {
  const std::vector<double> values = {5, 4, 3.9999, 3.9999, 4.2, 4.1, 4.3, 4.4, 3, 3, 3, 3, 3, 3, 3, 3};
  const std::vector<double> expected = {1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25};
  const ReduceOnPlateau::Options options = {.monitor = "x",
                                            .factor = 0.5,
                                            .patience = 2,
                                            .threshold = 1e-2,
                                            .cooldown = 2,
                                            .least = 0.2,
                                            .check_trigger = {1, "iteration"}};
  {
    Run run;
    ReduceOnPlateau extension("lr", options);
    CHECK(run.rates(extension, values) == expected);
  }
  // Saved and loaded on the way.
  for (size_t saved = 1; saved < values.size(); saved += 3) {
    Run run;
    const testing::ScratchDirectory folder;
    const auto middle = values.begin() + static_cast<int64_t>(saved);
    ReduceOnPlateau first("lr", options), second("lr", options);
    std::vector<double> rates = run.rates(first, {values.begin(), middle});
    serializers::save_npz(folder / "extension", first);
    serializers::load_npz(folder / "extension", second);
    const std::vector<double> rest = run.rates(second, {middle, values.end()});
    rates.insert(rates.end(), rest.begin(), rest.end());
    CHECK(rates == expected);
  }
  Run run;
  ReduceOnPlateau accuracy("lr", {.monitor = "x",
                                  .factor = 0.5,
                                  .patience = 0,
                                  .threshold = 1e-2,
                                  .least = 0.1,
                                  .mode = "max",
                                  .check_trigger = {1, "iteration"}});
  CHECK(run.rates(accuracy, {0.1, 0.3, 0.301, 0.5, 0.4, 0.5, 0.5, 0.6, 0.6, 0.6}) ==
        std::vector<double>{1, 1, 0.5, 0.5, 0.25, 0.125, 0.1, 0.1, 0.1, 0.1});
}

TEST_CASE("ReduceOnPlateau does not take what is no number for the best") {
  Run run;
  ReduceOnPlateau extension("lr", {.monitor = "x", .factor = 0.5, .patience = 1, .check_trigger = {1, "iteration"}});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(run.rates(extension, {nan, 5, 4, nan, 3, 2, nan, nan, 1}) ==
        std::vector<double>{1, 1, 1, 1, 1, 1, 1, 0.5, 0.5});
}

TEST_CASE("ReduceOnPlateau: every finite value is better than an infinite one") {
  Run run;
  ReduceOnPlateau extension("lr", {.monitor = "x", .factor = 0.5, .patience = 0, .check_trigger = {1, "iteration"}});
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(run.rates(extension, {infinity, infinity, 5, 4, 4}) == std::vector<double>{1, 0.5, 0.5, 0.5, 0.25});
}

TEST_CASE("ReduceOnPlateau compares means of intervals") {
  Run run;
  ReduceOnPlateau extension("lr", {.monitor = "x", .factor = 0.5, .patience = 0, .check_trigger = {2, "iteration"}});
  CHECK(run.rates(extension, {1, 3, 0, 5, 1, 1}) == std::vector<double>{1, 1, 1, 0.5, 0.5, 0.5});  // 2, 2.5, 1
}

TEST_CASE("ReduceOnPlateau refuses options that make no sense") {
  CHECK_THROWS_WITH_AS(ReduceOnPlateau("lr", {.factor = 1}), "ReduceOnPlateau: factor is 1: it must be between 0 and 1",
                       ValueError);
  CHECK_THROWS_AS(ReduceOnPlateau("lr", {.patience = -1}), ValueError);
  CHECK_THROWS_AS(ReduceOnPlateau("lr", {.threshold = -1}), ValueError);
  CHECK_THROWS_AS(ReduceOnPlateau("lr", {.cooldown = -1}), ValueError);
  CHECK_THROWS_AS(ReduceOnPlateau("", {}), ValueError);
  CHECK_THROWS_WITH_AS(ReduceOnPlateau("lr", {.mode = "best"}),
                       "ReduceOnPlateau: mode is 'best': it must be 'max', 'min' or 'auto'", ValueError);
  Run run;
  ReduceOnPlateau extension("momentum", {.monitor = "x", .patience = 0, .check_trigger = {1, "iteration"}});
  CHECK_THROWS_AS(run.rates(extension, {1, 2}), KeyError);
}

}  // namespace
}  // namespace kusari
