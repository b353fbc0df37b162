#include "kusari/optimizers/step.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/optimizers/conversions.h"
#include "kusari/optimizers/hooks/fused.h"

namespace kusari {

using detail::conform;
using detail::Conversions;
using detail::forget_scale;
using detail::gradient_of;
using detail::GradientScale;
using detail::KernelRule;
using detail::make_dense;
using detail::master_of;
using detail::own_gradient;
using detail::same_layout;
using detail::WrittenState;

namespace {

bool conforms(const Array& value, const Array& like) {
  return value.dtype() == like.dtype() && value.device() == like.device() && same_layout(value, like);
}

/// State that was read before its parameter had a shape, or a parameter that somebody has replaced.
void warn_of_other_shape(const char* name, const Array& state, const Array& array) {
  log::warn(std::string("Optimizer::update: the state '") + name + "' has shape " + to_string(state.shape()) +
            " but its parameter has shape " + to_string(array.shape()) + ": it begins anew");
}

}  // namespace

bool detail::same_layout(const Array& a, const Array& b) {
  if (a.is_contiguous() && b.is_contiguous()) return true;
  for (int axis = 0; axis < a.ndim(); ++axis) {
    if (a.shape()[axis] != 1 && a.strides()[axis] != b.strides()[axis]) return false;
  }
  return true;
}

Array detail::conform(const Array& value, const Array& like) {
  if (conforms(value, like)) return value;
  const Array copied = empty_like(like);
  copied.copy_from(value);
  return copied;
}

void detail::make_dense(Parameter& parameter) {
  if (parameter.array().is_dense()) return;
  const ScopedGraphCapture once(nullptr);
  parameter.set_array(parameter.array().contiguous());
}

const Array& detail::own_gradient(Parameter& parameter) {
  make_dense(parameter);
  const Array& gradient = gradient_of(parameter);
  if (!same_layout(gradient, parameter.array())) {
    parameter.set_grad(conform(gradient, parameter.array()));
  } else if (!gradient.is_unique()) {
    parameter.set_grad(gradient.copy());
  }
  return gradient_of(parameter);
}

void detail::forget_scale(const Parameter& parameter) {
  VariableNode::Saved& saved = parameter.node()->saved_state();
  saved.loss_scale = 1;
  saved.device_loss_scale = Array();
}

Parameter& detail::master_of(KernelRule& rule, const Array& array) {
  const ScopedGraphCapture once(nullptr);  // replays of a recorded step see to it beforehand
  const bool is_written =
      rule.rounded && rule.rounded->dtype == array.dtype() && *rule.rounded != WrittenState::of(array);
  if (rule.master != nullptr && rule.master->shape() != array.shape()) {
    warn_of_other_shape("fp32_param", rule.master->array(), array);
    rule.master = nullptr;
  }
  if (rule.master == nullptr) {
    rule.master = std::make_unique<Parameter>(array.astype(Dtype::float32));
  } else if (rule.master->device() != array.device()) {
    rule.master->to(array.device());  // one that was read from a file is on the CPU
  }
  const Array& master = rule.master->array();
  if (!same_layout(master, array)) {
    const Array in_order = empty_like(array, Dtype::float32);
    in_order.copy_from(master);
    rule.master->set_array(in_order);
  }
  if (is_written) {
    const Array own = rule.master->array(), wide = array.astype(Dtype::float32);
    const Array is_own = pointwise(kernels::Equal{}, own.astype(array.dtype()).astype(Dtype::float32), wide);
    pointwise_to(own, kernels::Where{}, is_own, own, wide);
  }
  return *rule.master;
}

Optimizer::Step::Step(Impl& impl)
    : impl_{impl},
      self_{*impl.self},
      shards_{impl.exchange != nullptr ? impl.exchange->shards() : nullptr},
      divided_{self_.divided_gradients()},
      lists_{std::move(impl.lists)} {
  impl.warn_of_unused_gradients();
  entries_.reserve(impl.members.size());
  for (const Impl::Member& member : impl.members) {
    Parameter& parameter = *member.parameter;
    Entry& entry = entries_.emplace_back(Entry{member, &parameter, &parameter});
    if (!parameter.is_initialized()) continue;
    make_dense(parameter);
    if (divided_ == nullptr) prepare_gradient(entry);
    rules_.push_back(entry.rule);
  }
  list_stepped();
}

void Optimizer::Step::prepare_gradient(Entry& entry) const {
  Parameter& parameter = *entry.parameter;
  const detail::VariableNode* const gradient = parameter.node()->grad;
  if (gradient == nullptr) {
    parameter.set_grad(zeros_like(parameter.array()));
    entry.has_zero_gradient = true;
  } else if (!same_layout(gradient->array, parameter.array())) {
    parameter.set_grad(conform(gradient->array, parameter.array()));
  }
}

Array Optimizer::Step::square_sum() const {
  if (divided_ == nullptr || stepped_.empty()) return optimizer_hooks::gradient_square_sum(stepped_);
  return divided_->square_sum(stepped_.front()->device());
}

Optimizer::Step::~Step() {
  entries_.clear();
  stepped_.clear();
  rules_.clear();
  impl_.lists = std::move(lists_);
}

void Optimizer::Step::run() {
  switch (impl_.scaling) {
    case Impl::Scaling::none:
      return run_guarded(Array(), Array());
    case Impl::Scaling::device:
      return run_guarded(square_sum(), Array());
    default:
      return run_as_chainer();
  }
}

void Optimizer::Step::run_guarded(const Array& guard, const Array& loss_scale) {
  guard_ = guard;
  call_observers();
  impl_.last = nullptr;
  if (guard_.is_defined()) {
    impl_.last = impl_.scaling == Impl::Scaling::device ? impl_.loss_scale : impl_.skips;
    impl_.clock.follow(impl_.last);
  }
  prepare_clocks();
  find_scales(loss_scale);
  assign_parts();
  const bool is_hooked = has_hooks();
  find_masters(is_hooked);
  if (is_hooked) unscale(false);
  list_stepped();
  call_hooks(HookTiming::pre);
  prepare_clocks();  // of what hooks have frozen or thawed
  count_and_update();
  if (guard_.is_defined()) {
    impl_.last->update(guard_);
    if (!impl_.is_fixed) impl_.seed = Array();
  }
  end();
}

void Optimizer::Step::run_as_chainer() {
  GraphCapture::refuse("Optimizer::update", "loss scaling with chainer_compatible looks at gradients on the host");
  call_observers();
  impl_.last = nullptr;
  impl_.chainer_is_safe = impl_.scaling == Impl::Scaling::chainer_fixed || gradients_are_finite();
  call_hooks(HookTiming::pre);
  if (impl_.chainer_is_safe) {
    find_scales(Array());
    assign_parts();
    find_masters(true);
    unscale(true);
    list_stepped();
    prepare_clocks();
    count_and_update();
  } else {
    impl_.clock.count_attempt();
    entries_.clear();  // nothing was updated
  }
  end();
  if (impl_.scaling == Impl::Scaling::chainer_fixed) return;
  constexpr double kLargest = 65504;  // of float16
  double factor = impl_.chainer_growth;
  if (!impl_.chainer_is_safe) {
    impl_.chainer_overflowed_ever = true;
    factor = 0.5;
  } else if (!impl_.chainer_overflowed_ever) {
    factor = 2;
  }
  impl_.chainer_scale = std::max(1.0, std::min(kLargest, impl_.chainer_scale * factor));
}

bool Optimizer::Step::gradients_are_finite() const {
  const Array norm = optimizer_hooks::gradient_square_sum(stepped_);
  if (!norm.is_defined() || std::isfinite(norm.item<double>())) return true;
  for (Parameter* const parameter : stepped_) {
    if (std::isfinite(optimizer_hooks::gradient_square_sum({&parameter, 1}).item<double>())) continue;
    log::warn(std::string(self_.name()) + ": the gradient of " + parameter->name() +
              " is not finite; the step is skipped");
    break;
  }
  return false;
}

void Optimizer::Step::list_stepped() {
  stepped_.clear();
  for (const Entry& entry : entries_) {
    if (entry.parameter->is_initialized()) stepped_.push_back(entry.stepped);
  }
}

// What each gradient was multiplied by.
void Optimizer::Step::find_scales(const Array& loss_scale) {
  const bool have_own = !loss_scale.is_defined();
  for (Entry& entry : entries_) {
    const Parameter& parameter = *entry.parameter;
    if (!parameter.is_initialized()) continue;
    if (divided_ != nullptr) {
      const auto* const own = divided_->of(parameter);
      if (own != nullptr) entry.scale = have_own ? own->scale : GradientScale{.device = loss_scale};
      continue;
    }
    entry.scale.device = have_own ? parameter.device_loss_scale() : loss_scale;
    entry.scale.host = have_own && !entry.scale.device.is_defined() ? parameter.loss_scale() : 1;
  }
}

void Optimizer::Step::find_masters(bool for_hooks) {
  for (Entry& entry : entries_) {
    if (entry.rule == nullptr || !entry.parameter->is_initialized()) continue;
    KernelRule& rule = *entry.rule;
    const Array& array = entry.parameter->array();
    if (!is_half(array.dtype()) || !impl_.fp32_update) {
      rule.master = nullptr;  // of a parameter that has become wider, or one that would fall behind
    } else if (rule.enabled && (!rule.part || rule.part->size() > 0)) {
      entry.stepped = &master_of(rule, rule.part ? detail::part_of(array, *rule.part) : array);
    }
  }
  if (shards_ != nullptr && impl_.fp32_update && for_hooks) find_whole_masters();
}

// Masters get gradients of their own; other gradients are changed in place, by Chainer's arithmetic in their own dtype.
void Optimizer::Step::unscale(bool as_chainer) {
  std::map<double, std::vector<Parameter*>> by_chainer;
  Conversions conversions;
  for (Entry& entry : entries_) {
    Parameter& parameter = *entry.parameter;
    if (as_chainer ? !entry.is_updated() : !parameter.is_initialized()) continue;
    if (divided_ == nullptr) prepare_gradient(entry);  // what observers and hooks have left
    if (entry.stepped != &parameter) {
      const Array gradient = empty_like(entry.stepped->array());
      conversions.add(gradient_of(parameter), gradient, entry.scale);
      entry.stepped->set_grad(gradient);
      entry.differentiated = entry.stepped;
    } else if (entry.scale != GradientScale()) {
      if (as_chainer) {
        by_chainer[entry.scale.host].push_back(&parameter);
      } else {
        const Array& gradient = own_gradient(parameter);
        conversions.add(gradient, gradient, entry.scale);
      }
      forget_scale(parameter);
    }
    entry.scale = GradientScale();
  }
  conversions.run();
  for (const auto& [scale, parameters] : by_chainer) optimizer_hooks::scale_gradients(parameters, 1 / scale);
}

bool Optimizer::Step::has_hooks() const {
  if (!impl_.hooks.empty()) return true;
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const Entry& entry) { return entry.is_updated() && !entry.rule->hooks.empty(); });
}

