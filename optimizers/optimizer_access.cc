#include "kusari/optimizers/optimizer_access.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/profiler.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/optimizers/conversions.h"
#include "kusari/optimizers/divided_gradients.h"
#include "kusari/optimizers/hooks/fused.h"
#include "kusari/optimizers/optimizer_impl.h"
#include "kusari/optimizers/state_shards.h"
#include "kusari/optimizers/step.h"
#include "kusari/optimizers/step_launch.h"

namespace kusari::detail {

namespace {

/// A loss scale as a loss of this dtype can start from it.
Array held_by(Dtype dtype, const Array& scale) {
  return is_half(dtype) ? scale.astype(dtype).astype(Dtype::float64) : scale.copy();
}

}  // namespace

Variable OptimizerAccess::call(const Optimizer& optimizer, Link& model, const ModelInputs& inputs) {
  return optimizer.call_model(model, inputs);
}

GradientScale OptimizerAccess::gradient_scale(Optimizer& optimizer, const Device& device) {
  Optimizer::Impl& impl = *optimizer.impl_;
  if (impl.scaling == Optimizer::Impl::Scaling::device) return {.device = impl.loss_scale->scale_on(device)};
  return {.host = impl.scaling == Optimizer::Impl::Scaling::none ? 1 : impl.chainer_scale};
}

void OptimizerAccess::accumulate(const Optimizer& optimizer, const Callable<Variable()>& lossfun, double weight,
                                 const GradientScale& scale) {
  const Variable loss = [&] {
    const GradientExchange* const exchange = optimizer.impl_->exchange.get();
    Optimizer::ForwardScope scope =
        optimizer.impl_->forward_scope ? optimizer.impl_->forward_scope() : Optimizer::ForwardScope();
    if (exchange != nullptr) scope = exchange->copy_scope(std::move(scope));
    const profiler::Range range("forward");
    const Variable of_part = lossfun();
    return weight == 1 ? of_part : of_part * weight;
  }();
  const profiler::Range range("backward");
  loss.backward({.loss_scale = scale.host != 1 ? std::optional<double>(scale.host) : std::nullopt,
                 .device_loss_scale = scale.device.is_defined() ? held_by(loss.dtype(), scale.device) : Array(),
                 .release_graph = !config().keep_graph_on_report});
}

Array OptimizerAccess::step_numbers(const Optimizer& optimizer) {
  const Optimizer::Impl& impl = *optimizer.impl_;
  if (impl.clock.source() == nullptr || impl.groups.empty()) return Array();
  StepMethod method = optimizer.method();
  if (!method.is_scheduled()) return Array();
  method.numbers[method.count] = static_cast<double>(impl.clock.t_and_skipped());
  const Device& device = impl.groups[0].device;
  constexpr int64_t kNumbers = StepMethod::kMostNumbers;
  const Array schedule = from_host(method.numbers, {kNumbers}, Dtype::float64, device);
  const Array numbers = empty({kNumbers}, Dtype::float64, device);
  method.launch_numbers({device, schedule, impl.clock.source()->skipped_on(device), numbers});
  return numbers;
}

void OptimizerAccess::attach_exchange(Optimizer& optimizer, std::shared_ptr<GradientExchange> exchange) {
  optimizer.impl_->exchange = std::move(exchange);
  ++optimizer.impl_->settings;
  if (optimizer.impl_->exchange != nullptr && optimizer.has_target()) optimizer.impl_->exchange->share(optimizer);
}

GradientExchange* OptimizerAccess::exchange(const Optimizer& optimizer) noexcept {
  return optimizer.impl_->exchange.get();
}

void OptimizerAccess::gather_state(Optimizer& optimizer, bool everywhere) {
  Optimizer::Impl& impl = *optimizer.impl_;
  StateShards* const shards = impl.exchange != nullptr ? impl.exchange->shards() : nullptr;
  if (shards == nullptr) return;
  impl.refresh();
  std::vector<StateShards::Member> members;
  for (const Optimizer::Impl::Member& member : impl.members) {
    if (member.rule != nullptr) members.push_back({member.parameter, member.rule, member.is_updated()});
  }
  shards->make_whole(members, everywhere);
}

std::vector<StateShards::Member> OptimizerAccess::assign_shards(Optimizer& optimizer) {
  Optimizer::Impl& impl = *optimizer.impl_;
  impl.refresh();
  std::vector<StateShards::Member> members;
  for (const Optimizer::Impl::Member& member : impl.members) {
    Parameter& parameter = *member.parameter;
    if (member.rule == nullptr || !parameter.is_initialized()) continue;
    make_dense(parameter);
    members.push_back({&parameter, member.rule, member.is_updated()});
  }
  impl.exchange->shards()->assign(members, optimizer.is_elementwise());
  return members;
}

bool OptimizerAccess::may_divide_gradients(const Optimizer& optimizer) noexcept {
  using Scaling = Optimizer::Impl::Scaling;
  const Optimizer::Impl& impl = *optimizer.impl_;
  if (impl.exchange->shards() == nullptr || !impl.hooks.empty()) return false;
  if (impl.scaling == Scaling::chainer_fixed || impl.scaling == Scaling::chainer_dynamic) return false;
  const auto lives = [](const auto& observer) { return !observer.expired(); };
  if (std::any_of(impl.observers.begin(), impl.observers.end(), lives)) return false;
  return std::all_of(impl.members.begin(), impl.members.end(), [](const Optimizer::Impl::Member& member) {
    return !member.is_updated() || member.rule->hooks.empty();
  });
}

bool OptimizerAccess::has_parts(const Optimizer& optimizer) noexcept { return optimizer.has_parts(); }

void OptimizerAccess::update_in_parts(Optimizer& optimizer, int64_t examples, const LossOfPart& loss_of) {
  optimizer.update_in_parts(examples, loss_of);
}

void OptimizerAccess::note_examples(Optimizer& optimizer, int64_t examples) {
  if (optimizer.impl_->exchange != nullptr) optimizer.impl_->exchange->note_examples(examples);
}

void OptimizerAccess::begin_examples(Optimizer& optimizer, int64_t examples) { optimizer.note_examples(examples); }

std::vector<std::pair<std::string, double>> OptimizerAccess::hyperparameters(Optimizer& optimizer) {
  std::vector<std::pair<std::string, double>> result;
  for (const Optimizer::Field& field : optimizer.fields()) result.emplace_back(field.name, *field.value);
  return result;
}

std::vector<std::string> OptimizerAccess::hooks(const Optimizer& optimizer) { return optimizer.impl_->hooks.names(); }

Array OptimizerAccess::seed(Optimizer& optimizer, const Variable& loss) {
  Optimizer::Impl& impl = *optimizer.impl_;
  if (impl.scaling == Optimizer::Impl::Scaling::none) return Array();
  if (impl.scaling != Optimizer::Impl::Scaling::device) {
    throw StateError(std::string(optimizer.name()) +
                     ": its loss scaling is chainer_compatible, which knows one loss only");
  }
  const Device& device = loss.device();
  const Dtype dtype = is_half(loss.dtype()) ? loss.dtype() : Dtype::float64;  // float32's rounding does not matter
  GraphCapture* const capture = GraphCapture::current();
  // A recorded step computes it from today's scale, or never again.
  const bool is_foreign =
      capture != nullptr && !impl.is_fixed && impl.seed.is_defined() && impl.seed.storage().capture != capture->id();
  if (!impl.seed.is_defined() || is_foreign || impl.seed.device() != device || impl.seed_dtype != dtype) {
    const ScopedGraphCapture once(impl.is_fixed ? nullptr : capture);
    impl.seed = held_by(dtype, impl.loss_scale->scale_on(device));
    impl.seed_dtype = dtype;
  }
  return impl.seed;
}

LossScale* OptimizerAccess::loss_scale(Optimizer& optimizer) noexcept { return optimizer.impl_->loss_scale.get(); }

Array OptimizerAccess::squared_norm(Optimizer& optimizer) {
  optimizer.impl_->refresh();
  optimizer.exchange_gradients();
  if (DividedGradients* const divided = optimizer.divided_gradients()) {
    return divided->square_sum(optimizer.impl_->members.front().parameter->device());
  }
  std::vector<Parameter*> parameters;
  for (const Optimizer::Impl::Member& member : optimizer.impl_->members) {
    if (member.parameter->is_initialized()) parameters.push_back(member.parameter);
  }
  return optimizer_hooks::gradient_square_sum(parameters);
}

void OptimizerAccess::update(Optimizer& optimizer, const Array& guard, const Array& loss_scale) {
  const profiler::Range range("update");
  Optimizer::Impl& impl = *optimizer.impl_;
  if (optimizer.has_loss_scaling()) {
    throw StateError(std::string(optimizer.name()) +
                     "::update: the optimizer scales the loss itself; call no_loss_scaling() to scale it elsewhere");
  }
  impl.refresh();
  if (guard.is_defined() && impl.skips == nullptr) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    impl.skips = std::make_shared<LossScale>(kernels::LossScaleRule{1, 1, 1, 0, kInfinity, 0}, 1);
  }
  if (optimizer.exchange_gradients()) Optimizer::Step(impl).run_guarded(guard, loss_scale);
  if (impl.exchange != nullptr) impl.exchange->forget_exchanged();
}

