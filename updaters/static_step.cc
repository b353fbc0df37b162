#include "kusari/updaters/static_step.h"

#include <memory>

#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/static_graph/carried_states.h"
#include "kusari/framework/static_graph/signature.h"
#include "kusari/framework/static_graph/step_graph.h"
#include "kusari/optimizers/optimizer_access.h"

namespace kusari::updaters {

using detail::OptimizerAccess;

struct StaticStep::Call {
  const LossOf& loss_of;
  Optimizer& optimizer;
  std::span<Variable* const> states = {};  // behind the inputs of a step

  static void step(void* object, std::span<const Variable> inputs) {
    const Call& call = *static_cast<Call*>(object);
    const size_t given = inputs.size() - call.states.size();
    graphs::ScopedStates scope(call.states, inputs.subspan(given));
    call.optimizer.update([&] { return call.loss_of(call.optimizer, inputs.first(given)); });
    scope.keep();
    GraphCapture* const capture = GraphCapture::current();
    for (Variable* const state : call.states) {
      if (capture == nullptr) break;
      if (state->is_defined()) {
        capture->kept(*state);
      } else {
        capture->on_replay(GraphCapture::When::after, [state] { *state = Variable(); });
      }
    }
  }
  static Variables loss(void* object, std::span<const Variable> inputs) {
    const Call& call = *static_cast<Call*>(object);
    return Variables(call.loss_of(call.optimizer, inputs));
  }
};

namespace {

StaticGraphOptions named(StaticGraphOptions options) {
  if (options.name.empty()) options.name = "StandardUpdater";
  return options;
}

}  // namespace

struct StaticStep::Impl {
  Impl(StaticGraphOptions options, LossOf loss, bool others)
      : loss_of{std::move(loss)},
        calls_others{others},
        whole{named(std::move(options))},
        cache{whole.options(), typeid(StaticStep)} {}

  /// Whether whole steps of the optimizer, as it is now, cannot be recorded; says so.
  bool has_obstacle(const Optimizer& optimizer) {
    std::string found = OptimizerAccess::obstacle(optimizer);
    settings = OptimizerAccess::settings(optimizer);
    if (!found.empty() && found != obstacle) {
      log::warn("static_graph '" + whole.name() + "': forward and backward are replayed, but " + optimizer.name() +
                "'s update runs define-by-run: " + found);
    }
    obstacle = std::move(found);
    return !obstacle.empty();
  }

  LossOf loss_of;
  bool calls_others;
  graphs::StepGraph whole;
  graphs::CarriedStates states;
  kusari::detail::StaticGraphCache cache;  // of the loss
  std::string obstacle;                    // why whole steps of an optimizer are not recorded
  uint64_t settings = 0;                   // of the optimizer then
};

StaticStep::StaticStep(StaticGraphOptions options, LossOf loss_of, bool calls_others)
    : impl_{new Impl(std::move(options), std::move(loss_of), calls_others)} {}
StaticStep::~StaticStep() = default;

void StaticStep::update(Optimizer& optimizer, std::span<const Variable> inputs) {
  Impl& my = *impl_;
  Call call{my.loss_of, optimizer};
  if (!my.cache.is_on()) return Call::step(&call, inputs);
  const std::span<Variable* const> states = my.states.of(&optimizer.target());
  const auto update_alone = [&] { optimizer.update([&] { return loss(optimizer, inputs); }); };
  const bool exchanges = OptimizerAccess::exchanges(optimizer);
  if (!my.obstacle.empty() && my.settings == OptimizerAccess::settings(optimizer)) {
    if (exchanges) OptimizerAccess::begin_static_step(optimizer, 0);  // for ranks that have no obstacle
    return update_alone();
  }
  call.states = states;
  const graphs::StepGraph::Step step{&Call::step, &call, &optimizer.target(), my.calls_others, !states.empty()};
  const Variables with_states = graphs::with_states(inputs, states);
  const std::span<const Variable> all(with_states.data(), with_states.size());
  const auto surroundings = [&] {
    const auto scope = OptimizerAccess::changing_forward_scope(optimizer);
    return graphs::Surroundings::now();
  }();
  const auto replay = [&] {
    graphs::ScopedStates scope(states, all.subspan(inputs.size()));
    const bool is_done = my.whole.replay(step, all, surroundings);
    scope.keep();
    return is_done;
  };
  const int stage = exchanges ? my.whole.stage(step, all, surroundings) : 0;
  if (!exchanges && replay()) return;
  if (stage == 0 && my.has_obstacle(optimizer)) {
    if (exchanges) OptimizerAccess::begin_static_step(optimizer, 0);
    return update_alone();
  }
  if (!exchanges) return my.whole.run(step, all, surroundings);
  const bool is_new = OptimizerAccess::has_new_settings(optimizer);
  using Agreed = GradientExchange::StaticStep;
  const Agreed agreed = OptimizerAccess::begin_static_step(optimizer, stage);
  if (agreed == Agreed::replayed) {
    const auto scope = OptimizerAccess::rank_scope(optimizer);
    replay();
  } else if (agreed == Agreed::recorded && stage == 0 && !is_new) {
    my.whole.run(step, all, surroundings);
  } else {
    if (agreed == Agreed::forgotten) my.whole.clear();
    Call::step(&call, all);
  }
}

Variable StaticStep::loss(Optimizer& optimizer, std::span<const Variable> inputs) {
  Impl& my = *impl_;
  if (!my.cache.is_on()) return my.loss_of(optimizer, inputs);
  Call call{my.loss_of, optimizer};
  Link* const model = my.calls_others ? nullptr : &optimizer.target();
  return my.cache.call({&Call::loss, &call, model}, inputs)[0];
}

void StaticStep::clear() noexcept {
  impl_->whole.clear();
  impl_->cache.clear();
}

std::string StaticStep::summary() const {
  const std::string whole = impl_->whole.summary();
  return impl_->obstacle.empty() && replays() > 0 ? whole : whole + impl_->cache.summary();
}

int64_t StaticStep::replays() const noexcept { return impl_->whole.replays(); }

}  // namespace kusari::updaters
