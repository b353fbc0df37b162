#include "kusari/framework/training/extensions/stochastic_weight_averaging.h"

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/snapshot.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

using namespace kusari;
using extensions::StochasticWeightAveraging;
using testing::ScratchDirectory;
namespace L = kusari::links;

namespace {

using Numbers = std::vector<double>;

class Regression : public Chain {
 public:
  Regression() : l1{*this, "l1", 2, 1} {}
  Variable operator()(const Variable& x, const Variable& t) { return functions::mean_squared_error(l1(x), t); }
  Child<L::Linear> l1;
};

datasets::TupleDataset line() {
  std::vector<float> x(32), t(16);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i % 31));
  for (size_t i = 0; i < t.size(); ++i) t[i] = x[2 * i] - 2 * x[2 * i + 1];
  return datasets::TupleDataset(array(x, {16, 2}), array(t, {16, 1}));
}

}  // namespace

TEST_CASE("StochasticWeightAveraging: each model counts alike") {
  L::BatchNormalization model(2);
  StochasticWeightAveraging average(model);
  double sum = 0;
  for (int i = 0; i < 50; ++i) {
    model.gamma.array().fill(std::sin(i));
    model.avg_mean.fill(i);
    sum += std::sin(i);
    average.update();
    CHECK(average.average("/gamma").to_vector<double>()[1] == doctest::Approx(sum / (i + 1)).epsilon(1e-5));
    CHECK(average.average("/avg_mean").to_vector<double>()[0] == doctest::Approx(0.5 * i).epsilon(1e-5));
  }
  CHECK(average.t() == 50);
  {
    const auto applied = average.apply();
    CHECK(model.avg_mean.to_vector<double>()[0] == doctest::Approx(24.5).epsilon(1e-5));
    CHECK_THROWS_WITH_AS(average.update(), doctest::Contains("StochasticWeightAveraging::update: the model has"),
                         StateError);
  }
  CHECK(model.avg_mean.to_vector<double>()[0] == 49);
  StochasticWeightAveraging parameters(model, {.persistents = false});
  parameters.update();
  CHECK_THROWS_WITH_AS(parameters.average("/avg_mean"),
                       "StochasticWeightAveraging::average: there is none of '/avg_mean'", KeyError);
  CHECK_THROWS_WITH_AS(StochasticWeightAveraging(model, {.start = -1}),
                       "StochasticWeightAveraging: start is -1: it must be finite and not negative", ValueError);
}

TEST_CASE("StochasticWeightAveraging in training: the mean of the ends of epochs from start on, also after a resume") {
  const auto data = line();
  const auto run = [&](int64_t epochs, const ScratchDirectory& dir, const std::string& resume, auto check) {
    random::seed(3);
    Regression model;
    optimizers::MomentumSGD optimizer(0.05);
    optimizer.setup(model);
    StochasticWeightAveraging average(model, {.start = 3});
    updaters::StandardUpdater updater(iterators::SerialIterator(data, 4), optimizer);
    training::Trainer trainer(updater, {epochs, "epoch"}, dir.path());
    Numbers sum(2);
    trainer.extend(average);
    trainer.extend(training::make_extension([&](training::Trainer& t) {
                     if (t.updater().epoch_detail() < 3) return;
                     for (size_t i = 0; i < 2; ++i) sum[i] += model.l1.W.to_vector<double>()[i];
                   }),
                   {.name = "sum", .trigger = {1, "epoch"}});
    std::vector<double> lent;
    trainer.extend(extensions::with_average(average, training::make_extension([&](training::Trainer&) {
                                              lent = model.l1.W.to_vector<double>();
                                            })),
                   {.name = "lent", .trigger = {1, "epoch"}});
    trainer.extend(extensions::snapshot(), {.trigger = {4, "epoch"}});
    if (!resume.empty()) serializers::load_npz(resume, trainer);
    trainer.run();
    check(average, sum, lent);
  };
  const ScratchDirectory whole, half;
  Numbers expected;
  run(8, whole, "", [&](StochasticWeightAveraging& average, const Numbers& sum, const Numbers& lent) {
    CHECK(average.t() == 6);  // after epochs 3 to 8
    expected = average.average("/l1/W").to_vector<double>();
    for (size_t i = 0; i < 2; ++i) CHECK(expected[i] == doctest::Approx(sum[i] / 6).epsilon(1e-6));
    CHECK(lent == expected);
  });
  run(4, half, "", [](auto& average, auto&, auto&) { CHECK(average.t() == 2); });
  run(8, half, half / "snapshot_iter_16", [&](StochasticWeightAveraging& average, const Numbers&, const Numbers&) {
    CHECK(average.t() == 6);
    CHECK(average.average("/l1/W").to_vector<double>() == expected);
  });
}
