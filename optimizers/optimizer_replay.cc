#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/graph_capture.h"
#include "kusari/optimizers/optimizer_impl.h"

// What a static graph that records a step learns from the optimizer: what a replay does on the host beside the kernels,
// and what must be as it was for the kernels to be the right ones.
namespace kusari {

using detail::KernelRule;
using detail::WrittenState;

namespace {

/// The elements that a recorded kernel was given, whoever holds them.
struct Elements {
  uint64_t storage = 0;  // 0: undefined
  const void* data = nullptr;

  static Elements of(const Array& array) noexcept {
    return array.is_defined() ? Elements{array.storage().id, array.raw_data()} : Elements();
  }
  friend bool operator==(const Elements&, const Elements&) = default;
};

}  // namespace

struct Optimizer::StepRecord {
  struct Member {
    Parameter* parameter;
    const detail::VariableNode* node;
    const UpdateRule* rule;
    KernelRule* own_rule;  // null: somebody else's parameter
    bool is_initialized, is_updated;
    Elements array;
    std::vector<Elements> states = {};
    const Parameter* master = nullptr;
    Elements master_array = {};
    const Hyperparameters* overrides = nullptr;
    uint64_t hooks = 0;
    const LossScale* source = nullptr;
    size_t group = 0;  // of those that are updated
  };
  struct Launch {
    std::shared_ptr<GroupNumbers> numbers;
    Device device;
    const Hyperparameters* overrides;
    const detail::StepClock* clock;  // of the first member
    bool is_counted_on_device;
    double host_scale;
    Elements numbers_array, schedule_array, host_scale_array;
  };

  Impl* impl;
  std::weak_ptr<const uint64_t> owner;  // gone: the optimizer has been assigned to
  const Link* link;
  uint64_t structure_version, settings;
  size_t states;
  int kernel_choice;
  std::vector<Member> members;
  std::vector<Launch> launches = {};
  std::shared_ptr<LossScale> last = {};
  kernels::LossScaleRule scale_rule = {};
  Array seed = {};  // of a fixed loss scale: held, so that it stays the recorded one

  bool is_under_way = false;  // a replay has counted its attempt, and has not come to its end

  ~StepRecord();
  bool holds();
  void count_attempts();
  void write_numbers();
  void end();

