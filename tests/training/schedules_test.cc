#include <cmath>
#include <functional>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/cosine_shift.h"
#include "kusari/framework/training/extensions/exponential_shift.h"
#include "kusari/framework/training/extensions/inverse_shift.h"
#include "kusari/framework/training/extensions/linear_shift.h"
#include "kusari/framework/training/extensions/multistep_shift.h"
#include "kusari/framework/training/extensions/one_cycle_shift.h"
#include "kusari/framework/training/extensions/polynomial_shift.h"
#include "kusari/framework/training/extensions/step_shift.h"
#include "kusari/framework/training/extensions/warmup_shift.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"

using kusari::ValueError;
using kusari::testing::FakeUpdater;
using kusari::testing::ScratchDirectory;
using kusari::training::Extension;
using kusari::training::Trainer;
namespace extensions = kusari::training::extensions;
namespace optimizers = kusari::optimizers;
namespace serializers = kusari::serializers;
using Doubles = std::vector<double>;

namespace {

struct Schedule {
  explicit Schedule(double lr = 1) : optimizer{lr} { updater.optimizer = &optimizer; }
  /// The values before the first call and after each.
  Doubles all(Extension& shift, int calls) {
    shift.initialize(trainer);
    Doubles values{optimizer.lr};
    for (const double value : next(shift, calls)) values.push_back(value);
    return values;
  }
  Doubles next(Extension& shift, int calls) {
    Doubles values;
    for (int i = 0; i < calls; ++i) {
      shift(trainer);
      values.push_back(optimizer.lr);
    }
    return values;
  }

  optimizers::SGD optimizer;
  FakeUpdater updater;
  Trainer trainer{updater};
};

void check_values(const Doubles& got, const Doubles& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-12));
  }
}

const double kHalfRoot = std::sqrt(0.5);

}  // namespace

TEST_CASE("CosineShift") {
  SUBCASE("one period") {
    extensions::CosineShift shift("lr", 4);
    check_values(Schedule(2).all(shift, 6), {2, 1 + kHalfRoot, 1, 1 - kHalfRoot, 0, 0, 0});
  }
  SUBCASE("down to a value") {
    extensions::CosineShift shift("lr", 2, {.init = 3, .final_value = 1});
    check_values(Schedule().all(shift, 3), {3, 2, 1, 1});
  }
  SUBCASE("after a warm-up") {
    extensions::CosineShift shift("lr", 2, {.warmup = 2, .warmup_start = 0.5});
    check_values(Schedule().all(shift, 5), {0.5, 0.75, 1, 0.5, 0, 0});
  }
  SUBCASE("with restarts") {
    extensions::CosineShift shift("lr", 2, {.restarts = true});
    check_values(Schedule().all(shift, 5), {1, 0.5, 1, 0.5, 1, 0.5});
  }
  SUBCASE("with restarts that are lower and longer, after a warm-up") {
    extensions::CosineShift shift("lr", 2, {.warmup = 1, .restarts = true, .period_factor = 2, .restart_factor = 0.5});
    const double quarter = 0.25 * (1 + kHalfRoot), three = 0.25 * (1 - kHalfRoot);
    check_values(Schedule().all(shift, 7), {0, 1, 0.5, 0.5, quarter, 0.25, three, 0.25});
  }
  CHECK_THROWS_WITH_AS(extensions::CosineShift("lr", 0), "CosineShift: period is 0: it must be positive", ValueError);
  CHECK_THROWS_WITH_AS(extensions::CosineShift("lr", 1, {.warmup = -1}),
                       "CosineShift: warmup is -1: it must not be negative", ValueError);
  CHECK_THROWS_AS(extensions::CosineShift("lr", 1, {.period_factor = 0.5}), ValueError);
}

