#include "kusari/framework/training/extensions/gradient_statistics.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"

using namespace kusari;
using extensions::GradientStatistics;
using testing::FakeUpdater;
using testing::read_file;
using testing::ScratchDirectory;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Two parameters, one below another link.
struct HalfNet : Chain {
  struct Inner : Chain {
    explicit Inner(Dtype dtype) : b{*this, "b", full({2}, 3, dtype)} {}
    Parameter b;
  };
  explicit HalfNet(Dtype dtype) : W{*this, "W", full({4}, 2, dtype)}, inner{*this, "inner", dtype} {}
  Parameter W;
  Child<Inner> inner;
};

/// Gives the parameters gradients of their dtype.
struct Updater final : FakeUpdater {
  Updater(HalfNet& model, Optimizer& sgd) : net{&model} {
    optimizer = &sgd;
    on_update = [this] {
      net->W.set_grad(array(w).astype(net->W.dtype()));
      net->inner.b.set_grad(array(b).astype(net->W.dtype()));
      optimizer->update();
    };
  }
  std::vector<std::pair<std::string, Optimizer*>> get_all_optimizers() override { return {{"main", optimizer}}; }
  void update() override {  // what the observers see is the iteration that is under way
    previous = epoch_detail();
    on_update();
    ++count;
  }

  HalfNet* net;
  std::vector<double> w = {0, 0x1p-24, -1, 3}, b = {kInf, std::nan("")};
};

double column(const Observation& seen, const std::string& name) { return seen.at(name); }

}  // namespace

TEST_CASE("GradientStatistics reports what the gradients of each parameter are") {
  const ScratchDirectory out;
  HalfNet net(Dtype::float16);
  optimizers::SGD sgd;
  sgd.setup(net);
  // A hook sees what backward left after the statistics have.
  sgd.add_hook([](Parameter& p) { p.set_grad(zeros_like(p.array())); }, "clear");
  Updater updater(net, sgd);
  training::Trainer trainer(updater, {2, "iteration"}, out.path());
  GradientStatistics statistics({.trigger = {2, "iteration"}, .values = true});
  trainer.extend(statistics);
  extensions::LogReport log({.trigger = {2, "iteration"}});
  trainer.extend(log);
  trainer.run();

  const auto& row = log.log().at(0);
  CHECK(row.at("W/grad/zeros") == 0.25);
  CHECK(row.at("W/grad/subnormals") == 0.25);
  CHECK(row.at("W/grad/inf") == 0);
  CHECK(row.at("W/grad/nan") == 0);
  CHECK(row.at("W/grad/abs_min") == 0x1p-24);
  CHECK(row.at("W/grad/abs_max") == 3);
  CHECK(row.at("W/grad/abs_mean") == doctest::Approx(1.0 + 0x1p-26));
  CHECK(row.at("inner/b/grad/inf") == 0.5);
  CHECK(row.at("inner/b/grad/nan") == 0.5);
  CHECK(row.at("W/data/abs_max") == 2);
  CHECK(row.at("gradients/zeros") == doctest::Approx(1.0 / 6));
  CHECK(row.at("gradients/nan") == doctest::Approx(1.0 / 6));
  CHECK(row.at("parameters/abs_mean") == doctest::Approx((4 * 2 + 2 * 3) / 6.0));
  CHECK(row.find("gradients/loss_scale") == nullptr);
  REQUIRE(statistics.rows().size() == 6);
  CHECK(statistics.rows()[0].name == "W/grad");
  CHECK(statistics.rows()[0].size == 8);  // of two updates
  CHECK(statistics.rows()[4].name == "gradients");
  CHECK(statistics.rows()[5].name == "parameters");
  const std::string table = read_file(out / "gradients.txt");
  CHECK(table == statistics.table());
  CHECK(table.substr(0, table.find('\n')) == "iteration 2");
  CHECK(table.find(
            "\nW/grad                 8   25.00%     25.00%    0.00%    0.00%    5.96e-08           3           1\n") !=
        std::string::npos);
  CHECK(table.find(
            "\ninner/b/grad           4    0.00%      0.00%   50.00%   50.00%           -           0           -\n") !=
        std::string::npos);
}

