#include "kusari/updaters/static_step.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/amp/auto_mixed_precision.h"
#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/decoupled_adamw.h"
#include "kusari/optimizers/lamb.h"
#include "kusari/optimizers/lars.h"
#include "kusari/optimizers/lion.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/optimizers/nadam.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/optimizers/radam.h"
#include "kusari/optimizers/rmsprop.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/install/user_optimizers.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

using namespace kusari;
using datasets::TupleDataset;
using iterators::SerialIterator;
using testing::QuietLog;
using updaters::StandardUpdater;
using updaters::StandardUpdaterOptions;

namespace {

constexpr int64_t kInputs = 5, kHidden = 7, kClasses = 3;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
using OptimizerPtr = std::unique_ptr<Optimizer>;

class StepNet : public Chain {
 public:
  explicit StepNet(bool is_plain)
      : l1{*this, "l1", kInputs, kHidden},
        bn{*this, "bn", kHidden},
        l2{*this, "l2", kHidden, kClasses},
        is_plain_{is_plain} {}
  Variable operator()(const Variable& x) {
    if (is_plain_) return l2(functions::relu(l1(x)));
    return l2(functions::dropout(functions::relu(bn(l1(x))), 0.3));
  }

  Child<L::Linear> l1;
  Child<L::BatchNormalization> bn;
  Child<L::Linear> l2;

