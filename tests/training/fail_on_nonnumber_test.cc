#include "kusari/framework/training/extensions/fail_on_nonnumber.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"

using namespace kusari;

TEST_CASE("FailOnNonNumber ends a training that diverged, naming the parameter") {
  struct ModelUpdater : testing::FakeUpdater {
    ModelUpdater() { sgd.setup(model); }
    std::vector<std::pair<std::string, Optimizer*>> get_all_optimizers() override { return {{"main", &sgd}}; }
    links::Linear model{3, 2};
    optimizers::SGD sgd;
  };
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
      CAPTURE(dtype);
      const testing::ScratchDirectory dir;
      ModelUpdater updater;
      updater.model.to(dtype);
      updater.on_update = [&] {
        if (updater.count == 3) updater.model.W.array().at(1).at(2).fill(bad);
      };
      training::Trainer trainer(updater, {5, "iteration"}, dir.path());
      trainer.extend(extensions::FailOnNonNumber());
      CHECK_THROWS_WITH_AS(trainer.run(false),
                           "FailOnNonNumber: parameter /W of optimizer 'main' holds NaN or an infinity: the training "
                           "has diverged",
                           ValueError);
      CHECK(updater.count == 3);
      CHECK(updater.finalized == 1);
    }
  }
}

TEST_CASE("FailOnNonNumber passes over large numbers and parameters without shape") {
  struct ModelUpdater : testing::FakeUpdater {
    ModelUpdater() { sgd.setup(model); }
    std::vector<std::pair<std::string, Optimizer*>> get_all_optimizers() override { return {{"main", &sgd}}; }
    links::Linear model{kInfer, 2};
    optimizers::SGD sgd;
  };
  const testing::ScratchDirectory dir;
  ModelUpdater updater;
  updater.model.b.array().fill(3e38);
  training::Trainer trainer(updater, {2, "iteration"}, dir.path());
  trainer.extend(extensions::FailOnNonNumber());
  trainer.run(false);
  CHECK(updater.count == 2);
}
