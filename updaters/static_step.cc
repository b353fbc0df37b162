#include "kusari/updaters/static_step.h"

#include <memory>

#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/static_graph/signature.h"
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

StaticStep::StaticStep(StaticGraphOptions options, LossOf loss_of, bool calls_others)
    : loss_of_{std::move(loss_of)},
      calls_others_{calls_others},
      whole_{named(std::move(options))},
      loss_{whole_.options(), typeid(StaticStep)} {}

bool StaticStep::has_obstacle(const Optimizer& optimizer) {
  std::string found = OptimizerAccess::obstacle(optimizer);
  settings_ = OptimizerAccess::settings(optimizer);
  if (!found.empty() && found != obstacle_) {
    log::warn("static_graph '" + whole_.name() + "': forward and backward are replayed, but " + optimizer.name() +
              "'s update runs define-by-run: " + found);
  }
  obstacle_ = std::move(found);
  return !obstacle_.empty();
}

void StaticStep::update(Optimizer& optimizer, std::span<const Variable> inputs) {
  Call call{loss_of_, optimizer};
  if (!loss_.is_on()) return Call::step(&call, inputs);
  const std::span<Variable* const> states = states_.of(&optimizer.target());
  const auto update_alone = [&] { optimizer.update([&] { return loss(optimizer, inputs); }); };
  if (!obstacle_.empty() && settings_ == OptimizerAccess::settings(optimizer)) return update_alone();
  call.states = states;
  const graphs::StepGraph::Step step{&Call::step, &call, &optimizer.target(), calls_others_, !states.empty()};
  const Variables with_states = graphs::with_states(inputs, states);
  const std::span<const Variable> all(with_states.data(), with_states.size());
  const auto surroundings = [&] {
    const auto scope = OptimizerAccess::changing_forward_scope(optimizer);
    return graphs::Surroundings::now();
  }();
  const bool exchanges = OptimizerAccess::exchanges(optimizer);
  const int stage = exchanges ? whole_.stage(step, all, surroundings) : 0;
  if (!exchanges && whole_.replay(step, all, surroundings)) return;
  if (stage == 0 && has_obstacle(optimizer)) return update_alone();
  if (!exchanges) return whole_.run(step, all, surroundings);
  if (OptimizerAccess::needs_plain_step(optimizer)) return Call::step(&call, all);
  using Agreed = GradientExchange::StaticStep;
  const Agreed agreed = OptimizerAccess::begin_static_step(optimizer, stage);
  if (agreed == Agreed::replayed) {
    const auto scope = OptimizerAccess::rank_scope(optimizer);
    whole_.replay(step, all, surroundings);
  } else if (agreed == Agreed::recorded && stage == 0) {
    whole_.run(step, all, surroundings);
  } else {
    if (agreed == Agreed::forgotten) whole_.clear();
    Call::step(&call, all);
  }
}

Variable StaticStep::loss(Optimizer& optimizer, std::span<const Variable> inputs) {
  if (!loss_.is_on()) return loss_of_(optimizer, inputs);
  Call call{loss_of_, optimizer};
  Link* const model = calls_others_ ? nullptr : &optimizer.target();
  return loss_.call({&Call::loss, &call, model}, inputs)[0];
}

void StaticStep::clear() noexcept {
  whole_.clear();
  loss_.clear();
}

std::string StaticStep::summary() const {
  return obstacle_.empty() && whole_.replays() > 0 ? whole_.summary() : whole_.summary() + loss_.summary();
}

}  // namespace kusari::updaters