 private:
  bool is_plain_;
};

using StepModel = L::Classifier<StepNet>;

TupleDataset step_examples(int n, Dtype dtype, int infinite = -1) {
  std::vector<float> x(static_cast<size_t>(kInputs * n));
  std::vector<int32_t> t(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::cos(0.3f * static_cast<float>(i * i % 97));
  for (size_t i = 0; i < t.size(); ++i) t[i] = static_cast<int32_t>(i * 7 % kClasses);
  if (infinite >= 0) x[static_cast<size_t>(infinite * kInputs)] = kInfinity;
  return TupleDataset(array(x, {n, kInputs}).astype(dtype), array(t));
}

using Bits = std::vector<uint64_t>;

void append(Bits& bits, const Array& array) {
  if (!array.is_defined()) return bits.push_back(1);
  for (const double v : array.to_vector<double>()) bits.push_back(std::bit_cast<uint64_t>(v));
}

/// Whatever a step may change.
Bits state_of(StepModel& model, Optimizer& optimizer, const Observation& observation) {
  Bits bits;
  for (Parameter* parameter : model.params()) {
    append(bits, parameter->array());
    append(bits, parameter->grad());
    append(bits, parameter->device_loss_scale());
    bits.push_back(std::bit_cast<uint64_t>(parameter->loss_scale()));
    for (const char* const state : {"m", "v", "vhat", "ms", "row", "column", "fp32_param"}) {
      append(bits, parameter->update_rule().state(state));
    }
    bits.push_back(static_cast<uint64_t>(parameter->update_rule().t()));
  }
  append(bits, model.predictor.bn.avg_mean);
  append(bits, model.predictor.bn.avg_var);
  append(bits, model.loss.array());
  append(bits, model.accuracy.array());
  append(bits, model.y.array());
  for (const auto& [key, value] : observation) {
    for (const char c : key) bits.push_back(static_cast<uint64_t>(c));
    bits.push_back(std::bit_cast<uint64_t>(value.value()));
  }
  bits.push_back(std::bit_cast<uint64_t>(optimizer.loss_scale()));
  bits.push_back(static_cast<uint64_t>(optimizer.t()));
  bits.push_back(static_cast<uint64_t>(optimizer.skipped_steps()));
  bits.push_back(optimizer.is_safe_to_update());
  bits.push_back(random::state().offset);
  return bits;
}

struct StepCase {
  const char* text;
  std::function<OptimizerPtr()> make = [] { return std::make_unique<optimizers::MomentumSGD>(0.1); };
  std::function<void(Optimizer&, StepModel&)> prepare = [](Optimizer&, StepModel&) {};
  /// Before step number `step`.
  std::function<void(Optimizer&, StepModel&, int step)> meanwhile = [](Optimizer&, StepModel&, int) {};
  StandardUpdaterOptions options = {};
  Dtype dtype = Dtype::float32;
  DtypePolicy policy = Dtype::float32;
  bool is_plain_net = false;
  bool has_overflow = false;
  int replays = 18;  // of 20 steps, at least: two kinds of batches
};

struct StepRun {
  std::vector<Bits> states;
  int64_t replays = 0;
};

StepRun train_steps(const StepCase& c, bool is_static, const StaticGraphPasses& passes) {
  random::seed(7);
  const auto policy = using_config(&Config::dtype, c.policy);
  StepModel model{StepNet(c.is_plain_net)};
  const OptimizerPtr optimizer = c.make();
  optimizer->setup(model);
  c.prepare(*optimizer, model);
  SerialIterator iterator(step_examples(20, c.dtype, c.has_overflow ? 9 : -1), 6, {.repeat = false, .shuffle = false});
  StandardUpdaterOptions options = c.options;
  if (is_static) options.static_graph = StaticGraphOptions{.passes = passes};
  StandardUpdater updater(iterator, *optimizer, options);
  Reporter reporter;
  reporter.add_observer("main", model);
  StepRun run;
  for (int step = 0; step < 20; ++step) {
    if (step % (4 / c.options.accumulate) == 0) iterator.reset();  // the last batch is short
    c.meanwhile(*optimizer, model, step);
    Observation observation;
    {
      const auto scope = reporter.scope(observation);
      updater.update();
    }
    run.states.push_back(state_of(model, *optimizer, observation));
  }
  if (is_static) run.replays = updater.static_step()->replays();
  return run;
}

void check_same_steps(const StepCase& c) {
  CAPTURE(c.text);
  const StepRun expected = train_steps(c, false, {});
  for (const StaticGraphPasses& passes : {StaticGraphPasses::none(), StaticGraphPasses()}) {
    CAPTURE(passes.fuse_pointwise);
    const StepRun replayed = train_steps(c, true, passes);
    CHECK(replayed.replays >= c.replays);
    for (size_t step = 0; step < expected.states.size(); ++step) {
      CAPTURE(step);
      REQUIRE(replayed.states[step].size() == expected.states[step].size());
      for (size_t i = 0; i < expected.states[step].size(); ++i) {
        CAPTURE(i);
        const uint64_t bits = replayed.states[step][i], wanted = expected.states[step][i];
        const double got = std::bit_cast<double>(bits), right = std::bit_cast<double>(wanted);
        const bool is_same = bits == wanted || (std::isnan(got) && std::isnan(right));
        if (!is_same && passes.fuse_pointwise) REQUIRE(got == doctest::Approx(right));
        if (!passes.fuse_pointwise) REQUIRE(is_same);
      }
    }
  }
}

/// A hook that is nothing but kernels.
struct Halve {
  static constexpr const char* kName = "Halve";
  static constexpr bool kReplays = true;
  void operator()(Parameter& p) const { p.grad().copy_from((Variable(p.grad(), false) * 0.5).array()); }
};

}  // namespace

TEST_CASE("replayed steps are those of define-by-run, whatever the optimizer") {
  using optimizers::AdamOptions;
  const std::pair<const char*, std::function<OptimizerPtr()>> optimizers[] = {
      {"SGD", [] { return std::make_unique<optimizers::SGD>(0.1); }},
      {"MomentumSGD", [] { return std::make_unique<optimizers::MomentumSGD>(0.1); }},
      {"Adam", [] { return std::make_unique<optimizers::Adam>(AdamOptions{.alpha = 0.01}); }},
      {"AMSGrad", [] { return std::make_unique<optimizers::Adam>(AdamOptions{.alpha = 0.01, .amsgrad = true}); }},
      {"AdaBound", [] { return std::make_unique<optimizers::AdaBound>(AdamOptions{.alpha = 0.01}); }},
      {"RMSprop", [] { return std::make_unique<optimizers::RMSprop>(); }},
      {"DecoupledAdamW", [] { return std::make_unique<optimizers::DecoupledAdamW>(); }},
      {"LAMB", [] { return std::make_unique<optimizers::LAMB>(); }},
      {"Lion", [] { return std::make_unique<optimizers::Lion>(0.01); }},
      {"RAdam", [] { return std::make_unique<optimizers::RAdam>(0.01); }},
      {"NAdam", [] { return std::make_unique<optimizers::NAdam>(0.01); }},
      {"Lion, a user's", [] { return std::make_unique<user::Lion>(); }},
      {"Adafactor, a user's", [] { return std::make_unique<user::Adafactor>(); }},
      {"LARS", [] { return std::make_unique<optimizers::LARS>(); }},
  };
  for (const auto& [text, make] : optimizers) check_same_steps({.text = text, .make = make});
}

TEST_CASE("replayed steps follow loss scaling, and skip what overflows") {
  const QuietLog quiet;
  const std::pair<const char*, LossScalingOptions> scalings[] = {
      {"dynamic", {.interval = 2}},
      {"stepwise", {.interval = 2, .growth = LossScaleGrowth::stepwise, .initial_scale = 256}},
      {"fixed", {.scale = 64}},
  };
  const auto adam = [] { return std::make_unique<optimizers::Adam>(optimizers::AdamOptions{.alpha = 0.01}); };
  for (const auto& [text, scaling] : scalings) {
    for (const bool has_hooks : {false, true}) {
      CAPTURE(has_hooks);
      const auto prepare = [&](Optimizer& optimizer, StepModel&) {
        optimizer.use_fp32_update();
        if (!has_hooks) return;
        optimizer.add_hook(optimizer_hooks::WeightDecay(0.01));
        optimizer.add_hook(optimizer_hooks::GradientClipping(0.5));
      };
      check_same_steps({.text = text,
                        .make = adam,
                        .prepare = prepare,
                        .options = {.loss_scaling = scaling},
                        .dtype = Dtype::float16,
                        .policy = mixed16,
                        .is_plain_net = true,
                        .has_overflow = true});
      check_same_steps({.text = text, .make = adam, .prepare = prepare, .options = {.loss_scaling = scaling}});
      check_same_steps({.text = text,
                        .make = [] { return std::make_unique<user::Adafactor>(); },
                        .prepare = prepare,
                        .options = {.loss_scaling = scaling},
                        .dtype = Dtype::float16,
                        .policy = mixed16,
                        .is_plain_net = true,
                        .has_overflow = true});
    }
  }
}

TEST_CASE("replayed steps follow hooks") {
  const auto prepare = [](Optimizer& optimizer, StepModel& model) {
    optimizer.add_hook(optimizer_hooks::WeightDecay(0.01));
    optimizer.add_hook(optimizer_hooks::GradientClipping(0.5));
    optimizer.add_hook(optimizer_hooks::Lasso(0.001));
    optimizer.add_hook(optimizer_hooks::GradientNoise(0.01));
    optimizer.add_hook(optimizer_hooks::GradientHardClipping(-0.1, 0.1), "last");
    optimizer.add_hook(optimizer_hooks::GradientLARS(), "after", HookTiming::post);
    model.predictor.l1.W.update_rule().add_hook(optimizer_hooks::GradientNoise(0.02));
    model.predictor.l2.b.update_rule().add_hook(optimizer_hooks::WeightDecay(0.1));
  };
  check_same_steps({.text = "all", .prepare = prepare});
  // The clock of the noise is the device's.
  check_same_steps(
      {.text = "all, loss scaling", .prepare = prepare, .options = {.loss_scaling = LossScalingOptions{}}});
}

TEST_CASE("replayed steps follow what happens between them") {
  using optimizers::Adam;
  const auto adam = [] { return std::make_unique<Adam>(optimizers::AdamOptions{.alpha = 0.01}); };
  SUBCASE("schedules and numbers of one parameter") {
    const auto prepare = [](Optimizer&, StepModel& model) {
      model.predictor.l1.W.update_rule().hyperparam().alpha = 0.02;
    };
    check_same_steps(
        {.text = "alpha", .make = adam, .prepare = prepare, .meanwhile = [](Optimizer& o, StepModel& m, int step) {
           o.hyperparameter("alpha") = 0.01 / (1 + step);
           if (step == 7) m.predictor.l1.W.update_rule().hyperparam().alpha = 0.05;
         }});
  }
  SUBCASE("numbers written to parameters, also to 16-bit ones with masters") {
    const auto write = [](Optimizer&, StepModel& m, int step) {
      if (step % 5 == 3) m.predictor.l2.W.array().fill(0.125);
    };
    const auto prepare = [](Optimizer& o, StepModel&) { o.use_fp32_update(); };
    check_same_steps({.text = "float32", .make = adam, .meanwhile = write});
    check_same_steps({.text = "float16",
                      .make = adam,
                      .prepare = prepare,
                      .meanwhile = write,
                      .dtype = Dtype::float16,
                      .policy = mixed16,
                      .is_plain_net = true});
  }
  SUBCASE("parameters that are frozen for a while, and get other arrays") {
    check_same_steps({.text = "frozen",
                      .make = adam,
                      .meanwhile =
                          [](Optimizer&, StepModel& m, int step) {
                            if (step == 8) m.predictor.l1.disable_update();
                            if (step == 12) m.predictor.l1.enable_update();
                            if (step == 15) m.predictor.l2.b.set_array(m.predictor.l2.b.array().copy());
                          },
                      .replays = 8});
  }
  SUBCASE("another choice of kernels, hooks that come and go") {
    check_same_steps({.text = "amsgrad",
                      .make = adam,
                      .meanwhile =
                          [](Optimizer& o, StepModel&, int step) {
                            if (step == 5) dynamic_cast<Adam&>(o).amsgrad = true;
                            if (step == 9) dynamic_cast<Adam&>(o).adabound = true;
                            if (step == 12) o.add_hook(optimizer_hooks::WeightDecay(0.1));
                            if (step == 16) o.remove_hook("WeightDecay");
                          },
                      .replays = 3});
  }
  SUBCASE("gradients that are read, kept, cleared and changed") {
    std::vector<Array> kept;
    const auto meddle = [&](Optimizer&, StepModel& m, int step) {
      Parameter& W = m.predictor.l1.W;
      if (step == 9) kept.push_back(W.grad());
      if (step == 10) W.cleargrad();
      if (step == 11) W.set_grad(W.array().copy());
      if (step == 12) kept.push_back(W.grad().transpose());
      if (step == 13) W.grad().fill(7);
      if (step == 14) m.cleargrads();
    };
    check_same_steps({.text = "gradients", .make = adam, .meanwhile = meddle});
  }
  SUBCASE("a plain step") {
    check_same_steps({.text = "plain", .make = adam, .meanwhile = [](Optimizer& o, StepModel& m, int step) {
                        if (step % 6 != 5) return;
                        const TupleDataset more = step_examples(4, Dtype::float32);
                        o.update(m, Variable(array<float>(std::vector<float>(4 * kInputs, 0.5f), {4, kInputs}), false),
                                 Variable(array<int32_t>({0, 1, 2, 0}), false));
                      }});
  }
}

TEST_CASE("mixed precision by autocast is replayed") {
  const QuietLog quiet;
  const auto adam = [] { return std::make_unique<optimizers::Adam>(optimizers::AdamOptions{.alpha = 0.01}); };
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    CAPTURE(name(dtype));
    check_same_steps({.text = "one line", .make = adam, .prepare = [&](Optimizer& o, StepModel&) {
                        amp::auto_mixed_precision(o, {.dtype = dtype});
                      }});
  }
  const amp::Autocast region;
  check_same_steps({.text = "a region around", .make = adam});
}

