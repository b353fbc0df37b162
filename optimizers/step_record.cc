#include "kusari/optimizers/step_record.h"

#include <cstring>
#include <string>

#include "kusari/optimizers/step.h"

namespace kusari {

using detail::KernelRule;
using detail::WrittenState;

Optimizer::StepRecord::StepRecord(Impl& impl, GraphCapture& capture)
    : impl_{&impl},
      capture_{&capture},
      owner_{impl.life},
      link_{impl.link},
      structure_version_{impl.version},
      settings_{impl.settings},
      launch_{impl.self->method().launch} {}

std::shared_ptr<Optimizer::StepRecord> Optimizer::StepRecord::begin(Impl& impl, GraphCapture& capture) {
  if (impl.recorded_by == capture.id()) {
    capture.refused("Optimizer::update", "a second step of one optimizer would need its numbers before the first ends");
  }
  impl.recorded_by = capture.id();
  auto record = std::make_shared<StepRecord>(impl, capture);
  record->self_ = record;
  capture.on_replay(GraphCapture::When::before, [record] { record->count_attempts(); });
  return record;
}

void Optimizer::StepRecord::add_groups(const Step& step) {
  for (const Impl::Group& group : impl_->groups) {
    const Impl::GroupNumbers& numbers = *group.numbers;
    launches_.push_back({.numbers = group.numbers,
                         .device = group.device,
                         .overrides = group.overrides,
                         .clock = &step.entries_[group.members.front()].rule->clock,
                         .is_counted_on_device = group.source != nullptr,
                         .host_scale = group.scale.device.is_defined() ? 1 : group.scale.host,
                         .numbers_array = Elements::of(numbers.numbers.array),
                         .schedule_array = Elements::of(numbers.schedule.array),
                         .host_scale_array = Elements::of(numbers.host_scale.array)});
  }
  capture_->on_replay(GraphCapture::When::before, [record = shared()] { record->write_numbers(); });
}

void Optimizer::StepRecord::end(const Step& step) {
  for (const Step::Entry& entry : step.entries_) {
    const Parameter& parameter = *entry.parameter;
    Member& member =
        members_.emplace_back(Member{.parameter = entry.parameter,
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
  for (size_t g = 0; g < impl_->groups.size(); ++g) {
    for (const size_t i : impl_->groups[g].members) members_[i].group = g;
  }
  last_ = impl_->last;
  if (last_ != nullptr) scale_rule_ = last_->rule();
  if (impl_->is_fixed) seed_ = impl_->seed;
  GraphCapture& capture = *std::exchange(capture_, nullptr);
  capture.require([record = shared()] { return record->holds(); });
  capture.on_replay(GraphCapture::When::after, [record = shared()] { record->end_replay(); });
}

bool Optimizer::StepRecord::is_same_target() const {
  const Optimizer& self = *impl_->self;
  Link* const now = self.home_ ? self.home_->find() : nullptr;
  if (now == nullptr || now != link_) return false;
  const std::vector<Parameter*> parameters = now->params();
  if (parameters.size() != members_.size()) return false;
  for (size_t i = 0; i < members_.size(); ++i) {
    const UpdateRule* const rule = parameters[i]->has_update_rule() ? &parameters[i]->update_rule() : nullptr;
    if (parameters[i] != members_[i].parameter || rule != members_[i].rule) return false;
    if (impl_->own_rule(*parameters[i]) != members_[i].own_rule) return false;  // another rule at the same address
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
  if (owner_.expired()) return false;
  const Optimizer& self = *impl_->self;
  if (impl_->settings != settings_ || self.method().launch != launch_) return false;
  if (const uint64_t version = detail::structure_version(); version != structure_version_) {
    if (!is_same_target()) return false;
    structure_version_ = version;
  }
  if (last_ != nullptr) {
    const kernels::LossScaleRule& rule = last_->rule();
    if (impl_->clock.source() != last_ || std::memcmp(&rule, &scale_rule_, sizeof rule) != 0) return false;
  }
  for (const Member& member : members_) {
    if (!is_unchanged(member)) return false;
    if (member.is_updated && member.own_rule->clock.t_and_skipped() != launches_[member.group].clock->t_and_skipped()) {
      return false;
    }
  }
  for (const Launch& launch : launches_) {
    const Impl::GroupNumbers& numbers = *launch.numbers;
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
  if (!is_under_way_ || !holds()) return;
  impl_->clock.take_back_attempt();
  for (const Member& member : members_) {
    if (member.is_updated) member.own_rule->clock.take_back_attempt();
  }
}

// As at the beginning of a step, before the kernels.
void Optimizer::StepRecord::count_attempts() {
  is_under_way_ = true;
  if (impl_->last != last_) impl_->last = last_;
  impl_->clock.count_attempt();
  for (const Member& member : members_) {
    if (!member.is_updated) continue;
    KernelRule& rule = *member.own_rule;
    rule.clock.count_attempt();
    if (member.master != nullptr && rule.rounded && *rule.rounded != WrittenState::of(member.parameter->array())) {
      detail::master_of(rule, member.parameter->array());
    }
  }
}

void Optimizer::StepRecord::write_numbers() {
  for (const Launch& launch : launches_) {
    Impl::GroupNumbers& numbers = *launch.numbers;
    const detail::StepMethod method = impl_->write_numbers(numbers, launch.device, launch.clock->t_and_skipped(),
                                                           launch.overrides, launch.is_counted_on_device);
    if (method.is_scheduled()) numbers.numbers.to_be_computed(launch.device);
    if (launch.host_scale != 1) numbers.host_scale.write(launch.device, &launch.host_scale, 1);
  }
}

void Optimizer::StepRecord::end_replay() {
  is_under_way_ = false;
  if (last_ != nullptr && !impl_->is_fixed) impl_->seed = Array();
  for (const Member& member : members_) {
    if (member.master != nullptr && member.is_updated) {
      member.own_rule->rounded = WrittenState::of(member.parameter->array());
    }
  }
}

}  // namespace kusari
