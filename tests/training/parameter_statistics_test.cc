#include "kusari/framework/training/extensions/parameter_statistics.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/sample_statistics.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"

using namespace kusari;
using extensions::ParameterStatistics;
using testing::FakeUpdater;
using testing::ScratchDirectory;
namespace L = kusari::links;

namespace {

using Numbers = std::vector<double>;

/// What is reported in each iteration.
std::vector<Observation> run_statistics(ParameterStatistics& statistics, int64_t from, int64_t to,
                                        const std::function<void(int64_t)>& on_update) {
  const ScratchDirectory dir;
  FakeUpdater updater(2);
  updater.count = from;
  updater.on_update = [&] { on_update(updater.count); };
  training::Trainer trainer(updater, {to, "iteration"}, dir.path());
  trainer.extend(statistics);
  std::vector<Observation> observations;
  trainer.extend([&](training::Trainer& t) { observations.push_back(t.observation()); });
  trainer.run();
  return observations;
}

L::Linear linear() {
  L::Linear link(3, 1);
  link.W.array().copy_from(array<float>({1, 0, 5}, {1, 3}));
  link.cleargrads();
  link.W.set_grad(array<float>({2, 4, 8}, {1, 3}));
  return link;
}

}  // namespace

// Expected: NumPy 1.24.
TEST_CASE("statistics of numbers") {
  const Numbers x{3, -1, 2, 8, 0.5};
  CHECK(extensions::mean(x) == 2.5);
  CHECK(extensions::standard_deviation(x) == doctest::Approx(3.065941943350705));
  CHECK(extensions::minimum(x) == -1);
  CHECK(extensions::maximum(x) == 8);
  const Numbers p = extensions::percentiles(x, Numbers{0, 10, 50, 97.72, 100});
  const Numbers expected{-1, -0.4, 2, 7.544, 8};
  for (size_t i = 0; i < p.size(); ++i) CHECK(p[i] == doctest::Approx(expected[i]));
  CHECK(extensions::percentiles(Numbers{7}, Numbers{0, 50, 100}) == Numbers{7, 7, 7});
  const Numbers with_nan{1, NAN, 2};
  CHECK(std::isnan(extensions::minimum(with_nan)));
  CHECK(std::isnan(extensions::maximum(with_nan)));
  CHECK(std::isnan(extensions::percentiles(with_nan, Numbers{50})[0]));
  CHECK(std::isnan(extensions::mean({})));
  CHECK(extensions::percentiles(Numbers{1, INFINITY, INFINITY}, Numbers{75})[0] == INFINITY);
  CHECK(extensions::percentiles(Numbers{-INFINITY, 1, INFINITY}, Numbers{0, 50, 100}) ==
        Numbers{-INFINITY, 1, INFINITY});
}

TEST_CASE("ParameterStatistics reports the means of Chainer's statistics under Chainer's names") {
  L::Linear model = linear();
  ParameterStatistics statistics({{"gen", model}}, {.prefix = "stats"});
  // The second column of W is 0 in one of two iterations.
  const auto seen = run_statistics(statistics, 0, 2, [&](int64_t i) {
    model.W.array().copy_from(array<float>({1, i == 1 ? 0.F : 3.F, 5}, {1, 3}));
  });
  CHECK(seen[0].empty());
  const Observation& o = seen[1];
  CHECK(o.at("stats/gen/W/data/mean") == doctest::Approx(2.5));
  CHECK(o.at("stats/gen/W/data/min") == doctest::Approx(0.5));
  CHECK(o.at("stats/gen/W/data/max") == 5);
  CHECK(o.at("stats/gen/W/data/zeros") == 0.5);
  CHECK(o.at("stats/gen/W/data/percentile/3") == doctest::Approx(2));  // of 50 percent
  CHECK(o.at("stats/gen/W/grad/std") == doctest::Approx(std::sqrt(56.0 / 9)));
  CHECK(o.contains("stats/gen/W/data/percentile/6"));
  CHECK_FALSE(o.contains("stats/gen/W/data/percentile/7"));
  CHECK(o.contains("stats/gen/b/data/mean"));
  CHECK_FALSE(o.contains("stats/gen/b/grad/mean"));  // without a gradient
}

TEST_CASE("ParameterStatistics with statistics of one's own") {
  L::Linear model = linear();
  ParameterStatistics statistics(model, {.statistics = {{"first", [](std::span<const double> x) { return x[0]; }}},
                                         .report_grads = false,
                                         .trigger = {1, "iteration"}});
  statistics.register_statistics("ends", [](std::span<const double> x) { return Numbers{x.front(), x.back()}; });
  statistics.register_statistics("first", [](std::span<const double> x) { return static_cast<int>(x.size()); });
  const Observation o = run_statistics(statistics, 0, 1, [](int64_t) {})[0];
  CHECK(o.size() == 6);
  CHECK(o.at("W/data/first") == 3);
  CHECK(o.at("W/data/ends/0") == 1);
  CHECK(o.at("W/data/ends/1") == 5);
}

TEST_CASE("ParameterStatistics and NaN") {
  L::Linear model = linear();
  model.W.array().copy_from(array<float>({1, NAN, 0}, {1, 3}));
  for (const bool skip : {false, true}) {
    CAPTURE(skip);
    ParameterStatistics statistics(model, {.trigger = {1, "iteration"}, .skip_nan_params = skip});
    const Observation o = run_statistics(statistics, 0, 1, [](int64_t) {})[0];
    CHECK(std::isnan(o.at("W/data/mean")));
    CHECK(std::isnan(o.at("W/data/max")));
    CHECK(o.contains("W/data/percentile") == skip);
    CHECK(o.contains("W/data/percentile/0") != skip);
    CHECK((skip ? std::isnan(o.at("W/data/zeros")) : o.at("W/data/zeros") == 1));
  }
}

TEST_CASE("ParameterStatistics takes the loss scale out of gradients, and waits for shapes") {
  L::Linear scaled = linear();
  const Variable loss = functions::sum(scaled.W * 3);
  scaled.cleargrads();
  loss.backward({.loss_scale = 1024});
  L::Linear lazy(kInfer, 2);
  ParameterStatistics statistics({{"", scaled}, {"lazy", lazy}}, {.trigger = {1, "iteration"}});
  const Observation o = run_statistics(statistics, 0, 1, [](int64_t) {})[0];
  CHECK(o.at("W/grad/mean") == 3);
  CHECK_FALSE(o.contains("lazy/W/data/mean"));
  CHECK(o.contains("lazy/b/data/mean"));
}

TEST_CASE("ParameterStatistics goes on with its interval after a resume") {
  const ScratchDirectory dir;
  L::Linear model = linear();
  const auto change = [&](int64_t i) { model.W.array().fill(static_cast<double>(i)); };
  ParameterStatistics first(model), second(model);
  run_statistics(first, 0, 1, change);
  serializers::save_npz(dir / "statistics", first);
  serializers::load_npz(dir / "statistics", second);
  CHECK(run_statistics(second, 1, 2, change)[0].at("W/data/mean") == 1.5);
}