TEST_CASE("a resumed run goes on as the run would have, replayed or not") {
  const testing::ScratchDirectory scratch;
  const auto run = [&](bool is_static, bool is_interrupted) {
    random::seed(3);
    std::vector<Bits> states;
    std::unique_ptr<StepModel> model;
    std::unique_ptr<optimizers::Adam> optimizer;
    std::unique_ptr<StandardUpdater> updater;
    const auto start = [&] {
      model = std::make_unique<StepModel>(StepNet(false));
      optimizer = std::make_unique<optimizers::Adam>();
      optimizer->setup(*model);
      optimizer->loss_scaling();
      updater = std::make_unique<StandardUpdater>(SerialIterator(step_examples(20, Dtype::float32), 6), *optimizer,
                                                  StandardUpdaterOptions{.static_graph = is_static});
    };
    start();
    for (int step = 0; step < 12; ++step) {
      if (is_interrupted && step == 6) {
        serializers::save_npz(scratch / "updater.npz", *updater);
        const RandomState state = random::state();
        start();
        for (int i = 0; i < 4; ++i) updater->update();  // what is read replaces all
        serializers::load_npz(scratch / "updater.npz", *updater);
        random::set_state(state);
      }
      updater->update();
      states.push_back(state_of(*model, *optimizer, {}));
    }
    return states;
  };
  const std::vector<Bits> expected = run(false, false);
  CHECK(run(true, false) == expected);
  CHECK(run(true, true) == expected);
}

