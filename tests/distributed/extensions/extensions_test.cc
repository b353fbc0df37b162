#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributed/extensions/agreed_trigger.h"
#include "kusari/framework/distributed/extensions/allreduce_persistent.h"
#include "kusari/framework/distributed/extensions/multi_node_checkpointer.h"
#include "kusari/framework/distributed/extensions/multi_node_early_stopping_trigger.h"
#include "kusari/framework/distributed/extensions/observation_aggregator.h"
#include "kusari/framework/distributed/multi_node_snapshot.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/links/normalization/batch_renormalization.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/snapshot.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/framework/training/triggers/best_value_trigger.h"
#include "kusari/framework/training/triggers/once_trigger.h"
#include "kusari/tests/distributed/rank_results.h"
#include "kusari/tests/functions/testing.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"

namespace kusari {
namespace {

using distributed::Communicator;
using testing::FakeUpdater;
using testing::on_ranks;
using testing::uniform;
using training::Trainer;
namespace L = links;

using Numbers = std::vector<double>;

class Network : public Chain {
 public:
  explicit Network(int64_t channels = 3)
      : bn{*this, "bn", channels, {.dtype = Dtype::float64}}, rn{*this, "rn", 2}, l{*this, "l", 2, 2} {
    l.add_persistent("scale", ones({2}, Dtype::float32));
    l.add_persistent("count", ones({2}, Dtype::int64));
  }
  Child<L::BatchNormalization> bn;
  Child<L::BatchRenormalization> rn;
  Child<L::Linear> l;
  Persistent later{*this, "later"};
};

TEST_CASE("AllreducePersistent: means of all ranks, and variances with what is between the ranks") {
  const auto rank_values = [](int rank, uint64_t seed) {
    return uniform({3}, 0, 2, seed + 10 * static_cast<uint64_t>(rank));
  };
  const auto found = on_ranks<Numbers>(3, [&](Communicator& comm) {
    Network model;
    Network moved(std::move(model));
    model = std::move(moved);
    model.bn.avg_mean = rank_values(comm.rank(), 1);
    model.bn.avg_var = rank_values(comm.rank(), 2);
    model.rn.avg_mean = full({2}, comm.rank(), Dtype::float32);
    model.rn.avg_var = full({2}, 5, Dtype::float32);
    model.l.add_persistent("own", full({1}, 6 * comm.rank(), Dtype::float16));
    const Array seen = model.bn.avg_var;  // the elements are written in place
    distributed::AllreducePersistent extension(model, comm);
    CHECK(extension.default_priority() == training::kPriorityWriter + 1);
    extension();
    CHECK(seen.to_vector<double>() == model.bn.avg_var.to_vector<double>());
    CHECK(model.rn.avg_mean.to_vector<float>() == std::vector<float>{1, 1});
    CHECK(model.rn.avg_var.to_vector<float>()[0] == doctest::Approx(5 + 2.0 / 3));
    CHECK(!model.later.is_defined());
    Numbers all = model.bn.avg_mean.to_vector<double>();
    const Numbers variances = model.bn.avg_var.to_vector<double>();
    all.insert(all.end(), variances.begin(), variances.end());
    return all;
  });
  CHECK(found[1] == found[0]);
  CHECK(found[2] == found[0]);
  for (size_t i = 0; i < 3; ++i) {
    double mean = 0, square = 0, variance = 0;
    for (int rank = 0; rank < 3; ++rank) {
      const double m = rank_values(rank, 1).to_vector<double>()[i];
      mean += m / 3;
      square += m * m / 3;
      variance += rank_values(rank, 2).to_vector<double>()[i] / 3;
    }
    CHECK(found[0][i] == doctest::Approx(mean).epsilon(1e-12));
    CHECK(found[0][3 + i] == doctest::Approx(variance + square - mean * mean).epsilon(1e-12));
  }
}

TEST_CASE("AllreducePersistent: of what ranks gather from parts of one data set, the statistics of the whole") {
  // With decay 0 averages are those of the last batch; with equal batches the merged ones are the whole's, but for the
  // unbiased factor.
  const Array whole = uniform({12, 3}, -3, 5, 7);
  L::BatchNormalization alone(3, {.decay = 0, .dtype = Dtype::float64});
  alone(Variable(whole, false));
  on_ranks<int>(3, [&](Communicator& comm) {
    L::BatchNormalization link(3, {.decay = 0, .dtype = Dtype::float64});
    link(Variable(whole.slice(0, 4 * comm.rank(), 4).copy(), false));
    link.avg_var.copy_from(link.avg_var * (3.0 / 4));
    distributed::AllreducePersistent(link, comm)();
    testing::check_close(link.avg_mean, {3}, alone.avg_mean.to_vector<double>(), 10);
    testing::check_close(link.avg_var, {3}, (alone.avg_var * (11.0 / 12)).to_vector<double>(), 10);
    return 0;
  });
  CHECK_THROWS_AS(distributed::run_ranks(2,
                                         [](Communicator& comm) {
                                           Network model(comm.rank() + 2);
                                           distributed::AllreducePersistent(model, comm)();
                                         }),
                  StateError);
}

/// The trainer of a rank that reports `value(iteration)` as main/loss where it gives something.
struct Run {
  testing::ScratchDirectory directory;
  FakeUpdater updater;
  Trainer trainer;

