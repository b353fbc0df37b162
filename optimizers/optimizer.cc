#include "kusari/optimizers/optimizer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/kernels/optimizer_step.h"
#include "kusari/optimizers/hooks/fused.h"
#include "kusari/optimizers/rule.h"

namespace kusari {

using detail::KernelRule;

namespace {

constexpr size_t kMaxNumbers = 8;
constexpr double kMaxLossScale = 65504;    // the largest float16
constexpr double kFirstLossScale = 32768;  // of dynamic scaling

uint64_t new_id() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

/// Numbers of a kernel in the memory of its device, written only when they change.
struct Numbers {
  Array array;
  std::array<double, kMaxNumbers> written;

  void write(const Device& device, const double* values, size_t n) {
    const bool fresh = !array.is_defined() || array.device() != device;
    if (fresh) array = empty({static_cast<int64_t>(kMaxNumbers)}, Dtype::float64, device);
    if (!fresh && std::memcmp(values, written.data(), n * sizeof(double)) == 0) return;
    std::copy(values, values + n, written.begin());
    device.backend().copy_from_host(device.index(), array.raw_data(), written.data(), n * sizeof(double));
  }
};

/// Parameters that one launch updates.
struct Group {
  Device device;
  Dtype dtype;
  int64_t t;
  const Hyperparameters* overrides;
  std::vector<size_t> members;   // indices of entries
  std::vector<Array> gradients;  // held during the launch only
  std::vector<Array> arrays;     // kept between steps, so that counts stay untouched
  Numbers numbers;
};

/// Tensors to be converted from one dtype to another and multiplied by a factor, in one launch for each device.
struct Conversions {
  struct Batch {
    double factor;
    std::vector<Array> from, to;  // of one device and one dtype
  };
  std::vector<Batch> batches;

  void add(const Array& from, const Array& to, double factor = 1) {
    const auto alike = [&](const Batch& batch) {
      return batch.from[0].device() == from.device() && batch.from[0].dtype() == from.dtype() &&
             batch.to[0].dtype() == to.dtype() && batch.factor == factor;
    };
    auto found = std::find_if(batches.begin(), batches.end(), alike);
    if (found == batches.end()) found = batches.insert(found, Batch{factor, {}, {}});
    found->from.push_back(from);
    found->to.push_back(to);
  }
  void run() const {
    for (const Batch& batch : batches) {
      launch<kernels::ConvertTensors>(batch.from[0].device(), batch.factor, InList(batch.from), InOutList(batch.to));
    }
  }
};

struct Entry {
  Parameter* parameter;
  KernelRule* rule;    // null: somebody else's parameter
  Parameter* stepped;  // what hooks and kernels see: the parameter or its float32 master
};

void keep(Array& slot, const Array& array) {
  if (!slot.is_same(array)) slot = array;
}

/// Whether a and b, of equal shapes, have their elements in the same order in memory.
bool same_layout(const Array& a, const Array& b) {
  if (a.is_contiguous() && b.is_contiguous()) return true;
  for (int axis = 0; axis < a.ndim(); ++axis) {
    if (a.shape()[axis] != 1 && a.strides()[axis] != b.strides()[axis]) return false;
  }
  return true;
}

bool conforms(const Array& value, const Array& like) {
  return value.dtype() == like.dtype() && value.device() == like.device() && same_layout(value, like);
}

/// `value` with the layout, dtype and device of `like`.
Array conform(const Array& value, const Array& like) {
  if (conforms(value, like)) return value;
  const Array copied = empty_like(like);
  copied.copy_from(value);
  return copied;
}

}  // namespace

struct Optimizer::Impl {
  uint64_t id = new_id();
  uint64_t version = 0;        // structure_version() of the lists below
  const Link* link = nullptr;  // where the target was then
  std::vector<Entry> entries;
  std::vector<Parameter*> stepped;  // of the initialised entries, for hooks
  std::vector<UpdateRule*> rules;
  std::vector<Group> groups;
  size_t group_count = 0;
  detail::HookList hooks;
  bool fp32_update = false;
  bool scaling = false;
  bool dynamic = false;
  bool compatible = false;
  bool overflowed_ever = false;
  double growth = 1;
  Array guard;  // squared norm of the gradients of this step, where loss scaling asks for it