TEST_CASE("what the update does on the host leaves forward and backward replayed") {
  const QuietLog quiet;
  SUBCASE("a hook of one's own") {
    check_same_steps(
        {.text = "hook",
         .prepare = [](Optimizer& o,
                       StepModel&) { o.add_hook([](Parameter& p) { p.set_grad(p.grad().copy()); }, "own"); },
         .replays = 0});
  }
  SUBCASE("a hook of one parameter that comes later") {
    check_same_steps({.text = "late hook",
                      .meanwhile =
                          [](Optimizer&, StepModel& m, int step) {
                            if (step != 10) return;
                            m.predictor.l1.W.update_rule().add_hook([](Parameter& p) { p.grad().fill(1); }, "own");
                          },
                      .replays = 5});
  }
  SUBCASE("loss scaling as in Chainer") {
    check_same_steps({.text = "chainer",
                      .options = {.loss_scaling = LossScalingOptions{.chainer_compatible = true, .initial_scale = 8}},
                      .replays = 0});
  }
  SUBCASE("an observer of gradients") {
    std::shared_ptr<const void> observer;
    int calls = 0;
    check_same_steps(
        {.text = "observer",
         .prepare = [&](Optimizer& o,
                        StepModel&) { observer = o.observe_gradients([&](std::span<Parameter* const>) { ++calls; }); },
         .replays = 0});
    CHECK(calls == 60);
  }
  SUBCASE("accumulated batches") {
    check_same_steps({.text = "accumulate", .options = {.accumulate = 2}, .replays = 0});
  }
}

