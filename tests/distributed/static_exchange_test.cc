#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/distributed/links/multi_node_batch_normalization.h"
#include "kusari/framework/distributed/multi_node_optimizer.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/optimizers/optimizer_access.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/tests/distributed/rank_results.h"
#include "kusari/tests/distributed/small_models.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/updaters/static_step.h"

// Steps as static graphs on several ranks: the exchange is among the recorded kernels.
namespace kusari::static_exchange_test {
namespace {

using namespace testing;

using distributed::Communicator;
using distributed::create_multi_node_optimizer;

/// With numbers of a rank's own: dropout and running means.
class DroppedMlp : public Chain {
 public:
  DroppedMlp() : l1{*this, "l1", kInfer, 24}, bn{*this, "bn", 24}, l2{*this, "l2", 24, 16}, l3{*this, "l3", 16, 10} {}
  Variable operator()(const Variable& x) {
    return l3(functions::relu(l2(functions::dropout(functions::relu(bn(l1(x))), 0.3))));
  }

  Child<links::Linear> l1;
  Child<links::BatchNormalization> bn;
  Child<links::Linear> l2, l3;
};

struct Setting {
  const char* name;
  std::function<void(Optimizer&)> prepare = {};
  distributed::MultiNodeOptimizerOptions options = {};
  Dtype dtype = Dtype::float32;
  std::optional<Dtype> wire = std::nullopt;
  bool synchronizes = false;  // batch normalization
};

struct Outcome {
  std::vector<double> values;
  std::vector<double> gradients;  // of the last step
  uint64_t random;                // the number that comes next
  int64_t replays;
  std::string summary;
};

constexpr int kSteps = 12;

/// Batches of 13 and of 9 examples, of which each rank has its part. `also`: called before each step.
std::vector<Outcome> train(int ranks, bool is_static, const Setting& setting,
                           const std::function<void(int step, Communicator&, Optimizer&)>& also = {}) {
  random::seed(31);
  const auto config = using_config(&Config::dtype, setting.dtype);
  return on_ranks<Outcome>(ranks, [&](Communicator& world) {
    const Communicator comm(world.shared_group(), "auto", {.allreduce_grad_dtype = setting.wire});
    auto model = links::classifier(DroppedMlp());
    if (setting.synchronizes) distributed::synchronize_batch_normalizations(model, comm);
    auto optimizer = create_multi_node_optimizer(optimizers::Adam(), comm, setting.options);
    optimizer.setup(model);
    if (setting.prepare) setting.prepare(optimizer);
    updaters::StaticStep step(
        StaticGraphOptions{.name = "step", .fallback = setting.synchronizes},
        [](Optimizer& of, std::span<const Variable> inputs) { return of.call_target(inputs); }, false);
    for (int number = 0; number < kSteps; ++number) {
      if (also) also(number, world, optimizer);
      const TestBatch batch =
          test_batch(number % 3 == 2 ? 9 : 13, {6}, number, get_dtype()).part(comm.rank(), comm.size());
      const Variable inputs[] = {Variable(batch.x, false), Variable(batch.t, false)};
      detail::OptimizerAccess::note_examples(optimizer, batch.x.shape(0));
      if (is_static) {
        step.update(optimizer, inputs);
      } else {
        optimizer.update([&] { return optimizer.call_target(inputs); });
      }
    }
    Outcome outcome{values_of(model), {}, random::bits(), step.replays(), step.summary()};
    for (Parameter* const parameter : model.params()) {
      const std::vector<double> own = parameter->grad().to_vector<double>();
      outcome.gradients.insert(outcome.gradients.end(), own.begin(), own.end());
    }
    return outcome;
  });
}

void check_same(const std::vector<Outcome>& a, const std::vector<Outcome>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t rank = 0; rank < a.size(); ++rank) {
    CAPTURE(rank);
    CHECK(a[rank].values == b[rank].values);
    CHECK(a[rank].values == a[0].values);
    CHECK(a[rank].gradients == b[rank].gradients);
    CHECK(a[rank].random == b[rank].random);
  }
}

TEST_CASE("static graphs on several ranks: replays are define-by-run, to the bit") {
  const distributed::MultiNodeOptimizerOptions small{.bucket_bytes = 512};
  const Setting settings[] = {
      {"plain"},
      {.name = "small buckets", .options = small},
      {.name = "overlap", .options = {.bucket_bytes = 512, .overlap = true}},
      {.name = "hooks",
       .prepare =
           [](Optimizer& optimizer) {
             optimizer.add_hook(optimizer_hooks::WeightDecay(0.01));
             optimizer.add_hook(optimizer_hooks::GradientClipping(0.5));
           },
       .options = small},
      {.name = "float16 wire", .options = small, .wire = Dtype::float16},
      {.name = "float16, float32 copies, loss scaling",
       .prepare =
           [](Optimizer& optimizer) {
             optimizer.use_fp32_update();
             optimizer.loss_scaling();
           },
       .options = small,
       .dtype = Dtype::float16},
  };
  for (const Setting& setting : settings) {
    CAPTURE(setting.name);
    for (const int ranks : {1, 2, 3}) {
      CAPTURE(ranks);
      const std::vector<Outcome> replayed = train(ranks, true, setting);
      check_same(replayed, train(ranks, false, setting));
      for (const Outcome& outcome : replayed) {
        CHECK(outcome.replays >= kSteps - 7);
        CHECK(outcome.replays == replayed[0].replays);
        const bool is_moved = outcome.summary.find("hoist_exchanges") != std::string::npos;
        if (setting.options.bucket_bytes) CHECK(is_moved == (ranks > 1));
      }
    }
  }
}

TEST_CASE("static graphs on several ranks: all replay, or none does") {
  const testing::QuietLog quiet;
  const std::vector<Outcome> plain = train(2, false, {"plain"});
  SUBCASE("a rank whose steps are not recorded") {
    std::shared_ptr<const void> observation;
    const std::vector<Outcome> outcomes = train(2, true, {"plain"}, [&](int step, Communicator& comm, Optimizer& of) {
      if (step == 5 && comm.rank() == 1) observation = of.observe_gradients([](std::span<Parameter* const>) {});
    });
    check_same(outcomes, plain);
    CHECK(outcomes[0].replays == outcomes[1].replays);
    CHECK(outcomes[0].replays < 5);
  }
  SUBCASE("a rank that must have the root's values again") {
    const auto spoil = [](int step, Communicator& comm, Optimizer& of) {
      if (step != 8 || comm.rank() != 1) return;
      for (Parameter* const parameter : of.target().params()) parameter->array().fill(0.5);
      detail::OptimizerAccess::exchange(of)->request_sharing();
    };
    const std::vector<Outcome> outcomes = train(2, true, {"plain"}, spoil);
    check_same(outcomes, train(2, false, {"plain"}, spoil));
    CHECK(outcomes[0].values != plain[0].values);
    CHECK(outcomes[0].replays == outcomes[1].replays);
    CHECK(outcomes[0].replays >= 4);
  }
  SUBCASE("the same two, in models whose forward computations exchange something") {
    const Setting setting{.name = "synchronized", .synchronizes = true};
    std::shared_ptr<const void> observation;
    const auto also = [&](int step, Communicator& comm, Optimizer& of) {
      if (step == 4 && comm.rank() == 1) observation = of.observe_gradients([](std::span<Parameter* const>) {});
      if (step == 7 && comm.rank() == 1) observation = nullptr;
      if (step == 9 && comm.rank() == 0) detail::OptimizerAccess::exchange(of)->request_sharing();
    };
    check_same(train(2, true, setting, also), train(2, false, setting));
  }
  SUBCASE("a hook that draws random numbers, the same on all ranks") {
    const Setting noise{"noise", [](Optimizer& of) { of.add_hook(optimizer_hooks::GradientNoise(0.01)); }};
    const std::vector<Outcome> outcomes = train(2, true, noise);
    check_same(outcomes, train(2, false, noise));
    CHECK(outcomes[0].replays == 0);
  }
}

TEST_CASE("static graphs on several ranks: a rank that fails ends the step of the others") {
  const testing::QuietLog quiet;
  CHECK_THROWS_WITH_AS(train(2, true, {"plain"},
                             [](int step, Communicator& comm, Optimizer&) {
                               if (step == 9 && comm.rank() == 1) throw std::runtime_error("no more data");
                             }),
                       "no more data", std::runtime_error);
}

}  // namespace
}  // namespace kusari::static_exchange_test