void OptimizerAccess::unscale(Optimizer& optimizer, const Array& loss_scale) {
  optimizer.impl_->refresh();
  optimizer.exchange_gradients();
  if (DividedGradients* const divided = optimizer.divided_gradients()) return divided->unscale(loss_scale);
  Conversions conversions;
  for (const Optimizer::Impl::Member& member : optimizer.impl_->members) {
    Parameter& parameter = *member.parameter;
    if (member.rule == nullptr) continue;
    if (!parameter.is_initialized() || parameter.node()->grad == nullptr) continue;
    const Array& gradient = own_gradient(parameter);
    conversions.add(gradient, gradient, {.device = loss_scale});
    forget_scale(parameter);
  }
  conversions.run();
}

std::string OptimizerAccess::obstacle(const Optimizer& optimizer) {
  Optimizer::Impl& impl = *optimizer.impl_;
  using Scaling = Optimizer::Impl::Scaling;
  if (impl.scaling == Scaling::chainer_fixed || impl.scaling == Scaling::chainer_dynamic) {
    return "its loss scaling is chainer_compatible, which looks at gradients on the host";
  }
  if (exchanges(optimizer)) {
    std::string found = impl.exchange->obstacle();
    if (!found.empty()) return found;
  }
  if (optimizer.has_parts()) return "its batches are computed in parts (reproducible)";
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

uint64_t OptimizerAccess::settings(const Optimizer& optimizer) noexcept { return optimizer.impl_->settings; }

Optimizer::ForwardScope OptimizerAccess::changing_forward_scope(const Optimizer& optimizer) {
  const Optimizer::Impl& impl = *optimizer.impl_;
  return impl.forward_scope_is_constant ? Optimizer::ForwardScope() : impl.forward_scope();
}

bool OptimizerAccess::exchanges(const Optimizer& optimizer) noexcept {
  const GradientExchange* const exchange = optimizer.impl_->exchange.get();
  return exchange != nullptr && exchange->group().size() > 1;
}

bool OptimizerAccess::has_new_settings(const Optimizer& optimizer) noexcept {
  return optimizer.impl_->exchanged_settings != optimizer.impl_->settings;
}

GradientExchange::StaticStep OptimizerAccess::begin_static_step(Optimizer& optimizer, int stage) {
  Optimizer::Impl& impl = *optimizer.impl_;
  impl.refresh();
  return impl.exchange->begin_static_step(optimizer, impl.all_parameters(), stage);
}

Optimizer::ForwardScope OptimizerAccess::rank_scope(const Optimizer& optimizer) {
  return optimizer.impl_->exchange->forward_scope(nullptr, false);
}

}  // namespace kusari::detail