  Run(training::TriggerRef stop, const std::function<std::optional<double>(int64_t)>& value)
      : trainer{updater, std::move(stop), directory.path()} {
    updater.on_update = [this, value] {
      if (const auto reported = value(updater.count)) report({{"main/loss", *reported}});
    };
  }
};

TEST_CASE("ObservationAggregator: the mean of what all ranks observed, each observation counting the same") {
  for (const int interval : {1, 2}) {
    CAPTURE(interval);
    const auto found = on_ranks<Numbers>(3, [&](Communicator& comm) {
      // Rank r observes 10 r + i in iteration i; rank 2 only in odd ones, nobody in iteration 5.
      Run run({6, "iteration"}, [&](int64_t i) -> std::optional<double> {
        if (i >= 5 || (comm.rank() == 2 && i % 2 == 0)) return std::nullopt;
        return 10.0 * comm.rank() + static_cast<double>(i);
      });
      run.trainer.extend(
          distributed::ObservationAggregator(comm, "main/loss", "all", {.comm_trigger = {interval, "iteration"}}));
      Numbers values;
      run.trainer.extend([&](Trainer& trainer) {
        const ObservedValue* value = trainer.observation().find("all");
        values.push_back(value == nullptr ? -1 : value->value());
      });
      run.trainer.run();
      return values;
    });
    const Numbers expected =
        interval == 1 ? Numbers{(1 + 11 + 21) / 3.0, (2 + 12) / 2.0, (3 + 13 + 23) / 3.0, (4 + 14) / 2.0, -1, -1}
                      : Numbers{-1, (1 + 11 + 21 + 2 + 12) / 5.0, -1, (3 + 13 + 23 + 4 + 14) / 5.0, -1, -1};
    for (const Numbers& values : found) CHECK(values == expected);
  }
}

TEST_CASE("ObservationAggregator: an aggregator of one's own, in the place of the value") {
  on_ranks<int>(2, [](Communicator& comm) {
    Run run({2, "iteration"}, [&](int64_t i) { return std::optional<double>(static_cast<double>(i) + comm.rank()); });
    run.trainer.extend(distributed::ObservationAggregator(
        comm, "main/loss", {},
        {.comm_trigger = {2, "iteration"}, .aggregator = [](const std::vector<std::vector<double>>& ranks) {
           CHECK(ranks == std::vector<std::vector<double>>{{1, 2}, {2, 3}});
           return 42.0;
         }}));
    run.trainer.run();
    CHECK(run.trainer.observation().at("main/loss") == 42);
    return 0;
  });
  CHECK_THROWS_WITH_AS(distributed::ObservationAggregator(Communicator(), ""),
                       "ObservationAggregator: original_key is empty: it must name a reported value", ValueError);
}

TEST_CASE("ObservationAggregator: the state of any trigger is read again") {
  Run run({4, "iteration"}, [](int64_t) { return std::optional<double>(3); });
  const std::string file = run.directory / "aggregator.npz";
  const Communicator alone;
  const auto is_asked_again = [&](auto first, auto second) {
    run.trainer.observation().set("main/loss", 3.0);
    CHECK(first(run.trainer));
    distributed::ObservationAggregator saved(alone, "main/loss", {}, {.comm_trigger = first});
    serializers::save_npz(file, saved);
    distributed::ObservationAggregator loaded(alone, "main/loss", {}, {.comm_trigger = second});
    serializers::load_npz(file, loaded);
    return second(run.trainer);
  };
  CHECK(!is_asked_again(triggers::OnceTrigger(), triggers::OnceTrigger()));
  const triggers::MaxValueTrigger largest("main/loss", [](Trainer&) { return true; });
  CHECK(!is_asked_again(largest, largest));
}

/// Stops and reports as two ranks do whose run was interrupted after `interrupted` iterations, or was not.
std::vector<Numbers> aggregated_run(int64_t interrupted, bool of_each_rank) {
  const testing::ScratchDirectory files;
  return on_ranks<Numbers>(2, [&](Communicator& comm) {
    Numbers seen;
    const auto run_until = [&](int64_t end, bool is_resumed, bool is_saved) {
      FakeUpdater updater;
      updater.on_update = [&] {
        report({{"main/loss", std::sin(3.0 * comm.rank() + static_cast<double>(updater.count))}});
      };
      distributed::MultiNodeEarlyStoppingTrigger stop(
          comm, {.check_trigger = {3, "iteration"}, .patience = 2, .max_trigger = {end, "iteration"}});
      Trainer trainer(updater, stop, files.path());
      trainer.extend(distributed::ObservationAggregator(comm, "main/loss", "all", {.comm_trigger = {4, "iteration"}}));
      trainer.extend([&](Trainer& t) {
        for (const char* key : {"all", "main/loss_aggregated"}) {
          const ObservedValue* const value = t.observation().find(key);
          if (value != nullptr) seen.push_back(value->value());
        }
      });
      auto checkpointer = distributed::create_multi_node_checkpointer("run", comm, {.path = files.path()});
      if (of_each_rank) {
        if (is_resumed) checkpointer.maybe_load(trainer);
      } else if (is_saved || is_resumed) {
        trainer.extend(distributed::multi_node_snapshot(comm, extensions::snapshot({.autoload = is_resumed})),
                       {.trigger = {end, "iteration"}});
      }
      trainer.run();
      if (of_each_rank && is_saved) checkpointer.save(trainer, end);
      seen.push_back(static_cast<double>(updater.count));
    };
    if (interrupted > 0) {
      run_until(interrupted, false, true);
      seen.pop_back();
    }
    run_until(40, interrupted > 0, false);
    return seen;
  });
}

TEST_CASE("what ranks observed before a resume counts after it") {
  const std::vector<Numbers> whole = aggregated_run(0, false);
  CHECK(whole[0].back() < 40);
  for (const int64_t interrupted : {2, 4, 5}) {
    for (const bool of_each_rank : {false, true}) {
      CAPTURE(interrupted);
      CAPTURE(of_each_rank);
      CHECK(aggregated_run(interrupted, of_each_rank) == whole);
    }
  }
}

TEST_CASE("agreed: the root's verdict is everybody's") {
  for (const int root : {0, 1}) {
    const auto lengths = on_ranks<int64_t>(3, [&](Communicator& comm) {
      int64_t asked = 0;
      Run run(distributed::agreed(
                  [&](Trainer& trainer) {
                    ++asked;
                    return trainer.updater().iteration() >=
                           3 + 2 * comm.rank();  // each by itself would leave elsewhere
                  },
                  comm, root),
              [](int64_t) { return std::nullopt; });
      run.trainer.run();
      CHECK(asked >= run.updater.count);
      return run.updater.count;
    });
    CHECK(lengths == std::vector<int64_t>(3, 3 + 2 * root));
  }
  on_ranks<int>(2, [](Communicator& comm) {
    CHECK(distributed::agreed({20, "epoch"}, comm).get_training_length()->period == 20);
    CHECK_THROWS_WITH_AS(distributed::agreed({20, "epoch"}, comm, 2),
                         "agreed: root is 2: it must be in [0, 2), the ranks of the communicator", ValueError);
    CHECK_THROWS_WITH_AS(distributed::agreed({}, comm), "agreed: trigger is empty: it must be callable", ValueError);
    return 0;
  });
}

TEST_CASE("MultiNodeEarlyStoppingTrigger: stops all ranks when the mean over them no longer improves") {
  const auto lengths = on_ranks<int64_t>(2, [](Communicator& comm) {
    // Rank 0 gets better all the time, rank 1 worse from iteration 3 on, and by more.
    Run run(distributed::MultiNodeEarlyStoppingTrigger(
                comm, {.check_trigger = {1, "iteration"}, .patience = 2, .max_trigger = {50, "iteration"}}),
            [&](int64_t i) {
              const double step = static_cast<double>(i);
              return std::optional<double>(comm.is_root() ? -step : (i <= 3 ? -step : 10 * step));
            });
    run.trainer.run();
    CHECK(run.trainer.observation().contains("main/loss_aggregated"));
    return run.updater.count;
  });
  CHECK(lengths[0] == lengths[1]);
  CHECK(lengths[0] < 50);
  CHECK(lengths[0] > 3);
}

/// Fires every second time.
class Alternating final : public training::Trigger {
 public:
  bool operator()(Trainer&) override { return ++asked % 2 == 0; }
  void serialize(Serializer& serializer) override { serializer("asked", asked); }
  int64_t asked = 0;
};

TEST_CASE("MultiNodeEarlyStoppingTrigger: asks a trigger of one's own once, and keeps its state") {
  const auto lengths = on_ranks<int64_t>(2, [](Communicator& comm) {
    Alternating check, resumed;
    const auto stop_by = [&](Alternating& trigger) {
      return distributed::MultiNodeEarlyStoppingTrigger(
          comm, {.check_trigger = trigger, .patience = 2, .max_trigger = {50, "iteration"}});
    };
    auto stop = stop_by(check);
    Run run(stop, [](int64_t) { return std::optional<double>(1); });
    run.trainer.run();
    CHECK(check.asked == run.updater.count + 1);  // the trainer asks before the first as well

    const std::string file = run.directory / "stop.npz";
    serializers::save_npz(file, stop);
    auto loaded = stop_by(resumed);
    serializers::load_npz(file, loaded);
    CHECK(resumed.asked == check.asked);
    return run.updater.count;
  });
  // The first check is the best, and the second and third no better.
  CHECK(lengths == std::vector<int64_t>{5, 5});
}

}  // namespace
}  // namespace kusari
