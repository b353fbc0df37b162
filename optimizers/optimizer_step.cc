#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/optimizers/hooks/fused.h"
#include "kusari/optimizers/optimizer_access.h"
#include "kusari/optimizers/optimizer_impl.h"
#include "kusari/optimizers/step_launch.h"

// The step of an optimizer. Unless it does as Chainer does, the host gives the device its work and waits for nothing:
// the guard that skips a step, the loss scale and the count of steps are read by the kernels.
namespace kusari {

using detail::GradientScale;
using detail::KernelRule;
using detail::WrittenState;

namespace detail {

bool same_layout(const Array& a, const Array& b) {
  if (a.is_contiguous() && b.is_contiguous()) return true;
  for (int axis = 0; axis < a.ndim(); ++axis) {
    if (a.shape()[axis] != 1 && a.strides()[axis] != b.strides()[axis]) return false;
  }
  return true;
}

}  // namespace detail

using detail::conform;
using detail::gradient_of;
using detail::master_of;
using detail::same_layout;

namespace {

/// Gradients that parameters held, and the loss scales in them, while a loss function may leave others there.
class HeldGradients {
 public:
  template <class Entries>
  explicit HeldGradients(const Entries& entries) {
    for (const auto& entry : entries) {
      Parameter& parameter = *entry.parameter;
      if (!parameter.is_initialized() || !parameter.grad().is_defined()) continue;
      held_.push_back({parameter, parameter.grad_var(), {parameter.device_loss_scale(), parameter.loss_scale()}});
      parameter.cleargrad();
    }
  }
  void give_back() {
    for (Held& held : held_) {
      held.parameter.set_grad_var(held.gradient);
      if (held.scale == GradientScale()) continue;
      auto& saved = held.parameter.node()->saved_state();
      saved.loss_scale = held.scale.host;
      saved.device_loss_scale = held.scale.device;
    }
  }

 private:
  struct Held {
    Variable parameter, gradient;
    GradientScale scale;
  };
  std::vector<Held> held_;
};

/// Tensors to be converted from one dtype to another and multiplied by a factor, in one launch for each device.
struct Conversions {
  struct Batch {
    GradientScale scale;
    std::vector<Array> from, to;  // of one device and one dtype
  };
  std::vector<Batch> batches;