 private:
  bool is_same_target() const;
  static bool is_unchanged(const Member& member);
};

bool Optimizer::StepRecord::is_same_target() const {
  const Optimizer& self = *impl->self;
  Link* const now = self.home_ ? self.home_->find() : nullptr;
  if (now == nullptr || now != link) return false;
  const std::vector<Parameter*> parameters = now->params();
  if (parameters.size() != members.size()) return false;
  for (size_t i = 0; i < members.size(); ++i) {
    const UpdateRule* const rule = parameters[i]->has_update_rule() ? &parameters[i]->update_rule() : nullptr;
    if (parameters[i] != members[i].parameter || rule != members[i].rule) return false;
    if (impl->own_rule(*parameters[i]) != members[i].own_rule) return false;  // another rule at the same address
  }
  return true;
}

bool Optimizer::StepRecord::is_unchanged(const Member& member) {
  const Parameter& parameter = *member.parameter;
  if (parameter.node() != member.node || Elements::of(parameter.array()) != member.array) return false;
  if (member.own_rule == nullptr) return true;
  const KernelRule& rule = *member.own_rule;
  if ((rule.enabled && member.is_initialized) != member.is_updated || rule.overrides.get() != member.overrides ||
      rule.hooks.version() != member.hooks || rule.clock.source().get() != member.source ||
      rule.master.get() != member.master || rule.states.size() != member.states.size()) {
    return false;
  }
  for (size_t k = 0; k < member.states.size(); ++k) {
    if (Elements::of(rule.states[k]) != member.states[k]) return false;
  }
  return member.master == nullptr || Elements::of(member.master->array()) == member.master_array;
}

bool Optimizer::StepRecord::holds() {
  if (owner.expired()) return false;
  const Optimizer& self = *impl->self;
  if (impl->settings != settings || self.kernel_choice() != kernel_choice || self.state_names().size() != states) {
    return false;
  }
  if (const uint64_t version = detail::structure_version(); version != structure_version) {
    if (!is_same_target()) return false;
    structure_version = version;
  }
  if (last != nullptr) {
    const kernels::LossScaleRule& rule = last->rule();
    if (impl->clock.source() != last || std::memcmp(&rule, &scale_rule, sizeof rule) != 0) return false;
  }
  for (const Member& member : members) {
    if (!is_unchanged(member)) return false;
    if (member.is_updated && member.own_rule->clock.t_and_skipped() != launches[member.group].clock->t_and_skipped()) {
      return false;
    }
  }
  for (const Launch& launch : launches) {
    const GroupNumbers& numbers = *launch.numbers;
    if (Elements::of(numbers.numbers.array) != launch.numbers_array ||
        Elements::of(numbers.schedule.array) != launch.schedule_array ||
        Elements::of(numbers.host_scale.array) != launch.host_scale_array) {
      return false;
    }
  }
  return true;
}

// A replay that failed, as code among its kernels may, is no step; the recording goes with it.
Optimizer::StepRecord::~StepRecord() {
  if (!is_under_way || !holds()) return;
  impl->clock.take_back_attempt();
  for (const Member& member : members) {
    if (member.is_updated) member.own_rule->clock.take_back_attempt();
  }
}

// As at the beginning of a step, before the kernels.
void Optimizer::StepRecord::count_attempts() {
  is_under_way = true;
  if (impl->last != last) impl->last = last;
  impl->clock.count_attempt();
  for (const Member& member : members) {
    if (!member.is_updated) continue;
    KernelRule& rule = *member.own_rule;
    rule.clock.count_attempt();
    if (member.master != nullptr && rule.rounded && *rule.rounded != WrittenState::of(member.parameter->array())) {
      detail::master_of(rule, *member.parameter);
    }
  }
}

void Optimizer::StepRecord::write_numbers() {
  for (const Launch& launch : launches) {
    GroupNumbers& numbers = *launch.numbers;
    const bool is_computed = impl->self->write_numbers(numbers, launch.device, launch.clock->t_and_skipped(),
                                                       launch.overrides, launch.is_counted_on_device);
    if (is_computed) numbers.numbers.to_be_computed(launch.device);
    if (launch.host_scale != 1) numbers.host_scale.write(launch.device, &launch.host_scale, 1);
  }
}

void Optimizer::StepRecord::end() {
  is_under_way = false;
  if (last != nullptr && !impl->is_fixed) impl->seed = Array();
  for (const Member& member : members) {
    if (member.master != nullptr && member.is_updated) {
      member.own_rule->rounded = WrittenState::of(member.parameter->array());
    }
  }
}

// The actions of a replay run in the order of these calls: hooks of single parameters see a clock that has counted the
// step, others one that has not.
void Optimizer::begin_record(GraphCapture& capture) {
  Impl& impl = *impl_;
  if (impl.recorded_by == capture.id()) {
    capture.refused("Optimizer::update", "a second step of one optimizer would need its numbers before the first ends");
  }
  impl.recorded_by = capture.id();
  impl.record = std::make_shared<StepRecord>(StepRecord{.impl = &impl,
                                                        .owner = impl.life,
                                                        .link = impl.link,
                                                        .structure_version = impl.version,
                                                        .settings = impl.settings,
                                                        .states = state_names().size(),
                                                        .kernel_choice = kernel_choice(),
                                                        .members = {}});
  capture.on_replay(GraphCapture::When::before, [record = impl.record] { record->count_attempts(); });
}

void Optimizer::record_groups(GraphCapture& capture) {
  Impl& impl = *impl_;
  for (size_t i = 0; i < impl.group_count; ++i) {
    const Group& group = impl.groups[i];
    const GroupNumbers& numbers = *group.numbers;
    impl.record->launches.push_back({.numbers = group.numbers,
                                     .device = group.device,
                                     .overrides = group.overrides,
                                     .clock = &impl.entries[group.members.front()].rule->clock,
                                     .is_counted_on_device = group.source != nullptr,
                                     .host_scale = group.scale.device.is_defined() ? 1 : group.scale.host,
                                     .numbers_array = Elements::of(numbers.numbers.array),
                                     .schedule_array = Elements::of(numbers.schedule.array),
                                     .host_scale_array = Elements::of(numbers.host_scale.array)});
  }
  capture.on_replay(GraphCapture::When::before, [record = impl.record] { record->write_numbers(); });
}

void Optimizer::end_record(GraphCapture& capture) {
  Impl& impl = *impl_;
  const std::shared_ptr<StepRecord> record = std::exchange(impl.record, nullptr);
  for (const Entry& entry : impl.entries) {
    Parameter& parameter = *entry.parameter;
    StepRecord::Member& member = record->members.emplace_back(
        StepRecord::Member{.parameter = &parameter,
                           .node = parameter.node(),
                           .rule = parameter.has_update_rule() ? &parameter.update_rule() : nullptr,
                           .own_rule = entry.rule,
                           .is_initialized = parameter.is_initialized(),
                           .is_updated = entry.is_updated(),
                           .array = Elements::of(parameter.array())});
    if (entry.rule == nullptr) continue;
    for (const Array& state : entry.rule->states) member.states.push_back(Elements::of(state));
    member.master = entry.rule->master.get();
    if (member.master != nullptr) member.master_array = Elements::of(member.master->array());
    member.overrides = entry.rule->overrides.get();
    member.hooks = entry.rule->hooks.version();
    member.source = entry.rule->clock.source().get();
  }
  for (size_t g = 0; g < impl.group_count; ++g) {
    for (const size_t i : impl.groups[g].members) record->members[i].group = g;
  }
  record->last = impl.last;
  if (impl.last != nullptr) record->scale_rule = impl.last->rule();
  if (impl.is_fixed) record->seed = impl.seed;
  capture.require([record] { return record->holds(); });
  capture.on_replay(GraphCapture::When::after, [record] { record->end(); });
}

std::string detail::OptimizerAccess::obstacle(const Optimizer& optimizer) {
  Optimizer::Impl& impl = *optimizer.impl_;
  using Scaling = Optimizer::Impl::Scaling;
  if (impl.scaling == Scaling::chainer_fixed || impl.scaling == Scaling::chainer_dynamic) {
    return "its loss scaling is chainer_compatible, which looks at gradients on the host";
  }
  const auto lives = [](const auto& observer) { return !observer.expired(); };
  if (std::any_of(impl.observers.begin(), impl.observers.end(), lives)) {
    return "somebody observes its gradients (Optimizer::observe_gradients)";
  }
  if (const std::string* const hook = impl.hooks.find_unreplayable()) {
    return "its hook '" + *hook + "' may do more than launch kernels";
  }
  for (Parameter* const parameter : optimizer.target().params()) {
    const auto* const rule =
        parameter->has_update_rule() ? dynamic_cast<const KernelRule*>(&parameter->update_rule()) : nullptr;
    const std::string* const hook = rule != nullptr ? rule->hooks.find_unreplayable() : nullptr;
    if (hook != nullptr) {
      return "the hook '" + *hook + "' of parameter '" + parameter->name() + "' may do more than launch kernels";
    }
  }
  return {};
}

uint64_t detail::OptimizerAccess::settings(const Optimizer& optimizer) noexcept { return optimizer.impl_->settings; }

Optimizer::ForwardScope detail::OptimizerAccess::changing_forward_scope(const Optimizer& optimizer) {
  return optimizer.impl_->forward_scope_is_constant ? Optimizer::ForwardScope() : optimizer.forward_scope();
}

}  // namespace kusari
