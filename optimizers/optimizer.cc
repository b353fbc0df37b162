#include "kusari/optimizers/optimizer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>

#include "kusari/framework/autograd/final_leaves.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/profiler.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/optimizers/optimizer_access.h"
#include "kusari/optimizers/optimizer_impl.h"
#include "kusari/optimizers/step.h"

namespace kusari {

using detail::GradientScale;
using detail::KernelRule;

namespace {

constexpr double kLargestFloat16 = 65504;
constexpr double kFirstLossScale = 32768;      // of continuous growth
constexpr double kFirstStepwiseScale = 65536;  // GradScaler's

uint64_t new_id() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

/// Null when the value is in the range.
template <class Range>
const char* broken_rule(Range range, double value) noexcept {
  switch (range) {
    case Range::finite:
      return std::isfinite(value) ? nullptr : "finite";
    case Range::not_negative:
      return value >= 0 && std::isfinite(value) ? nullptr : "finite and not negative";
    case Range::positive:
      return value > 0 && std::isfinite(value) ? nullptr : "finite and positive";
    case Range::zero_to_one:
      return value >= 0 && value <= 1 ? nullptr : "at least 0 and at most 1";
    case Range::zero_to_below_one:
      return value >= 0 && value < 1 ? nullptr : "at least 0 and less than 1";
  }
  return nullptr;
}

// What a program has set itself may be anything; out of a file it would only end the training later.
template <class Field>
void check_stored(const Serializer& serializer, const Field& field, double value) {
  const char* const rule = broken_rule(field.range, value);
  if (rule == nullptr || value == *field.value || serializer.restores()) return;
  throw ValueError(serializer.place(field.name) + "is " + general_text(value) + ": it must be " + rule);
}

/// Gradients that parameters held, and the loss scales in them, while a loss function may leave others there.
class HeldGradients {
 public:
  template <class Members>
  explicit HeldGradients(const Members& members) {
    for (const auto& member : members) {
      Parameter& parameter = *member.parameter;
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

/// Forgets the examples of a loss that throws while this lives: the next step is without it.
class NotedExamples {
 public:
  explicit NotedExamples(std::shared_ptr<GradientExchange> exchange, std::shared_ptr<void> outer = nullptr)
      : exchange_{std::move(exchange)}, outer_{std::move(outer)} {}
  NotedExamples(const NotedExamples&) = delete;
  NotedExamples& operator=(const NotedExamples&) = delete;
  ~NotedExamples() {
    if (exchange_ != nullptr && std::uncaught_exceptions() > exceptions_) exchange_->forget_examples();
  }

 private:
  std::shared_ptr<GradientExchange> exchange_;
  std::shared_ptr<void> outer_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace

Optimizer::Optimizer() : impl_{std::make_unique<Impl>()} {
  impl_->self = this;
  impl_->id = new_id();
}
Optimizer::Optimizer(Optimizer&& other) noexcept
    : impl_{std::move(other.impl_)},
      home_{std::move(other.home_)},
      call_{other.call_},
      epoch_{other.epoch_},
      use_auto_new_epoch_{other.use_auto_new_epoch_} {
  if (impl_) impl_->self = this;
}
Optimizer& Optimizer::operator=(Optimizer&& other) noexcept {
  impl_ = std::move(other.impl_);
  home_ = std::move(other.home_);
  call_ = other.call_;
  epoch_ = other.epoch_;
  use_auto_new_epoch_ = other.use_auto_new_epoch_;
  if (impl_) impl_->self = this;
  return *this;
}
Optimizer::~Optimizer() = default;

void Optimizer::setup_target(Link& link, size_t size, detail::CallModel call) {
  check_hyperparameters();
  home_ = link.home();
  call_ = call;
  epoch_ = 0;
  impl_->clock = detail::StepClock();
  impl_->hooks.clear();
  impl_->target_size = size;
  impl_->unused_gradients = {};
  ++impl_->settings;
  std::vector<std::string> hyperparameters;
  for (const Field& field : fields()) hyperparameters.emplace_back(field.name);
  for (Parameter* parameter : link.params()) {
    parameter->set_update_rule(std::make_unique<KernelRule>(impl_->id, state_names(), hyperparameters));
  }
  if (impl_->exchange) impl_->exchange->share(*this);
}

void Optimizer::check_hyperparameters() {
  for (const Field& field : fields()) {
    const char* const rule = broken_rule(field.range, *field.value);
    if (rule == nullptr) continue;
    throw ValueError(std::string(name()) + ": " + field.name + " is " + general_text(*field.value) + ": it must be " +
                     rule);
  }
}

Link& Optimizer::target() const {
  if (!home_) throw StateError(std::string(name()) + ": no target; call setup(model) first");
  return home_->get();
}

Variable Optimizer::call_target(std::span<const Variable> inputs, std::span<const std::string> keys) {
  return call_model(target(), {inputs, keys});
}

Variable Optimizer::call_model(Link& model, const detail::ModelInputs& inputs) const {
  if (call_ == nullptr) {
    throw StateError(std::string(name()) +
                     "::call_target: the target cannot be called with variables to get a variable; give the updater a "
                     "loss function");
  }
  return call_(model, inputs);
}

void Optimizer::cleargrads() {
  impl_->refresh();
  for (const Impl::Member& member : impl_->members) member.parameter->cleargrad();
}

Optimizer::ForwardScope Optimizer::Impl::loss_scope() const {
  ForwardScope scope = forward_scope ? forward_scope() : ForwardScope();
  if (exchange == nullptr) return scope;
  const bool makes_parameters =
      std::any_of(members.begin(), members.end(), [](const Member& m) { return !m.parameter->is_initialized(); });
  return exchange->forward_scope(std::move(scope), makes_parameters);
}

Optimizer::ForwardScope Optimizer::forward_scope() const {
  ForwardScope scope = impl_->loss_scope();
  if (impl_->exchange == nullptr) return scope;
  return std::make_shared<NotedExamples>(impl_->exchange, std::move(scope));
}

void Optimizer::note_examples(int64_t examples) {
  if (impl_->exchange != nullptr && examples >= 0) impl_->exchange->begin_examples(examples);
}

// Whether there are gradients for a step.
bool Optimizer::exchange_gradients() {
  return impl_->exchange == nullptr || impl_->exchange->run_once(*this, impl_->all_parameters());
}

// Null where parameters hold their gradients.
detail::DividedGradients* Optimizer::divided_gradients() const noexcept {
  return impl_->exchange != nullptr ? impl_->exchange->divided() : nullptr;
}

std::vector<Parameter*> Optimizer::Impl::all_parameters() const {
  std::vector<Parameter*> parameters;
  parameters.reserve(members.size());
  for (const Member& member : members) parameters.push_back(member.parameter);
  return parameters;
}

void Optimizer::backward(const Variable& loss, const BackwardOptions& options) {
  if (!loss.is_defined()) throw TypeError(std::string(name()) + "::backward: loss is not given: it is required");

  Impl& impl = *impl_;
  if (impl.exchange != nullptr) impl.exchange->forget_exchanged();
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
  const NotedExamples examples(impl_->exchange);
  if (!loss.is_defined()) {
    throw TypeError(std::string(name()) +
                    "::update: the loss function returned an undefined variable: it must return the loss");
  }
  cleargrads();  // what the loss function may have left
  // Of several elements: backward's own error.
  const auto is_parameter = [&](const Impl::Member& member) { return is_same(*member.parameter, loss); };
  if (loss.creator() == nullptr && loss.size() == 1 &&
      std::none_of(impl_->members.begin(), impl_->members.end(), is_parameter)) {
    throw StateError(std::string(name()) + "::update: the loss function returned a loss without a graph: " +
                     (config().enable_backprop
                          ? "it depends on no parameter, or was computed in no_backprop_mode or from arrays"
                          : "no_backprop_mode is in force (config.enable_backprop is false)") +
                     ", so that no parameter would get a gradient");
  }
  if (impl_->exchange == nullptr) {
    backward(loss, {.release_graph = !config().keep_graph_on_report});
  } else {
    impl_->exchange->forget_exchanged();
    const detail::ScopedFinalLeaves early(impl_->exchange->begin_backward(*this, impl_->all_parameters()));
    try {
      backward(loss, {.release_graph = !config().keep_graph_on_report});
    } catch (...) {
      impl_->exchange->backward_failed();
      throw;
    }
  }
  loss = Variable();
  impl_->warn_of_unreached_parameters();
  update();
}

Variable Optimizer::weighted_loss(const Callable<Variable()>& lossfun, double weight) const {
  const ForwardScope scope = impl_->loss_scope();
  const profiler::Range range("forward");
  const Variable loss = lossfun();
  return weight == 1 ? loss : loss * weight;
}

void Optimizer::accumulate(const Callable<Variable()>& lossfun, double weight) {
  if (!lossfun) throw ValueError(std::string(name()) + "::accumulate: lossfun is empty: it must be callable");

  impl_->refresh();
  HeldGradients held(impl_->members);
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
  impl_->refresh();
  if (impl_->exchange == nullptr) return Step(*impl_).run();
  if (exchange_gradients()) {
    const uint64_t drawn = random::state().offset;
    Step(*impl_).run();
    impl_->exchange->note_draws(random::state().offset != drawn);
  }
  impl_->exchange->forget_exchanged();
  if (GraphCapture::current() == nullptr) impl_->exchanged_settings = impl_->settings;
}

void Optimizer::Impl::refresh() {
  Link& target = self->target();
  const uint64_t now = detail::structure_version();
  if (version == now && link == &target) return;
  members.clear();
  groups.clear();
  for (Parameter* parameter : target.params()) {
    KernelRule* const rule = kernel_rule(*parameter);
    if (rule != nullptr && rule->owner != id) throw_displaced(target);
    members.push_back({parameter, rule});
  }
  version = now;
  link = &target;
}

void Optimizer::new_epoch(bool automatic) {
  if (automatic) {
    use_auto_new_epoch_ = true;
  } else if (use_auto_new_epoch_) {
    throw StateError(std::string(name()) + "::new_epoch: the updater already calls it (use_auto_new_epoch)");
  }
  ++epoch_;
}

void Optimizer::add_hook(const OptimizerHook& hook, std::string hook_name, HookTiming timing) {
  if (!has_target()) throw StateError(std::string(name()) + "::add_hook: call setup(model) first");
  impl_->hooks.add("Optimizer::add_hook", hook, std::move(hook_name), timing);
  ++impl_->settings;
}

std::shared_ptr<const void> Optimizer::observe_gradients(GradientObserver observer) {
  auto kept = std::make_shared<const GradientObserver>(std::move(observer));
  impl_->observers.push_back(kept);
  ++impl_->settings;
  return kept;
}

void Optimizer::remove_hook(const std::string& hook_name) {
  impl_->hooks.remove("Optimizer::remove_hook", hook_name);
  ++impl_->settings;
}

void Optimizer::use_fp32_update(bool use) {
  impl_->fp32_update = use;
  ++impl_->settings;
}

void Optimizer::set_forward_scope(Callable<ForwardScope()> make, bool is_constant) {
  impl_->forward_scope = std::move(make);
  impl_->forward_scope_is_constant = is_constant || !impl_->forward_scope;
  ++impl_->settings;
}

void Optimizer::loss_scaling(const LossScalingOptions& options) {
  const auto require_positive = [call = std::string(name()) + "::loss_scaling"](const char* option, double value) {
    argument::finite_positive(call, option, value);
  };
  if (options.scale) require_positive("scale", *options.scale);
  require_positive("interval", options.interval);
  require_positive("growth_factor", options.growth_factor);
  require_positive("backoff_factor", options.backoff_factor);
  if (options.initial_scale) require_positive("initial_scale", *options.initial_scale);
  no_loss_scaling();
  Impl& impl = *impl_;
  if (options.chainer_compatible) {
    impl.scaling = options.scale ? Impl::Scaling::chainer_fixed : Impl::Scaling::chainer_dynamic;
    impl.chainer_growth = std::pow(options.growth_factor, 1 / options.interval);
    impl.chainer_scale = options.scale.value_or(options.initial_scale.value_or(1));
    return;
  }
  impl.scaling = Impl::Scaling::device;
  impl.is_fixed = options.scale.has_value();
  kernels::LossScaleRule rule{1, 1, 1, 0, std::numeric_limits<double>::infinity(), 0};
  double first = options.scale.value_or(1);
  if (!impl.is_fixed && options.growth == LossScaleGrowth::continuous) {
    rule = {std::pow(options.growth_factor, 1 / options.interval), options.backoff_factor, 1, 1, kLargestFloat16, 2};
    first = options.initial_scale.value_or(kFirstLossScale);
  } else if (!impl.is_fixed) {
    rule = {.growth_factor = options.growth_factor,
            .backoff_factor = options.backoff_factor,
            .growth_interval = options.interval,
            .min = std::numeric_limits<float>::min(),
            .max = std::numeric_limits<double>::infinity(),
            .warmup = 0};
    first = options.initial_scale.value_or(kFirstStepwiseScale);
  }
  impl.loss_scale = std::make_shared<LossScale>(rule, first);
}

void Optimizer::no_loss_scaling() {
  Impl& impl = *impl_;
  ++impl.settings;
  impl.scaling = Impl::Scaling::none;
  impl.is_fixed = false;
  impl.loss_scale = nullptr;
  impl.seed = Array();
  impl.reported_skips = 0;
  impl.chainer_scale = 1;
  impl.chainer_overflowed_ever = false;
  impl.chainer_is_safe = true;
}

bool Optimizer::has_loss_scaling() const noexcept { return impl_->scaling != Impl::Scaling::none; }

double Optimizer::loss_scale() const {
  report_skipped();
  return impl_->scaling == Impl::Scaling::device ? impl_->loss_scale->scale() : impl_->chainer_scale;
}

bool Optimizer::is_safe_to_update() const {
  return impl_->last != nullptr ? impl_->last->is_finite() : impl_->chainer_is_safe;
}

int64_t Optimizer::t() const {
  report_skipped();
  return impl_->clock.t();
}

int64_t Optimizer::skipped_steps() const {
  report_skipped();
  return impl_->clock.skipped();
}

// A dynamic scale that overflows does its work, but a fixed one has been chosen too large.
void Optimizer::report_skipped() const {
  Impl& impl = *impl_;
  if (!impl.is_fixed || impl.loss_scale->skipped() == impl.reported_skips) return;
  const int64_t skipped = impl.loss_scale->skipped() - impl.reported_skips;
  impl.reported_skips += skipped;
  log::warn(std::string(name()) + ": steps skipped because a gradient was not finite: " + std::to_string(skipped) +
            "; the fixed loss scale may be too large");
}

double& Optimizer::hyperparameter(const std::string& field) {
  std::string known;
  for (const Field& own : fields()) {
    if (field == own.name) return *own.value;
    known += std::string(" ") + own.name;
  }
  throw KeyError(std::string(name()) + "::hyperparameter: there is no '" + field + "': it must be one of" + known);
}

bool Optimizer::has_hyperparameter(const std::string& field) {
  for (const Field& own : fields()) {
    if (field == own.name) return true;
  }
  return false;
}

bool Optimizer::is_own_snapshot(Serializer& serializer) {
  const auto list = [](const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& each : names) text += (text.empty() ? "'" : ", '") + each + "'";
    return text.empty() ? "none" : text;
  };
  if (serializer.contains("rule")) {
    std::string rule;
    serializer("rule", rule);
    if (rule == rule_name()) return true;
    serializer.mismatch("rule", "is '" + rule + "': the file is a snapshot of the optimizer " + rule +
                                    ", and cannot be loaded into " + name());
    return false;
  }
  // Files of Chainer, and those from before there was a rule: what their optimizers keep, but "vhat", which Adam has
  // with an option.
  constexpr const char* kStates[] = {"m", "v", "h", "msdx", "msg", "ms", "n", "g", "delta", "mem", "g2"};
  const std::vector<std::string> own(state_names().begin(), state_names().end());
  for (const auto& [path, parameter] : target().namedparams()) {
    const std::unique_ptr<Serializer> entries = serializer.child(path.substr(1));
    std::vector<std::string> held;
    bool is_own = true;
    for (const char* state : kStates) {
      if (!entries->contains(state)) continue;
      held.emplace_back(state);
      is_own = is_own && std::find(own.begin(), own.end(), state) != own.end();
    }
    if (is_own) continue;
    serializer.mismatch(path.substr(1), "has states of another optimizer, " + list(held) + ": those of " + name() +
                                            " are " + list(own));
    return false;
  }
  return true;
}

void Optimizer::serialize(Serializer& serializer) {
  Impl& impl = *impl_;
  const bool writer = serializer.is_writer();
  if (writer) {
    std::string rule = rule_name();
    serializer("rule", rule);
  } else if (!serializer.restores() && !is_own_snapshot(serializer)) {
    return;
  }
  int64_t steps = writer ? t() : 0, skipped = writer ? impl.clock.skipped() : 0;
  serialize_count(serializer, "t", steps);
  serialize_count(serializer, "epoch", epoch_);
  if (writer || serializer.contains("skipped_steps")) serialize_count(serializer, "skipped_steps", skipped);
  if (!writer) {
    impl.clock = detail::StepClock(steps, skipped);
    ++impl.settings;
    if (impl.exchange != nullptr) impl.exchange->request_sharing();
  }
  const std::unique_ptr<Serializer> below = serializer.child("hyperparam");
  for (const Field& field : fields()) {
    if (!writer && !below->contains(field.name)) continue;
    double number = *field.value;
    (*below)(field.name, number);
    if (!writer) check_stored(*below, field, number);
    *field.value = number;
  }
  const bool is_fixed = impl.is_fixed || impl.scaling == Impl::Scaling::chainer_fixed;  // then it is the caller's
  if (has_loss_scaling() && (writer || (!is_fixed && serializer.contains("loss_scale")))) {
    if (impl.scaling != Impl::Scaling::device) {
      serialize_number(serializer, "loss_scale", impl.chainer_scale, EntryRange::positive);
      serializer("loss_scale_overflowed", impl.chainer_overflowed_ever);
    } else {
      // Clocks may still follow what was counted before.
      if (!writer) impl.loss_scale = std::make_shared<LossScale>(impl.loss_scale->rule(), impl.loss_scale->scale());
      impl.loss_scale->serialize(serializer);
      if (!writer) impl.reported_skips = 0;
    }
  }
  impl.seed = Array();
  for (const auto& [path, parameter] : target().namedparams()) {
    if (!parameter->has_update_rule()) continue;
    const std::unique_ptr<Serializer> entries = serializer.child(path.substr(1));
    auto* const rule = dynamic_cast<KernelRule*>(&parameter->update_rule());
    if (rule == nullptr) {
      parameter->update_rule().serialize(*entries);
      continue;
    }
    rule->serialize(*entries, *parameter,
                    [&, parameter = parameter](size_t k) { return state_shape(k, parameter->shape()); });
    if (writer || rule->overrides == nullptr) continue;
    const std::unique_ptr<Serializer> own = entries->child("hyperparam");
    rule->overrides->for_each([&](const char* key, const std::optional<double>& value) {
      for (const Field& field : fields()) {
        if (value && own->contains(key) && field.name == std::string_view(key)) check_stored(*own, field, *value);
      }
    });
  }
}

void detail::attach_exchange(Optimizer& optimizer, std::shared_ptr<GradientExchange> exchange) {
  OptimizerAccess::attach_exchange(optimizer, std::move(exchange));
}

GradientExchange* detail::exchange_of(const Optimizer& optimizer) noexcept {
  return OptimizerAccess::exchange(optimizer);
}

}  // namespace kusari
