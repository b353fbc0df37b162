#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/exponential_shift.h"
#include "kusari/framework/training/extensions/inverse_shift.h"
#include "kusari/framework/training/extensions/linear_shift.h"
#include "kusari/framework/training/extensions/multistep_shift.h"
#include "kusari/framework/training/extensions/polynomial_shift.h"
#include "kusari/framework/training/extensions/step_shift.h"
#include "kusari/framework/training/extensions/warmup_shift.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"
#include "kusari/tests/training/golden_schedulers.h"

using kusari::testing::FakeUpdater;
using kusari::testing::ScratchDirectory;
using kusari::training::Extension;
using kusari::training::Trainer;
namespace extensions = kusari::training::extensions;
namespace optimizers = kusari::optimizers;
namespace serializers = kusari::serializers;
using Json = nlohmann::json;

namespace {

std::unique_ptr<Extension> make_shift(const std::string& name, const Json& c) {
  const std::string attr = c.at("attr");
  const auto number = [&](const char* key) { return c.at(key).get<double>(); };
  const auto optional = [&](const char* key) {
    return c.contains(key) && !c.at(key).is_null() ? std::optional(c.at(key).get<double>()) : std::nullopt;
  };
  const extensions::ShiftOptions options{.init = optional("init"), .target = optional("target")};
  if (name == "ExponentialShift") {
    return std::make_unique<extensions::ExponentialShift>(attr, number("rate"), options);
  }
  if (name == "InverseShift") {
    return std::make_unique<extensions::InverseShift>(attr, number("gamma"), number("power"), options);
  }
  if (name == "LinearShift") {
    return std::make_unique<extensions::LinearShift>(attr, c.at("value_range").get<std::pair<double, double>>(),
                                                     c.at("time_range").get<std::pair<int64_t, int64_t>>(), options);
  }
  if (name == "MultistepShift") {
    return std::make_unique<extensions::MultistepShift>(attr, number("gamma"),
                                                        c.at("step_value").get<std::vector<int64_t>>(), options);
  }
  if (name == "PolynomialShift") {
    return std::make_unique<extensions::PolynomialShift>(attr, number("rate"), c.at("max_count"), options);
  }
  if (name == "StepShift") {
    return std::make_unique<extensions::StepShift>(attr, number("gamma"), c.at("step"), options);
  }
  REQUIRE(name == "WarmupShift");
  return std::make_unique<extensions::WarmupShift>(attr, optional("warmup_start"), c.at("warmup_iter"), number("init"));
}

struct Sgd {
  Sgd() { updater.optimizer = &optimizer; }
  std::vector<double> run(Extension& shift, int calls) {
    std::vector<double> values;
    for (int i = 0; i < calls; ++i) {
      shift(trainer);
      values.push_back(optimizer.lr);
    }
    return values;
  }

  optimizers::SGD optimizer{1.0};
  FakeUpdater updater;
  Trainer trainer{updater};
};

}  // namespace

TEST_CASE("shifts give Chainer's values") {
  const int compared = kusari::testing::for_each_scheduler(
      [](const std::string& name) { return name.rfind("triggers.", 0) != 0; },
      [](const Json& c, const auto& array) {
        std::unique_ptr<kusari::Optimizer> optimizer;
        const Json& o = c.at("optimizer_ctor");
        if (c.at("optimizer") == "Adam") {
          optimizer = std::make_unique<optimizers::Adam>(optimizers::AdamOptions{.alpha = o.at("alpha")});
        } else {
          REQUIRE(c.at("optimizer") == "SGD");
          optimizer = std::make_unique<optimizers::SGD>(o.at("lr").template get<double>());
        }
        FakeUpdater updater;
        updater.optimizer = optimizer.get();
        Trainer trainer(updater);
        const auto shift = make_shift(c.at("name"), c.at("ctor"));
        const auto values = array("values");
        const std::string attr = c.at("ctor").at("attr");
        shift->initialize(trainer);
        for (size_t i = 0; i < values.size(); ++i) {
          CAPTURE(i);
          if (i > 0) (*shift)(trainer);
          CHECK(optimizer->hyperparameter(attr) == doctest::Approx(values[i]).epsilon(1e-12));
        }
      });
  CHECK((compared == 0 || compared == 9));
}

TEST_CASE("shifts: formulas and targets") {
  Sgd run;
  SUBCASE("ExponentialShift stops at its target") {
    extensions::ExponentialShift shift("lr", 0.5, {.init = 8, .target = 2});
    shift.initialize(run.trainer);
    CHECK(run.optimizer.lr == 8);
    CHECK(run.run(shift, 4) == std::vector<double>{4, 2, 2, 2});
  }
  SUBCASE("a growing one, too") {
    extensions::ExponentialShift shift("lr", 2, {.target = 3});
    shift.initialize(run.trainer);
    CHECK(run.run(shift, 3) == std::vector<double>{2, 3, 3});
  }
  SUBCASE("MultistepShift") {
    extensions::MultistepShift shift("lr", 0.5, {2, 4});
    shift.initialize(run.trainer);
    CHECK(run.run(shift, 5) == std::vector<double>{1, 0.5, 0.5, 0.25, 0.25});
  }
  SUBCASE("WarmupShift leaves the hyperparameter alone afterwards") {
    extensions::WarmupShift shift("lr", 0.0, 2, 1);
    shift.initialize(run.trainer);
    CHECK(run.optimizer.lr == 0);
    CHECK(run.run(shift, 2) == std::vector<double>{0.5, 1});
    run.optimizer.lr = 0.3;
    CHECK(run.run(shift, 1) == std::vector<double>{0.3});
  }
}

TEST_CASE("shifts refuse arguments that make no sense") {
  CHECK_THROWS_AS(extensions::ExponentialShift("lr", -1), kusari::ValueError);
  CHECK_THROWS_AS(extensions::InverseShift("lr", -1, 1), kusari::ValueError);
  CHECK_THROWS_AS(extensions::PolynomialShift("lr", 1, 0), kusari::ValueError);
  CHECK_THROWS_AS(extensions::StepShift("lr", 1, 0), kusari::ValueError);
  CHECK_THROWS_AS(extensions::LinearShift("lr", {1, 0}, {5, 5}), kusari::ValueError);
  Sgd run;
  extensions::ExponentialShift shift("momentum", 0.5);
  CHECK_THROWS_AS(shift.initialize(run.trainer), kusari::KeyError);
}

TEST_CASE("a resumed shift goes on from its value, whatever the optimizer was made with") {
  const ScratchDirectory dir;
  const auto check = [&](auto make, const std::vector<double>& next) {
    Sgd run;
    auto shift = make();
    shift.initialize(run.trainer);
    run.run(shift, 3);
    const double before = run.optimizer.lr;
    serializers::save_npz(dir / "shift", shift);

    Sgd other;
    other.optimizer.lr = before;  // an optimizer's snapshot has its hyperparameters
    auto resumed = make();
    serializers::load_npz(dir / "shift", resumed);
    resumed.initialize(other.trainer);
    CHECK(other.optimizer.lr == before);
    CHECK(other.run(resumed, 2) == next);
  };
  check([] { return extensions::ExponentialShift("lr", 0.5); }, {0.0625, 0.03125});
  check([] { return extensions::MultistepShift("lr", 0.5, {2, 4}); }, {0.25, 0.25});
  check([] { return extensions::WarmupShift("lr", 0.0, 4, 1); }, {1, 1});
  check([] { return extensions::LinearShift("lr", {1, 0}, {0, 5}); }, {1 + 4.0 / 5 * -1, 0});
}