void Optimizer::Step::call_observers() {
  auto& observers = impl_.observers;
  std::erase_if(observers, [](const auto& observer) { return observer.expired(); });
  for (size_t i = 0; i < observers.size(); ++i) {
    const auto observer = observers[i].lock();
    if (!observer) continue;
    GraphCapture::refuse("Optimizer::update", "an observer of gradients may read them");
    (*observer)(stepped_);
  }
}

void Optimizer::Step::call_hooks(HookTiming timing) {
  if (impl_.hooks.has(timing)) impl_.hooks.run(timing, &self_, stepped_, rules_);
}

void Optimizer::Step::call_rule_hooks(HookTiming timing, Entry& entry) {
  if (entry.rule->hooks.empty()) return;
  UpdateRule* const rule = entry.rule;
  entry.rule->hooks.run(timing, nullptr, {&entry.stepped, 1}, {&rule, 1});
}

// Before the hooks: those that a replay repeats must find the same who counts at every step.
void Optimizer::Step::prepare_clocks() {
  for (const Entry& entry : entries_) {
    if (entry.rule == nullptr) continue;
    if (!entry.is_updated()) {
      entry.rule->clock.settle();  // what is skipped while it stands does not concern it
    } else if (guard_.is_defined()) {
      entry.rule->clock.follow(impl_.last);
    }
  }
}

