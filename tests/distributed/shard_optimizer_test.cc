#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/amp/grad_scaler.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/distributed/multi_node_optimizer.h"
#include "kusari/framework/distributed/multi_node_snapshot.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/serializers/dictionary_message.h"
#include "kusari/framework/training/extensions/mixed_precision.h"
#include "kusari/framework/training/extensions/snapshot.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/lamb.h"
#include "kusari/optimizers/lars.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/optimizers/optimizer_access.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/distributed/rank_results.h"
#include "kusari/tests/distributed/small_models.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

namespace kusari::shard_optimizer_test {
namespace {

using namespace testing;

using distributed::Communicator;
using distributed::create_multi_node_optimizer;
using distributed::Sharding;

using Values = std::vector<double>;

/// Bytes of the arrays that an optimizer keeps on this rank.
int64_t state_bytes(const Optimizer& optimizer, const std::vector<std::string>& names) {
  int64_t bytes = 0;
  for (Parameter* const parameter : optimizer.target().params()) {
    for (const std::string& name : names) {
      const Array state = parameter->update_rule().state(name);
      if (state.is_defined()) bytes += state.nbytes();
    }
  }
  return bytes;
}

void step(Link& model, Optimizer& optimizer, const Communicator& comm, int number, double scale = 1) {
  const TestBatch batch = test_batch(16, {20}, number, get_dtype()).part(comm.rank(), comm.size());
  auto& classifier = dynamic_cast<links::Classifier<TestMlp>&>(model);
  optimizer.update([&] { return classifier(Variable(batch.x, false), Variable(batch.t, false)) * scale; });
}

struct Setting {
  const char* name;
  std::function<void(Optimizer&)> prepare = {};
  Dtype dtype = Dtype::float32;
  bool overlap = false;
};

/// Parameters of each rank after some steps.
template <class Make>
std::vector<Values> train(int ranks, Sharding shards, const Make& make, const Setting& setting) {
  const auto config = using_config(&Config::dtype, setting.dtype);
  random::seed(5);
  return on_ranks<Values>(ranks, [&](Communicator& comm) {
    const auto own = using_config(&Config::dtype, setting.dtype);
    auto model = links::classifier(TestMlp(48));
    auto optimizer = create_multi_node_optimizer(make(), comm, {.overlap = setting.overlap, .shard_optimizer = shards});
    // The root alone knows the shapes of the first layer.
    if (comm.is_root())
      model(Variable(test_batch(2, {20}, 0, setting.dtype).x, false), Variable(test_batch(2, {20}, 0).t, false));
    optimizer.setup(model);
    if (setting.prepare) setting.prepare(optimizer);
    for (int number = 0; number < 6; ++number) step(model, optimizer, comm, number);
    return values_of(model);
  });
}

TEST_CASE("shard_optimizer: the steps are those of every rank for itself, to the bit") {
  const Setting settings[] = {
      {"plain"},
      {.name = "overlap", .overlap = true},
      {"hooks",
       [](Optimizer& optimizer) {
         optimizer.add_hook(optimizer_hooks::WeightDecay(0.01));
         optimizer.add_hook(optimizer_hooks::GradientClipping(0.5));
       }},
      {"float16, float32 copies",
       [](Optimizer& optimizer) {
         optimizer.use_fp32_update();
         optimizer.loss_scaling();
       },
       Dtype::float16},
      {"float16, float32 copies, hooks",
       [](Optimizer& optimizer) {
         optimizer.use_fp32_update();
         optimizer.add_hook(optimizer_hooks::WeightDecay(0.01));
         optimizer.add_hook(optimizer_hooks::GradientClipping(0.5));
       },
       Dtype::float16},
      {"float16, Chainer's loss scaling",
       [](Optimizer& optimizer) {
         optimizer.use_fp32_update();
         optimizer.loss_scaling({.scale = 128, .chainer_compatible = true});
       },
       Dtype::float16},
  };
  for (const Setting& setting : settings) {
    CAPTURE(setting.name);
    const auto check = [&](const char* name, const auto& make) {
      CAPTURE(name);
      for (const int ranks : {2, 4}) {
        CAPTURE(ranks);
        const Values plain = train(ranks, Sharding::kNone, make, setting)[0];
        for (const Sharding level : {Sharding::kState, Sharding::kGradients}) {
          CAPTURE(static_cast<int>(level));
          for (const Values& values : train(ranks, level, make, setting)) CHECK(values == plain);
        }
      }
    };
    check("Adam", [] { return optimizers::Adam(); });
    check("MomentumSGD", [] { return optimizers::MomentumSGD(0.1); });
    check("LAMB", [] { return optimizers::LAMB(); });
    check("LARS", [] { return optimizers::LARS(0.1); });
  }
}

TEST_CASE("shard_optimizer: each rank of four has a quarter of the bytes") {
  for (const bool half : {false, true}) {
    CAPTURE(half);
    const auto bytes = [&](bool shards) {
      return on_ranks<int64_t>(4, [&](Communicator& comm) {
        const auto config = using_config(&Config::dtype, half ? Dtype::float16 : Dtype::float32);
        auto model = links::classifier(TestMlp(64));
        auto optimizer = create_multi_node_optimizer(optimizers::Adam(), comm, {.shard_optimizer = shards});
        optimizer.setup(model);
        for (int number = 0; number < 2; ++number) step(model, optimizer, comm, number);
        return state_bytes(optimizer, {"m", "v"});
      });
    };
    const std::vector<int64_t> whole = bytes(false), parts = bytes(true);
    int64_t all = 0;
    for (const int64_t part : parts) {
      CHECK(static_cast<double>(part) <= 0.27 * static_cast<double>(whole[0]));
      all += part;
    }
    CHECK(all == whole[0]);
  }
}

TEST_CASE("shard_optimizer: with divided gradients each rank of four has a quarter of these, too") {
  int64_t gradients = 0;
  // Of all ranks together, when each has the gradients that its step takes.
  const auto held = [&](Sharding level) {
    int64_t bytes = 0;
    distributed::run_ranks(4, [&](Communicator& comm) {
      auto model = links::classifier(TestMlp(16384));
      auto optimizer = create_multi_node_optimizer(optimizers::SGD(), comm, {.shard_optimizer = level});
      optimizer.setup(model);
      step(model, optimizer, comm, 0);
      const TestBatch batch = test_batch(16, {20}, 1).part(comm.rank(), comm.size());
      model.cleargrads();
      model(Variable(batch.x, false), Variable(batch.t, false)).backward();
      const Array norm = detail::OptimizerAccess::squared_norm(optimizer);
      comm.barrier();
      if (comm.is_root()) {
        bytes = memory::statistics().allocated;
        gradients = 0;
        for (Parameter* const parameter : model.params()) {
          gradients += parameter->array().nbytes();
          CHECK(parameter->grad().is_defined() == (level != Sharding::kGradients));
        }
      }
      comm.barrier();
      CHECK(norm.item<double>() > 0);
      optimizer.update();
    });
    return bytes;
  };
  const int64_t whole = held(Sharding::kState), divided = held(Sharding::kGradients);
  CHECK(static_cast<double>(whole - divided) >= 0.9 * 3 * static_cast<double>(gradients));
}

TEST_CASE("shard_optimizer: a step that overflows on one rank is skipped on all") {
  distributed::run_ranks(3, [](Communicator& comm) {
    for (const auto& [is_scaler, level] : {std::pair(false, Sharding::kState),
                                           {true, Sharding::kState},
                                           {false, Sharding::kGradients},
                                           {true, Sharding::kGradients}}) {
      auto model = links::classifier(TestMlp());
      auto optimizer = create_multi_node_optimizer(optimizers::Adam(), comm, {.shard_optimizer = level});
      optimizer.setup(model);
      step(model, optimizer, comm, 0);
      const Values before = values_of(model);
      amp::GradScaler scaler;
      if (!is_scaler) optimizer.loss_scaling();
      const auto scaled = [&](double factor) {
        if (!is_scaler) return step(model, optimizer, comm, 1, factor);
        const TestBatch batch = test_batch(16, {20}, 1).part(comm.rank(), comm.size());
        model.cleargrads();
        scaler.scale(model(Variable(batch.x, false), Variable(batch.t, false)) * factor).backward();
        scaler.step(optimizer);
        scaler.update();
      };
      scaled(comm.rank() == 1 ? std::numeric_limits<double>::infinity() : 1);
      CHECK(values_of(model) == before);
      CHECK(optimizer.t() == 1);
      scaled(1e-3);
      CHECK(values_of(model) != before);
      const std::vector<Array> all = comm.allgather(array<double>(values_of(model)));
      for (const Array& other : all) CHECK(other.to_vector<double>() == all[0].to_vector<double>());
    }
  });
}

TEST_CASE("shard_optimizer: parameters that are frozen and thawed, and state that is read") {
  const auto run = [](Sharding shards, bool reads_at_root) {
    random::seed(9);
    return on_ranks<Values>(3, [&](Communicator& comm) {
      auto model = links::classifier(TestMlp());
      auto optimizer = create_multi_node_optimizer(optimizers::Adam(), comm, {.shard_optimizer = shards});
      optimizer.setup(model);
      step(model, optimizer, comm, 0);
      model.predictor.l1.disable_update();
      step(model, optimizer, comm, 1);
      distributed::gather_optimizer_state(optimizer, true);
      serializers::DictionarySerializer saved;
      optimizer.serialize(saved);
      const serializers::Dictionary kept = serializers::copied(saved.dictionary());
      model.predictor.l1.enable_update();
      for (const int number : {2, 3}) step(model, optimizer, comm, number);
      if (!reads_at_root || comm.is_root()) {
        serializers::EntryDeserializer reader("test", serializers::entries_in_memory("memory", kept), {});
        optimizer.serialize(reader);
      }
      for (const int number : {4, 5}) step(model, optimizer, comm, number);
      CHECK(optimizer.t() == 4);
      return values_of(model);
    });
  };
  for (const bool reads_at_root : {false, true}) {
    CAPTURE(reads_at_root);
    const Values plain = run(Sharding::kNone, reads_at_root)[0];
    for (const Sharding level : {Sharding::kState, Sharding::kGradients}) {
      for (const Values& values : run(level, reads_at_root)) CHECK(values == plain);
    }
  }
}

TEST_CASE("shard_optimizer: what is written is what an optimizer has that is not divided") {
  const auto written = [](bool shards) {
    random::seed(2);
    std::string bytes;
    distributed::run_ranks(4, [&](Communicator& comm) {
      const auto config = using_config(&Config::dtype, Dtype::float16);
      auto model = links::classifier(TestMlp());
      auto optimizer = create_multi_node_optimizer(optimizers::Adam(), comm, {.shard_optimizer = shards});
      optimizer.setup(model);
      optimizer.use_fp32_update();
      for (const int number : {0, 1}) step(model, optimizer, comm, number);
      const auto pack = [&] {
        serializers::DictionarySerializer writer;
        optimizer.serialize(writer);
        return serializers::pack_dictionary(writer.dictionary());
      };
      if (shards) {
        CHECK_THROWS_WITH_AS(pack(),
                             "Optimizer::serialize: each rank has a part of the state (shard_optimizer): call "
                             "distributed::gather_optimizer_state on all ranks before, as multi_node_snapshot does",
                             StateError);
      }
      distributed::gather_optimizer_state(optimizer);
      if (comm.is_root()) bytes = pack();
      step(model, optimizer, comm, 2);
      if (shards) CHECK_THROWS_AS(pack(), StateError);
    });
    return bytes;
  };
  CHECK(written(true) == written(false));
}

struct Run {
  int ranks;
  Sharding shards;
  int64_t iterations;
};

/// The root's parameters at the end of a run that goes on from the newest file in `out`.
Values resume(const Run& run, const std::string& out) {
  random::seed(21);
  return on_ranks<Values>(run.ranks, [&](Communicator& comm) {
    const TestBatch data = test_batch(45, {20}, 1);
    auto model = links::classifier(TestMlp());
    auto optimizer = create_multi_node_optimizer(optimizers::Adam(), comm, {.shard_optimizer = run.shards});
    optimizer.setup(model);
    const datasets::TupleDataset examples(data.x, data.t);
    iterators::SerialIterator iterator(examples, 8, {.shard = comm.shard()});
    updaters::StandardUpdater updater(iterator, optimizer);
    training::Trainer trainer(updater, {run.iterations, "iteration"}, out);
    trainer.extend(distributed::multi_node_snapshot(comm, extensions::snapshot({.autoload = true})),
                   {.trigger = {6, "iteration"}});
    trainer.run();
    return values_of(model);
  })[0];
}

TEST_CASE("shard_optimizer: a snapshot goes on with any number of ranks, divided or not") {
  const ScratchDirectory scratch;
  for (const Run& next : {Run{4, Sharding::kState, 12},
                          {2, Sharding::kState, 12},
                          {3, Sharding::kGradients, 12},
                          {1, Sharding::kState, 12},
                          {2, Sharding::kNone, 12}}) {
    CAPTURE(next.ranks);
    const std::string name =
        scratch / (std::to_string(next.ranks) + "_" + std::to_string(static_cast<int>(next.shards)) + "_");
    const Sharding levels[] = {Sharding::kNone, Sharding::kState, Sharding::kGradients};
    for (const Sharding level : levels) resume({4, level, 6}, name + std::to_string(static_cast<int>(level)));
    const Values plain = resume({next.ranks, Sharding::kNone, 12}, name + "0");
    CHECK(resume(next, name + "1") == plain);
    CHECK(resume(next, name + "2") == plain);
  }
}

TEST_CASE("shard_optimizer: MixedPrecision gives the numbers of the float32 copies back, not rounded ones") {
  const auto train_mixed = [](Sharding shards, bool fails) {
    random::seed(21);
    const ScratchDirectory scratch;
    return on_ranks<Values>(2, [&](Communicator& comm) {
      const TestBatch data = test_batch(32, {20}, 1);
      auto model = links::classifier(TestMlp());
      auto optimizer = create_multi_node_optimizer(optimizers::Adam(), comm, {.shard_optimizer = shards});
      optimizer.setup(model);
      model.predictor.l2.b.array().fill(0.1);
      model.predictor.l2.b.disable_update();
      const datasets::TupleDataset examples(data.x, data.t);
      iterators::SerialIterator iterator(examples, 4, {.shard = comm.shard()});
      updaters::StandardUpdater updater(iterator, optimizer);
      training::Trainer trainer(updater, {6, "iteration"}, scratch.path());
      trainer.extend(extensions::MixedPrecision({.recipe = extensions::MixedPrecisionRecipe::to_fp16}));
      trainer.extend([&](training::Trainer& t) {
        if (fails && t.updater().iteration() == 3) throw StateError("interrupted");
      });
      if (fails) {
        CHECK_THROWS_AS(trainer.run(false), StateError);
        CHECK(model.predictor.l1.W.dtype() == Dtype::float32);
      } else {
        trainer.run();
      }
      return values_of(model);
    });
  };
  const Values plain = train_mixed(Sharding::kNone, false)[0];
  CHECK(array<double>(plain).astype(Dtype::float16).to_vector<double>() != plain);
  for (const Sharding level : {Sharding::kState, Sharding::kGradients}) {
    for (const Values& values : train_mixed(level, false)) CHECK(values == plain);
    train_mixed(level, true);
  }
}

TEST_CASE("shard_optimizer: what it cannot do") {
  distributed::run_ranks(2, [](Communicator& world) {
    const Communicator dummy(world.shared_group(), "dummy");
    CHECK_THROWS_WITH_AS(
        create_multi_node_optimizer(optimizers::SGD(), dummy, {.shard_optimizer = true}),
        "create_multi_node_optimizer: shard_optimizer is given, but the communicator 'dummy' exchanges "
        "nothing",
        ValueError);
    CHECK_THROWS_WITH_AS(
        create_multi_node_optimizer(optimizers::SGD(), world,
                                    {.double_buffering = true, .shard_optimizer = Sharding::kGradients}),
        "create_multi_node_optimizer: shard_optimizer is kGradients, and double_buffering, reproducible "
        "or chainer_compatible is given, which need whole gradients",
        ValueError);
    const auto config = using_config(&Config::dtype, Dtype::float16);
    auto model = links::classifier(TestMlp());
    auto optimizer = create_multi_node_optimizer(optimizers::SGD(), world, {.shard_optimizer = true});
    optimizer.setup(model);
    optimizer.use_fp32_update();
    optimizer.add_hook(optimizer_hooks::WeightDecay(0.01), "late", HookTiming::post);
    CHECK_THROWS_AS(step(model, optimizer, world, 0), StateError);
  });
}

}  // namespace
}  // namespace kusari::shard_optimizer_test