  /// to = from / scale.
  void add(const Array& from, const Array& to, const GradientScale& scale) {
    const auto alike = [&](const Batch& batch) {
      return batch.from[0].device() == from.device() && batch.from[0].dtype() == from.dtype() &&
             batch.to[0].dtype() == to.dtype() && batch.scale == scale;
    };
    auto found = std::find_if(batches.begin(), batches.end(), alike);
    if (found == batches.end()) found = batches.insert(found, Batch{scale, {}, {}});
    found->from.push_back(from);
    found->to.push_back(to);
  }
  void run() const {
    for (const Batch& batch : batches) {
      const Device& device = batch.from[0].device();
      const Array scale = batch.scale.device.is_defined() ? batch.scale.device.to_device(device) : Array();
      launch<kernels::ConvertTensors>(device, Params<double>(1 / batch.scale.host), scale, InList(batch.from),
                                      InOutList(batch.to));
    }
  }
};

bool conforms(const Array& value, const Array& like) {
  return value.dtype() == like.dtype() && value.device() == like.device() && same_layout(value, like);
}

/// State that was read before its parameter had a shape, or a parameter that somebody has replaced.
void warn_of_other_shape(const char* name, const Array& state, const Array& array) {
  log::warn(std::string("Optimizer::update: the state '") + name + "' has shape " + to_string(state.shape()) +
            " but its parameter has shape " + to_string(array.shape()) + ": it begins anew");
}

void forget_scale(const Parameter& parameter) {
  detail::VariableNode::Saved& saved = parameter.node()->saved_state();
  saved.loss_scale = 1;
  saved.device_loss_scale = Array();
}

}  // namespace

Array detail::conform(const Array& value, const Array& like) {
  if (conforms(value, like)) return value;
  const Array copied = empty_like(like);
  copied.copy_from(value);
  return copied;
}

Parameter& detail::master_of(KernelRule& rule, const Parameter& parameter) {
  const ScopedGraphCapture once(nullptr);  // replays of a recorded step see to it beforehand
  const Array& array = parameter.array();
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

void Optimizer::refresh() {
  Link& link = target();
  Impl& impl = *impl_;
  const uint64_t version = detail::structure_version();
  if (impl.version == version && impl.link == &link) return;
  impl.entries.clear();
  impl.groups.clear();
  for (Parameter* parameter : link.params()) {
    KernelRule* const rule = Impl::kernel_rule(*parameter);
    if (rule != nullptr && rule->owner != impl.id) impl.throw_displaced(link);
    impl.entries.push_back({parameter, rule, parameter, parameter});
  }
  impl.version = version;
  impl.link = &link;
}

void Optimizer::cleargrads() {
  refresh();
  for (const Entry& entry : impl_->entries) entry.parameter->cleargrad();
}

Optimizer::ForwardScope Optimizer::forward_scope() const {
  return impl_->forward_scope ? impl_->forward_scope() : ForwardScope();
}

void Optimizer::backward(const Variable& loss, const BackwardOptions& options) {
  if (!loss.is_defined()) throw TypeError(std::string(name()) + "::backward: loss is not given: it is required");

  Impl& impl = *impl_;
  BackwardOptions scaled = options;
  if (!options.loss_scale && !options.device_loss_scale.is_defined()) {
    if (impl.scaling == Impl::Scaling::device) {
      scaled.device_loss_scale = detail::OptimizerAccess::seed(*this, loss);
    } else if (impl.scaling != Impl::Scaling::none) {
      scaled.loss_scale = impl.chainer_scale;
    }
  }
  const profiler::Range range("backward");
  loss.backward(scaled);
}

void Optimizer::update_for(Variable loss) {
  if (!loss.is_defined()) {
    throw TypeError(std::string(name()) +
                    "::update: the loss function returned an undefined variable: it must return the loss");
  }
  cleargrads();  // what the loss function may have left
  backward(loss, {.release_graph = !config().keep_graph_on_report});
  loss = Variable();
  update();
}

Variable Optimizer::weighted_loss(const std::function<Variable()>& lossfun, double weight) const {
  const ForwardScope scope = forward_scope();
  const profiler::Range range("forward");
  const Variable loss = lossfun();
  return weight == 1 ? loss : loss * weight;
}

void Optimizer::accumulate(const std::function<Variable()>& lossfun, double weight) {
  if (!lossfun) throw ValueError(std::string(name()) + "::accumulate: lossfun is empty: it must be callable");

  refresh();
  HeldGradients held(impl_->entries);
  const auto restore = [&] {
    cleargrads();  // what the loss function may have left
    held.give_back();
  };
  Variable loss;
  try {
    loss = weighted_loss(lossfun, weight);
  } catch (...) {
    restore();
    throw;
  }
  restore();
  backward(loss, {.release_graph = !config().keep_graph_on_report});
}

void Optimizer::update() {
  const profiler::Range range("update");
  refresh();
  prepare_gradients();
  switch (impl_->scaling) {
    case Impl::Scaling::none:
      return update_guarded(Array(), Array());
    case Impl::Scaling::device:
      return update_guarded(optimizer_hooks::gradient_square_sum(impl_->stepped), Array());
    default:
      return update_as_chainer();
  }
}

// guard: undefined, or the squared norm of the gradients. loss_scale: what all gradients carry, if defined.
void Optimizer::update_guarded(const Array& guard, const Array& loss_scale) {
  Impl& impl = *impl_;
  call_observers();
  impl.last = nullptr;
  if (guard.is_defined()) {
    impl.last = impl.scaling == Impl::Scaling::device ? impl.loss_scale : impl.skips;
    impl.clock.follow(impl.last);
  }
  prepare_clocks(guard);
  find_gradients(loss_scale);
  if (has_hooks()) unscale_for_hooks();
  list_stepped();
  call_hooks(HookTiming::pre);
  prepare_clocks(guard);  // of what hooks have frozen or thawed
  impl.clock.count_attempt();
  count_attempts();
  update_parameters(guard);
  if (guard.is_defined()) {
    impl.last->update(guard);
    if (!impl.is_fixed) impl.seed = Array();
  }
  for (Entry& entry : impl.entries) {
    if (entry.is_updated()) call_rule_hooks(HookTiming::post, entry);
  }
  call_hooks(HookTiming::post);
  drop_master_gradients();
  forget_scales();
  if (GraphCapture* const capture = GraphCapture::current()) end_record(*capture);
}

void Optimizer::update_as_chainer() {
  GraphCapture::refuse("Optimizer::update", "loss scaling with chainer_compatible looks at gradients on the host");
  Impl& impl = *impl_;
  call_observers();
  impl.last = nullptr;
  impl.chainer_is_safe = impl.scaling == Impl::Scaling::chainer_fixed || gradients_are_finite();
  call_hooks(HookTiming::pre);
  impl.clock.count_attempt();
  if (impl.chainer_is_safe) {
    unscale_as_chainer();
    list_stepped();
    prepare_clocks(Array());
    count_attempts();
    update_parameters(Array());
    for (Entry& entry : impl.entries) {
      if (entry.is_updated()) call_rule_hooks(HookTiming::post, entry);
    }
  }
  call_hooks(HookTiming::post);
  drop_master_gradients();
  forget_scales();
  if (impl.scaling == Impl::Scaling::chainer_fixed) return;
  constexpr double kLargest = 65504;  // of float16
  double factor = impl.chainer_growth;
  if (!impl.chainer_is_safe) {
    impl.chainer_overflowed_ever = true;
    factor = 0.5;
  } else if (!impl.chainer_overflowed_ever) {
    factor = 2;
  }
  impl.chainer_scale = std::max(1.0, std::min(kLargest, impl.chainer_scale * factor));
}

// Gives every parameter a gradient that kernels can take: its own array, in the parameter's memory order.
void Optimizer::prepare_gradients() {
  warn_of_unused_gradients();
  Impl& impl = *impl_;
  impl.rules.clear();
  for (Entry& entry : impl.entries) {
    Parameter& parameter = *entry.parameter;
    entry.stepped = entry.differentiated = &parameter;
    entry.has_zero_gradient = false;
    if (!parameter.is_initialized()) continue;
    const Array& array = parameter.array();
    if (!array.is_dense()) {
      const ScopedGraphCapture once(nullptr);
      parameter.set_array(array.contiguous());
    }
    const detail::VariableNode* const gradient = parameter.node()->grad;
    if (gradient == nullptr) {
      parameter.set_grad(zeros_like(parameter.array()));
      entry.has_zero_gradient = true;
    } else if (!same_layout(gradient->array, parameter.array())) {
      parameter.set_grad(conform(gradient->array, parameter.array()));
    }
    impl.rules.push_back(entry.rule);
  }
  list_stepped();
}

void Optimizer::list_stepped() {
  impl_->stepped.clear();
  for (const Entry& entry : impl_->entries) {
    if (entry.parameter->is_initialized()) impl_->stepped.push_back(entry.stepped);
  }
}

// Finds what each step changes, and what its gradient was multiplied by.
void Optimizer::find_gradients(const Array& loss_scale) {
  Impl& impl = *impl_;
  for (Entry& entry : impl.entries) {
    Parameter& parameter = *entry.parameter;
    if (!parameter.is_initialized()) continue;
    const bool has_own = !loss_scale.is_defined();
    entry.scale.device = has_own ? parameter.device_loss_scale() : loss_scale;
    entry.scale.host = has_own && !entry.scale.device.is_defined() ? parameter.loss_scale() : 1;
    if (entry.rule == nullptr) continue;
    if (!is_half(parameter.dtype())) {
      entry.rule->master = nullptr;  // of a parameter that has become wider
    } else if (!impl.fp32_update) {
      entry.rule->master = nullptr;  // it would fall behind
    } else if (entry.rule->enabled) {
      entry.stepped = &master_of(*entry.rule, parameter);
    }
  }
}

bool Optimizer::has_hooks() const {
  if (!impl_->hooks.empty()) return true;
  return std::any_of(impl_->entries.begin(), impl_->entries.end(),
                     [](const Entry& entry) { return entry.is_updated() && !entry.rule->hooks.empty(); });
}

// Masters get gradients of their own; other gradients are changed in place.
void Optimizer::unscale_for_hooks() {
  Conversions conversions;
  for (Entry& entry : impl_->entries) {
    Parameter& parameter = *entry.parameter;
    if (!parameter.is_initialized()) continue;
    if (entry.stepped != &parameter) {
      const Array gradient = empty_like(entry.stepped->array());
      conversions.add(gradient_of(parameter), gradient, entry.scale);
      entry.stepped->set_grad(gradient);
      entry.differentiated = entry.stepped;
    } else if (entry.scale != GradientScale()) {
      if (!gradient_of(parameter).is_unique()) parameter.set_grad(gradient_of(parameter).copy());
      conversions.add(gradient_of(parameter), gradient_of(parameter), entry.scale);
      forget_scale(parameter);
    }
    entry.scale = GradientScale();
  }
  conversions.run();
}

bool Optimizer::gradients_are_finite() {
  Impl& impl = *impl_;
  const Array norm = optimizer_hooks::gradient_square_sum(impl.stepped);
  if (!norm.is_defined() || std::isfinite(norm.item<double>())) return true;
  for (Parameter* const parameter : impl.stepped) {
    if (std::isfinite(optimizer_hooks::gradient_square_sum({&parameter, 1}).item<double>())) continue;
    log::warn(std::string(name()) + ": the gradient of " + parameter->name() + " is not finite; the step is skipped");
    break;
  }
  return false;
}

// Divides gradients by their loss scale. 16-bit parameters under use_fp32_update get it in float32, in their master.
void Optimizer::unscale_as_chainer() {
  std::map<double, std::vector<Parameter*>> scaled;
  Conversions gradients;
  find_gradients(Array());
  for (Entry& entry : impl_->entries) {
    Parameter& parameter = *entry.parameter;
    if (!entry.is_updated()) continue;
    if (entry.stepped != &parameter) {
      const Array gradient = empty_like(entry.stepped->array());
      gradients.add(gradient_of(parameter), gradient, entry.scale);
      entry.stepped->set_grad(gradient);
      entry.differentiated = entry.stepped;
    } else if (entry.scale.host != 1) {
      forget_scale(parameter);
      scaled[entry.scale.host].push_back(&parameter);
    }
    entry.scale = GradientScale();
  }
  gradients.run();
  for (const auto& [scale, parameters] : scaled) optimizer_hooks::scale_gradients(parameters, 1 / scale);
}

void Optimizer::call_observers() {
  auto& observers = impl_->observers;
  std::erase_if(observers, [](const auto& observer) { return observer.expired(); });
  for (size_t i = 0; i < observers.size(); ++i) {
    const auto observer = observers[i].lock();
    if (!observer) continue;
    GraphCapture::refuse("Optimizer::update", "an observer of gradients may read them");
    (*observer)(impl_->stepped);
  }
}

void Optimizer::call_hooks(HookTiming timing) {
  if (impl_->hooks.has(timing)) impl_->hooks.run(timing, this, impl_->stepped, impl_->rules);
}

void Optimizer::call_rule_hooks(HookTiming timing, Entry& entry) {
  if (entry.rule->hooks.empty()) return;
  UpdateRule* const rule = entry.rule;
  entry.rule->hooks.run(timing, nullptr, {&entry.stepped, 1}, {&rule, 1});
}

// Before the hooks: those that a replay repeats must find the same who counts at every step.
void Optimizer::prepare_clocks(const Array& guard) {
  for (const Entry& entry : impl_->entries) {
    if (entry.rule == nullptr) continue;
    if (!entry.is_updated()) {
      entry.rule->clock.settle();  // what is skipped while it stands does not concern it
    } else if (guard.is_defined()) {
      entry.rule->clock.follow(impl_->last);
    }
  }
}

void Optimizer::count_attempts() {
  for (const Entry& entry : impl_->entries) {
    if (entry.is_updated()) entry.rule->clock.count_attempt();
  }
  if (GraphCapture* const capture = GraphCapture::current()) begin_record(*capture);
}

void Optimizer::prepare_states(KernelRule& rule, const Array& array) const {
  const ScopedGraphCapture once(nullptr);
  const std::span<const char* const> names = state_names();
  if (rule.states.size() != names.size()) {
    rule.names.assign(names.begin(), names.end());
    rule.states.resize(names.size());
  }
  for (size_t k = 0; k < rule.states.size(); ++k) {
    Array& state = rule.states[k];
    const Shape shape = state_shape(k, array.shape());
    if (state.is_defined() && state.shape() != shape) {
      warn_of_other_shape(names[k], state, array);
      state = Array();
    }
    const bool is_alike = shape == array.shape();
    if (!state.is_defined()) {
      const double initial = initial_state(k);
      state = is_alike ? full_like(array, initial) : full(shape, initial, array.dtype(), array.device());
    } else if (is_alike ? !conforms(state, array)
                        : state.dtype() != array.dtype() || state.device() != array.device()) {
      state = is_alike ? conform(state, array) : state.astype(array.dtype()).to_device(array.device());
    }
  }
}

void Optimizer::update_parameters(const Array& guard) {
  Impl& impl = *impl_;
  impl.group_count = 0;
  for (size_t i = 0; i < impl.entries.size(); ++i) {
    Entry& entry = impl.entries[i];
    if (!entry.is_updated()) continue;
    call_rule_hooks(HookTiming::pre, entry);
    const Array& array = entry.stepped->array();
    prepare_states(*entry.rule, array);
    Parameter& differentiated = *entry.differentiated;
    if (differentiated.node()->grad == nullptr) {  // a hook's work, as the other layouts
      differentiated.set_grad(zeros_like(differentiated.array()));
    } else if (!same_layout(gradient_of(differentiated), array)) {
      differentiated.set_grad(conform(gradient_of(differentiated), differentiated.array()));
    }
    impl.group(entry).members.push_back(i);
  }
  impl.groups.resize(impl.group_count);  // the others hold arrays that may be gone elsewhere
  launch_groups(guard);
  for (const Entry& entry : impl.entries) {
    if (entry.stepped != entry.parameter) entry.rule->rounded = WrittenState::of(entry.parameter->array());
  }
}

// They are arrays in the memory of this step.
void Optimizer::forget_scales() {
  for (Entry& entry : impl_->entries) entry.scale = GradientScale();
  for (Group& group : impl_->groups) group.scale = GradientScale();
}

void Optimizer::drop_master_gradients() {
  for (const Entry& entry : impl_->entries) {
    if (entry.stepped != entry.parameter) entry.stepped->cleargrad();
  }
}

void detail::OptimizerAccess::unscale(Optimizer& optimizer, const Array& loss_scale) {
  optimizer.refresh();
  Conversions conversions;
  for (const Optimizer::Entry& entry : optimizer.impl_->entries) {
    Parameter& parameter = *entry.parameter;
    if (entry.rule == nullptr) continue;
    if (!parameter.is_initialized() || parameter.node()->grad == nullptr) continue;
    const Array& gradient = gradient_of(parameter);
    if (!same_layout(gradient, parameter.array())) {
      parameter.set_grad(conform(gradient, parameter.array()));
    } else if (!gradient.is_unique()) {
      parameter.set_grad(gradient.copy());
    }
    conversions.add(gradient_of(parameter), gradient_of(parameter), {.device = loss_scale});
    forget_scale(parameter);
  }
  conversions.run();
}

}  // namespace kusari