TEST_CASE("hooks that say so are replayed") {
  check_same_steps({.text = "own", .prepare = [](Optimizer& o, StepModel&) { o.add_hook(Halve{}); }});
}

TEST_CASE("gradients that somebody kept are stale after the next replay") {
  StepModel model{StepNet(false)};
  optimizers::SGD optimizer(0.1);
  optimizer.setup(model);
  StandardUpdater updater(SerialIterator(step_examples(20, Dtype::float32), 4), optimizer, {.static_graph = true});
  for (int i = 0; i < 4; ++i) updater.update();
  const Array kept = model.predictor.l1.W.grad();
  const void* const place = model.predictor.l1.b.grad().raw_data();
  CHECK_NOTHROW(kept.to_vector<float>());
  updater.update();
  CHECK_THROWS_AS(kept.to_vector<float>(), StateError);
  CHECK_NOTHROW(model.predictor.l1.W.grad().to_vector<float>());
  CHECK(model.predictor.l1.b.grad().raw_data() == place);
  CHECK(updater.static_step()->summary().find("momentum") == std::string::npos);
  CHECK(updater.static_step()->summary().find("sgd_step") != std::string::npos);
}

TEST_CASE("steps that cannot be replayed are refused, or run as they are") {
  const QuietLog quiet;
  StepModel model{StepNet(false)};
  optimizers::SGD optimizer(0.1);
  optimizer.setup(model);
  SerialIterator iterator(step_examples(20, Dtype::float32), 4);
  int calls = 0;
  const auto reading = [&](const Variable& x, const Variable& t) {
    ++calls;
    const Variable loss = model(x, t);
    return loss.item<double>() > 1e6 ? loss * 0 : loss;
  };
  SUBCASE("the error names the call") {
    StandardUpdater updater(iterator, optimizer, {.loss_func = reading, .static_graph = true});
    std::string message;
    try {
      updater.update();
    } catch (const StateError& error) {
      message = error.what();
    }
    CHECK(message.find("Array::item") != std::string::npos);
    CHECK(message.find("StandardUpdater") != std::string::npos);
  }
  SUBCASE("fallback") {
    StandardUpdater updater(iterator, optimizer,
                            {.loss_func = reading, .static_graph = StaticGraphOptions{.fallback = true}});
    for (int i = 0; i < 5; ++i) updater.update();
    CHECK(calls == 5);
    CHECK(optimizer.t() == 5);
  }
  SUBCASE("an exception in a recorded step") {
    const auto failing = [&](const Variable& x, const Variable& t) {
      const Variable loss = model(x, t);
      if (++calls == 1) throw ValueError("once");
      return loss;
    };
    StandardUpdater updater(iterator, optimizer, {.loss_func = failing, .static_graph = true});
    CHECK_THROWS_AS(updater.update(), ValueError);
    for (int i = 0; i < 6; ++i) updater.update();
    CHECK(updater.static_step()->replays() >= 3);
    CHECK(optimizer.t() == 6);
  }
  SUBCASE("variables outside of the model get gradients") {
    Parameter outside(array<float>({2}));
    outside.cleargrad();
    StandardUpdater updater(
        iterator, optimizer,
        {.loss_func = [&](const Variable& x, const Variable& t) { return model(x, t) * functions::sum(outside); },
         .static_graph = true});
    float sum = 0;
    for (int i = 0; i < 5; ++i) {
      updater.update();
      sum += model.loss.item<float>();
      CHECK(outside.grad().item<float>() == doctest::Approx(sum));
    }
    CHECK(updater.static_step()->replays() == 0);
  }
  SUBCASE("switched off") {
    const auto off = using_config(&Config::use_static_graph, false);
    StandardUpdater updater(iterator, optimizer, {.loss_func = reading, .static_graph = true});
    for (int i = 0; i < 3; ++i) updater.update();
    CHECK(calls == 3);
  }
}