TEST_CASE("OneCycleShift") {
  SUBCASE("up in a line, down along a cosine") {
    extensions::OneCycleShift shift("lr", 10);
    const auto wave = [](double done) { return 0.5 * (1 + std::cos(std::numbers::pi * done)); };
    check_values(Schedule().all(shift, 11),
                 {0.1, 0.55, 1, wave(0.125), wave(0.25), wave(0.375), 0.5, wave(0.625), wave(0.75), wave(0.875), 0, 0});
  }
  SUBCASE("other ratios") {
    extensions::OneCycleShift shift("lr", 4, {.init = 4, .start_ratio = 0.5, .final_ratio = 0.25, .rising = 0.5});
    check_values(Schedule().all(shift, 5), {2, 3, 4, 2.5, 1, 1});
  }
  SUBCASE("never rising, always rising") {
    extensions::OneCycleShift falling("lr", 2, {.rising = 0});
    check_values(Schedule().all(falling, 2), {1, 0.5, 0});
    extensions::OneCycleShift rising("lr", 2, {.rising = 1});
    check_values(Schedule().all(rising, 2), {0.1, 0.55, 0});
  }
  SUBCASE("a momentum goes the other way") {
    optimizers::MomentumSGD optimizer(1, 0.8);
    FakeUpdater updater;
    updater.optimizer = &optimizer;
    Trainer trainer(updater);
    extensions::OneCycleShift shift("momentum", 4, {.start_ratio = 1.25, .final_ratio = 1.25, .rising = 0.5});
    shift.initialize(trainer);
    Doubles values{optimizer.momentum};
    for (int i = 0; i < 4; ++i) {
      shift(trainer);
      values.push_back(optimizer.momentum);
    }
    check_values(values, {1, 0.9, 0.8, 0.9, 1});
  }
  CHECK_THROWS_WITH_AS(extensions::OneCycleShift("lr", 0), "OneCycleShift: length is 0: it must be positive",
                       ValueError);
  CHECK_THROWS_AS(extensions::OneCycleShift("lr", 1, {.rising = 1.5}), ValueError);
}

TEST_CASE("every schedule goes on after a resume, wherever it was interrupted") {
  const ScratchDirectory dir;
  const auto check = [&](const char* name, const auto& make) {
    CAPTURE(name);
    constexpr int kCalls = 12;
    auto whole = make();
    const Doubles expected = Schedule().all(whole, kCalls);
    for (int calls = 0; calls <= kCalls; ++calls) {
      CAPTURE(calls);
      Schedule first;
      auto shift = make();
      first.all(shift, calls);
      serializers::save_npz(dir / "shift", shift);
      // The optimizer was made as at the start, or got its hyperparameters back.
      for (const double lr : {1.0, first.optimizer.lr}) {
        Schedule second(lr);
        auto resumed = make();
        serializers::load_npz(dir / "shift", resumed);
        resumed.initialize(second.trainer);
        CHECK(second.optimizer.lr == first.optimizer.lr);
        const Doubles rest = second.next(resumed, kCalls - calls);
        CHECK(rest == Doubles(expected.begin() + calls + 1, expected.end()));
      }
    }
  };
  check("CosineShift", [] {
    return extensions::CosineShift("lr", 3, {.warmup = 2, .restarts = true, .period_factor = 2, .restart_factor = 0.5});
  });
  check("OneCycleShift", [] { return extensions::OneCycleShift("lr", 10); });
  check("ExponentialShift", [] { return extensions::ExponentialShift("lr", 0.5, {.target = 0.01}); });
  check("InverseShift", [] { return extensions::InverseShift("lr", 0.5, 2); });
  check("LinearShift", [] { return extensions::LinearShift("lr", {1, 0.1}, {2, 8}); });
  check("MultistepShift", [] { return extensions::MultistepShift("lr", 0.5, {2, 4, 9}); });
  check("PolynomialShift", [] { return extensions::PolynomialShift("lr", 0.5, 10); });
  check("StepShift", [] { return extensions::StepShift("lr", 0.5, 3); });
  check("WarmupShift", [] { return extensions::WarmupShift("lr", 0.1, 5, 1); });
}