  Group& group(const Device& device, Dtype dtype, int64_t t, const Hyperparameters* overrides) {
    for (size_t i = 0; i < group_count; ++i) {
      Group& g = groups[i];
      if (g.device == device && g.dtype == dtype && g.t == t && g.overrides == overrides) return g;
    }
    if (group_count == groups.size()) groups.emplace_back();
    Group& g = groups[group_count++];
    g.device = device;
    g.dtype = dtype;
    g.t = t;
    g.overrides = overrides;
    g.members.clear();
    return g;
  }
};

Optimizer::Optimizer() : impl_{std::make_unique<Impl>()} {}
Optimizer::Optimizer(Optimizer&& other) noexcept = default;
Optimizer& Optimizer::operator=(Optimizer&& other) noexcept = default;
Optimizer::~Optimizer() = default;

void Optimizer::setup_target(Link& link, detail::CallModel call) {
  home_ = link.home();
  call_ = call;
  t_ = 0;
  epoch_ = 0;
  impl_->hooks.clear();
  for (Parameter* parameter : link.params()) {
    parameter->set_update_rule(std::make_unique<KernelRule>(impl_->id, state_names()));
  }
}

Link& Optimizer::target() const {
  if (!home_) throw StateError(std::string(name()) + ": no target; call setup(model) first");
  return home_->get();
}

Variable Optimizer::call_target(std::span<const Variable> inputs) {
  Link& link = target();
  if (call_ == nullptr) {
    throw StateError(std::string(name()) +
                     "::call_target: the target cannot be called with variables to get a variable; give the updater a "
                     "loss function");
  }
  return call_(link, inputs);
}

void Optimizer::refresh() {
  Link& link = target();
  Impl& impl = *impl_;
  const uint64_t version = detail::structure_version();
  if (impl.version == version && impl.link == &link) return;
  impl.entries.clear();
  impl.groups.clear();
  for (Parameter* parameter : link.params()) {
    KernelRule* rule = parameter->has_update_rule() ? dynamic_cast<KernelRule*>(&parameter->update_rule()) : nullptr;
    if (rule != nullptr && rule->owner != impl.id) rule = nullptr;
    impl.entries.push_back({parameter, rule, parameter});
  }
  impl.version = version;
  impl.link = &link;
}

void Optimizer::cleargrads() {
  refresh();
  for (const Entry& entry : impl_->entries) entry.parameter->cleargrad();
}

void Optimizer::update_for(Variable loss) {
  cleargrads();  // what the loss function may have left
  BackwardOptions options;
  options.release_graph = !config().keep_graph_on_report;
  if (impl_->scaling) options.loss_scale = loss_scale_;
  {
    const profiler::Range range("backward");
    loss.backward(options);
    loss = Variable();
  }
  update();
}

void Optimizer::update() {
  const profiler::Range range("update");
  refresh();
  Impl& impl = *impl_;
  prepare_gradients();
  is_safe_to_update_ = true;
  impl.guard = Array();
  if (impl.scaling && (impl.dynamic || !impl.compatible)) is_safe_to_update_ = gradients_are_finite();
  if (is_safe_to_update_ || impl.compatible) {
    if (!impl.compatible) unscale_gradients();
    call_hooks(HookTiming::pre);
    ++t_;
    if (is_safe_to_update_) {
      if (impl.compatible) unscale_gradients();
      update_parameters();
    }
    call_hooks(HookTiming::post);
  }
  for (const Entry& entry : impl.entries) {
    if (entry.stepped != entry.parameter) entry.stepped->cleargrad();
  }
  update_loss_scale();
}

// Gives every parameter a gradient that kernels can take: its own array, in the parameter's memory order.
void Optimizer::prepare_gradients() {
  Impl& impl = *impl_;
  impl.stepped.clear();
  impl.rules.clear();
  for (Entry& entry : impl.entries) {
    Parameter& parameter = *entry.parameter;
    entry.stepped = &parameter;
    if (!parameter.is_initialized()) continue;
    const Array& array = parameter.array();
    if (!array.is_dense()) parameter.set_array(array.contiguous());
    const detail::VariableNode* const gradient = parameter.node()->grad;
    if (gradient == nullptr) {
      parameter.set_grad(zeros_like(parameter.array()));
    } else if (!same_layout(gradient->array, parameter.array())) {
      parameter.set_grad(conform(gradient->array, parameter.array()));
    }
    impl.stepped.push_back(&parameter);
    impl.rules.push_back(entry.rule);
  }
}

bool Optimizer::gradients_are_finite() {
  Impl& impl = *impl_;
  impl.guard = optimizer_hooks::gradient_square_sum(impl.stepped);
  if (!impl.guard.is_defined() || std::isfinite(impl.guard.item<double>())) return true;
  for (Parameter* const parameter : impl.stepped) {
    if (std::isfinite(optimizer_hooks::gradient_square_sum({&parameter, 1}).item<double>())) continue;
    log::warn(std::string(name()) + ": the gradient of " + parameter->name() + " is not finite; the step is skipped");
    break;
  }
  return false;
}

// Divides gradients by their loss scale. 16-bit parameters under use_fp32_update get it in float32, in their master.
void Optimizer::unscale_gradients() {
  Impl& impl = *impl_;
  std::map<double, std::vector<Parameter*>> scaled;
  Conversions gradients;
  for (Entry& entry : impl.entries) {
    Parameter& parameter = *entry.parameter;
    if (!parameter.is_initialized() || entry.rule == nullptr || !entry.rule->enabled) continue;
    const double scale = parameter.loss_scale();
    if (impl.fp32_update && is_half(parameter.dtype())) {
      std::unique_ptr<Parameter>& master = entry.rule->master;
      if (master == nullptr) master = std::make_unique<Parameter>(parameter.array().astype(Dtype::float32));
      master->to(parameter.device());  // one that was read from a file is on the CPU
      if (!same_layout(master->array(), parameter.array())) {
        master->set_array(conform(master->array(), parameter.array().astype(Dtype::float32)));
      }
      const Array gradient = empty_like(master->array());
      gradients.add(parameter.node()->grad->array, gradient, 1 / scale);
      master->set_grad(gradient);
      entry.stepped = master.get();
    } else if (scale != 1) {
      parameter.node()->saved_state().loss_scale = 1;
      scaled[scale].push_back(&parameter);
    }
  }
  gradients.run();
  for (const auto& [scale, parameters] : scaled) optimizer_hooks::scale_gradients(parameters, 1 / scale);
  impl.stepped.clear();
  for (const Entry& entry : impl.entries) {
    if (entry.parameter->is_initialized()) impl.stepped.push_back(entry.stepped);
  }
}

void Optimizer::call_hooks(HookTiming timing) {
  if (impl_->hooks.has(timing)) impl_->hooks.run(timing, this, impl_->stepped, impl_->rules);
}

void Optimizer::update_parameters() {
  Impl& impl = *impl_;
  impl.group_count = 0;
  const std::span<const char* const> names = state_names();
  for (size_t i = 0; i < impl.entries.size(); ++i) {
    const Entry& entry = impl.entries[i];
    if (!entry.parameter->is_initialized() || entry.rule == nullptr || !entry.rule->enabled) continue;
    KernelRule& rule = *entry.rule;
    Parameter* stepped = entry.stepped;
    ++rule.t;
    if (!rule.hooks.empty()) {
      UpdateRule* const base = &rule;
      rule.hooks.run(HookTiming::pre, nullptr, {&stepped, 1}, {&base, 1});
    }
    const Array& array = stepped->array();
    if (rule.states.size() != names.size()) {
      rule.names = names;
      for (size_t k = rule.states.size(); k < names.size(); ++k)
        rule.states.push_back(full_like(array, initial_state(k)));
    }
    for (Array& state : rule.states) {
      if (!conforms(state, array)) state = conform(state, array);
    }
    impl.group(array.device(), array.dtype(), rule.t, rule.overrides.get()).members.push_back(i);
  }
  launch_groups();
  Conversions parameters;
  for (const Entry& entry : impl.entries) {
    if (entry.stepped != entry.parameter) parameters.add(entry.stepped->array(), entry.parameter->array());
  }
  parameters.run();
  for (const Entry& entry : impl.entries) {
    if (!entry.parameter->is_initialized() || entry.rule == nullptr || !entry.rule->enabled) continue;
    if (!entry.rule->hooks.empty()) {
      UpdateRule* const base = entry.rule;
      entry.rule->hooks.run(HookTiming::post, nullptr, {&entry.stepped, 1}, {&base, 1});
    }
  }
}

void Optimizer::launch_groups() {
  Impl& impl = *impl_;
  const size_t states = state_names().size();
  for (size_t index = 0; index < impl.group_count; ++index) {
    Group& group = impl.groups[index];
    const size_t n = group.members.size();
    group.gradients.resize(n);
    group.arrays.resize(n * (1 + states));
    for (size_t i = 0; i < n; ++i) {
      const Entry& entry = impl.entries[group.members[i]];
      group.gradients[i] = entry.stepped->node()->grad->array;
      keep(group.arrays[i], entry.stepped->array());
      for (size_t k = 0; k < states; ++k) keep(group.arrays[(1 + k) * n + i], entry.rule->states[k]);
    }

    double values[kMaxNumbers];
    size_t count;
    if (group.overrides == nullptr) {
      count = numbers(group.t, values);
    } else {
      // The optimizer's own members stand in for the parameter's while the numbers are computed.
      Hyperparameters overrides = *group.overrides;
      std::vector<std::pair<double*, double>> saved;
      overrides.for_each([&](const char* field, const std::optional<double>& value) {
        if (!value) return;
        double& own = hyperparameter(field);
        saved.emplace_back(&own, own);
        own = *value;
      });
      count = numbers(group.t, values);
      for (const auto& [own, value] : saved) *own = value;
    }
    group.numbers.write(group.device, values, count);
    const Array guard = impl.guard.is_defined() ? impl.guard.to_device(group.device) : Array();
    launch_step(group.device, group.numbers.array, guard, InList(group.gradients), InOutList(group.arrays));
    for (Array& gradient : group.gradients) gradient = Array();
  }
}

void Optimizer::update_loss_scale() {
  Impl& impl = *impl_;
  if (!impl.dynamic) return;
  double factor = impl.growth;
  if (!is_safe_to_update_) {
    impl.overflowed_ever = true;
    factor = 0.5;
  } else if (impl.compatible && !impl.overflowed_ever) {
    factor = 2;
  }
  loss_scale_ = std::max(1.0, std::min(kMaxLossScale, loss_scale_ * factor));
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
}

void Optimizer::remove_hook(const std::string& hook_name) { impl_->hooks.remove("Optimizer::remove_hook", hook_name); }

void Optimizer::use_fp32_update(bool use) { impl_->fp32_update = use; }

void Optimizer::loss_scaling(const LossScalingOptions& options) {
  if (options.scale && *options.scale <= 0) {
    throw ValueError(std::string(name()) + "::loss_scaling: scale is " + std::to_string(*options.scale) +
                     " but must be positive");
  }
  if (!options.scale && options.interval <= 0) {
    throw ValueError(std::string(name()) + "::loss_scaling: interval is " + std::to_string(options.interval) +
                     " but must be positive");
  }
  Impl& impl = *impl_;
  impl.scaling = true;
  impl.dynamic = !options.scale.has_value();
  impl.compatible = options.chainer_compatible;
  impl.overflowed_ever = false;
  impl.growth = std::exp2(1 / options.interval);
  loss_scale_ = options.scale.value_or(options.chainer_compatible ? 1 : kFirstLossScale);
}

double& Optimizer::hyperparameter(const std::string& field) {
  std::string known;
  for (const Field& own : fields()) {
    if (field == own.name) return *own.value;
    known += std::string(" ") + own.name;
  }
  throw KeyError(std::string(name()) + " has no hyperparameter '" + field + "'; it has" + known);
}

bool Optimizer::has_hyperparameter(const std::string& field) {
  for (const Field& own : fields()) {
    if (field == own.name) return true;
  }
  return false;
}

void Optimizer::serialize(Serializer& serializer) {
  const bool writer = serializer.is_writer();
  serializer("t", t_);
  serializer("epoch", epoch_);
  const std::unique_ptr<Serializer> below = serializer.child("hyperparam");
  for (const Field& field : fields()) {
    if (writer || below->contains(field.name)) (*below)(field.name, *field.value);
  }
  if (impl_->scaling && (writer || serializer.contains("loss_scale"))) {
    serializer("loss_scale", loss_scale_);
    serializer("loss_scale_overflowed", impl_->overflowed_ever);
  }
  for (const auto& [path, parameter] : target().namedparams()) {
    if (parameter->has_update_rule()) parameter->update_rule().serialize(*serializer.child(path.substr(1)));
  }
}

}  // namespace kusari