TEST_CASE("state that a loss function keeps between steps is found out") {
  const QuietLog quiet;
  std::vector<std::vector<float>> results;
  for (const bool is_static : {false, true}) {
    random::seed(5);
    StepModel model{StepNet(true)};
    optimizers::SGD optimizer(0.1);
    optimizer.setup(model);
    Array last;
    const auto with_state = [&](const Variable& x, const Variable& t) {
      const Variable y = model.predictor(x);
      const Variable before(last.is_defined() ? last : y.array(), false);
      last = y.array();
      return functions::mean_squared_error(y, before) + model(x, t);
    };
    StandardUpdater updater(
        SerialIterator(step_examples(20, Dtype::float32), 4, {.shuffle = false}), optimizer,
        {.loss_func = with_state,
         .static_graph = is_static ? updaters::StaticGraphOption(StaticGraphOptions{.fallback = true}) : false});
    for (int i = 0; i < 5; ++i) updater.update();
    if (is_static) CHECK(updater.static_step()->replays() == 0);
    results.push_back(model.predictor.l1.W.to_vector<float>());
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("optimizers take static graphs as their loss functions") {
  const auto run = [](bool is_static) {
    random::seed(5);
    StepModel model{StepNet(false)};
    optimizers::Adam optimizer({.alpha = 0.01});
    optimizer.setup(model);
    optimizer.add_hook(optimizer_hooks::WeightDecay(0.01));
    optimizer.loss_scaling({.interval = 2});
    auto fast = static_graph(model, {.passes = StaticGraphPasses::none()});
    std::vector<Bits> states;
    for (int step = 0; step < 8; ++step) {
      const Variable x(full({4, kInputs}, 0.1 * step, Dtype::float32), false);
      const Variable t(array<int32_t>({0, 1, 2, 0}), false);
      if (is_static) {
        optimizer.update(fast, x, t);
      } else {
        optimizer.update(model, x, t);
      }
      states.push_back(state_of(model, optimizer, {}));
    }
    return states;
  };
  CHECK(run(true) == run(false));
}