// What fails is no step.
void Optimizer::Step::count_and_update() {
  count_attempt();
  try {
    update_parameters();
  } catch (...) {
    impl_.clock.take_back_attempt();
    for (const Entry& entry : entries_) {
      if (entry.is_updated()) entry.rule->clock.take_back_attempt();
    }
    throw;
  }
}

void Optimizer::Step::count_attempt() {
  impl_.clock.count_attempt();
  for (const Entry& entry : entries_) {
    if (entry.is_updated()) entry.rule->clock.count_attempt();
  }
  if (GraphCapture* const capture = GraphCapture::current()) record_ = StepRecord::begin(impl_, *capture);
}

void Optimizer::Step::prepare_states(KernelRule& rule, const Array& array) const {
  const ScopedGraphCapture once(nullptr);
  const std::span<const char* const> names = self_.state_names();
  if (rule.states.size() != names.size()) {
    rule.names.assign(names.begin(), names.end());
    rule.states.resize(names.size());
  }
  for (size_t k = 0; k < rule.states.size(); ++k) {
    Array& state = rule.states[k];
    const Shape shape = self_.state_shape(k, array.shape());
    if (state.is_defined() && state.shape() != shape) {
      warn_of_other_shape(names[k], state, array);
      state = Array();
    }
    const bool is_alike = shape == array.shape();
    if (!state.is_defined()) {
      const double initial = self_.initial_state(k);
      state = is_alike ? full_like(array, initial) : full(shape, initial, array.dtype(), array.device());
    } else if (is_alike && !conforms(state, array)) {
      state = conform(state, array);
    } else if (!is_alike) {
      state = state.astype(array.dtype()).to_device(array.device());
    }
  }
}