TEST_CASE("GradientStatistics: which updates, parameters, columns and names") {
  const ScratchDirectory out;
  HalfNet net(Dtype::float32);
  optimizers::SGD sgd;
  sgd.setup(net);
  Updater updater(net, sgd);
  training::Trainer trainer(updater, {6, "iteration"}, out.path());
  GradientStatistics every_third({.trigger = {6, "iteration"},
                                  .interval = 3,
                                  .prefix = "every3",
                                  .parameters = [](const std::string& path) { return path == "/W"; },
                                  .range = Dtype::float16,
                                  .columns = {"zeros", "inf"},
                                  .filename = ""});
  GradientStatistics grouped({.trigger = {6, "iteration"}, .depth = 1, .filename = ""});
  trainer.extend(every_third, {.name = "a"});
  trainer.extend(grouped, {.name = "b"});
  int64_t step = 0;
  const auto base = updater.on_update;
  updater.on_update = [&] {
    ++step;  // updates 3 and 6 are looked at
    updater.w = step % 3 == 0 ? std::vector<double>{1e-9, 1e6, 1, 1} : std::vector<double>{0, 0, 0, 0};
    base();
  };
  Observation seen;
  trainer.extend([&](training::Trainer& t) {
    if (step == 6) seen = t.observation();
  });
  trainer.run();
  CHECK(column(seen, "every3/W/grad/zeros") == 0.25);  // 1e-9 in float16
  CHECK(column(seen, "every3/W/grad/inf") == 0.25);
  CHECK(column(seen, "every3/gradients/zeros") == 0.25);
  CHECK_FALSE(seen.contains("every3/W/grad/nan"));
  CHECK_FALSE(seen.contains("every3/inner/b/grad/zeros"));
  CHECK(every_third.rows()[0].size == 8);
  CHECK(column(seen, "inner/grad/nan") == 0.5);
  CHECK(column(seen, "W/grad/zeros") == doctest::Approx(4.0 * 4 / 24));
  CHECK(out.count() == 0);

  CHECK_THROWS_WITH_AS(GradientStatistics({.interval = 0}), "GradientStatistics: interval is 0 but must be positive",
                       ValueError);
  CHECK_THROWS_WITH_AS(GradientStatistics({.depth = -1}), "GradientStatistics: depth is -1: it must not be negative",
                       ValueError);
  CHECK_THROWS_WITH_AS(GradientStatistics({.columns = {"mean"}}),
                       doctest::Contains("'mean' in columns is none of 'zeros' 'subnormals'"), ValueError);
}

TEST_CASE("GradientStatistics shows scaled gradients, and the scale beside them") {
  const ScratchDirectory out;
  for (const bool fp32_update : {false, true}) {
    for (const bool hooked : {false, true}) {
      HalfNet net(Dtype::float16);
      optimizers::SGD sgd;
      sgd.setup(net);
      if (fp32_update) sgd.use_fp32_update();
      if (hooked) sgd.add_hook(optimizer_hooks::GradientClipping(1e-9));
      const auto backward = [&] {
        net.cleargrads();
        // 2^-28 is no float16; 2^-28 * 1024 is.
        sgd.backward(functions::sum(net.W * (0x1p-14)) * (0x1p-14) + functions::sum(net.inner.b) * 0.0);
        sgd.update();
      };
      Updater updater(net, sgd);
      updater.on_update = backward;
      GradientStatistics statistics({.trigger = {1, "iteration"}, .filename = ""});
      training::Trainer trainer(updater, {2, "iteration"}, out.path());
      Observation seen;
      trainer.extend(statistics);
      trainer.extend([&](training::Trainer& t) {
        if (t.updater().iteration() == 1) {
          CHECK(column(t.observation(), "W/grad/zeros") == 1);
          sgd.set_loss_scale(1024);
        }
        seen = t.observation();
      });
      trainer.run();
      CHECK(column(seen, "W/grad/zeros") == 0);
      CHECK(column(seen, "W/grad/abs_max") == 0x1p-18);
      CHECK(column(seen, "gradients/loss_scale") == 1024);
    }
  }
}

TEST_CASE("GradientStatistics goes on after a resume") {
  const ScratchDirectory out, files;
  const auto run = [&](GradientStatistics& statistics, int64_t from, int64_t to) {
    HalfNet net(Dtype::float32);
    optimizers::SGD sgd(0);
    sgd.setup(net);
    Updater updater(net, sgd);
    updater.b = {1, -1};
    updater.count = from;
    const auto base = updater.on_update;
    updater.on_update = [&] {
      updater.w[0] = static_cast<double>(updater.count);
      base();
    };
    training::Trainer trainer(updater, {to, "iteration"}, out.path());
    trainer.extend(statistics);
    trainer.run();
  };
  const extensions::GradientStatisticsOptions options{.trigger = {4, "iteration"}, .values = true, .filename = ""};
  GradientStatistics whole(options), first(options), second(options);
  run(whole, 0, 4);
  run(first, 0, 3);
  CHECK(first.rows().empty());
  serializers::save_npz(files / "statistics", first);
  serializers::load_npz(files / "statistics", second);
  run(second, 3, 4);
  REQUIRE(whole.rows().size() == 6);
  CHECK(second.table() == whole.table());
  CHECK(second.rows()[0].size == 16);
}

TEST_CASE("GradientStatistics draws its rows where there is a gnuplot") {
  const ScratchDirectory out;
  HalfNet net(Dtype::float16);
  optimizers::SGD sgd;
  sgd.setup(net);
  Updater updater(net, sgd);
  training::Trainer trainer(updater, {1, "iteration"}, out.path());
  trainer.extend(GradientStatistics({.trigger = {1, "iteration"}, .filename = "g"}));
  trainer.run();
  CHECK(out.count() == (std::system("gnuplot --version > /dev/null 2>&1") == 0 ? 2 : 1));
}
