#include "kusari/updaters/static_step.h"

#include <memory>

#include "kusari/framework/core/log.h"
#include "kusari/framework/static_graph/signature.h"
#include "kusari/optimizers/optimizer_access.h"

namespace kusari::updaters {

using detail::OptimizerAccess;

struct StaticStep::Call {
  const LossOf& loss_of;
  Optimizer& optimizer;

  static void step(void* object, std::span<const Variable> inputs) {
    const Call& call = *static_cast<Call*>(object);
    call.optimizer.update([&] { return call.loss_of(call.optimizer, inputs); });
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
  const auto update_alone = [&] { optimizer.update([&] { return loss(optimizer, inputs); }); };
  if (!obstacle_.empty() && settings_ == OptimizerAccess::settings(optimizer)) return update_alone();
  const graphs::StepGraph::Step step{&Call::step, &call, &optimizer.target(), calls_others_};
  const auto surroundings = [&] {
    const auto scope = OptimizerAccess::changing_forward_scope(optimizer);
    return graphs::Surroundings::now();
  }();
  if (whole_.replay(step, inputs, surroundings)) return;
  if (has_obstacle(optimizer)) return update_alone();
  whole_.run(step, inputs, surroundings);
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