// After a hook's work.
void Optimizer::Step::conform_gradient(Parameter& differentiated) {
  if (differentiated.node()->grad == nullptr) {
    differentiated.set_grad(zeros_like(differentiated.array()));
  } else if (!same_layout(gradient_of(differentiated), differentiated.array())) {
    differentiated.set_grad(conform(gradient_of(differentiated), differentiated.array()));
  }
}

void Optimizer::Step::update_parameters() {
  if (shards_ != nullptr) parts_.resize(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (!entry.is_updated()) continue;
    call_rule_hooks(HookTiming::pre, entry);
    make_dense(*entry.stepped);
    if (divided_ == nullptr) conform_gradient(*entry.differentiated);
    if (entry.rule->part && entry.rule->part->size() == 0) continue;
    if (shards_ != nullptr) take_parts(i);
    prepare_states(*entry.rule, updated(i));
    group(i).members.push_back(i);
  }
  impl_.groups.resize(group_count_);  // the others hold arrays that may be gone elsewhere
  launch_groups();
  if (shards_ != nullptr) gather_parameters();
  for (const Entry& entry : entries_) {
    if (entry.stepped != entry.parameter) entry.rule->rounded = WrittenState::of(entry.parameter->array());
  }
}

void Optimizer::Step::end() {
  for (Entry& entry : entries_) {
    if (entry.is_updated()) call_rule_hooks(HookTiming::post, entry);
  }
  call_hooks(HookTiming::post);
  for (const Entry& entry : entries_) {
    if (entry.stepped != entry.parameter) entry.stepped->cleargrad();
  }
  for (Group& group : impl_.groups) group.scale = GradientScale();  // an array in the memory of this step
  if (record_ != nullptr) record_->end(*this);
}

}  // namespace kusari
