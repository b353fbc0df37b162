#include "kusari/optimizers/rule.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/links/parameter.h"

namespace kusari {

void OptimizerHook::throw_needs_optimizer() {
  throw StateError("UpdateRule::add_hook: this hook takes an Optimizer&; add it to the optimizer");
}

namespace {

/// Whether the entry can be state of a parameter, by whose sizes kernels go: of this shape, or of any for a parameter
/// that has no shape yet, which it may get from a file that is read later.
bool is_state(const std::optional<Shape>& shape, Serializer& serializer, const std::string& name, const Array& stored) {
  if (!stored.is_floating()) {
    serializer.mismatch(name, std::string("has dtype ") + kusari::name(stored.dtype()) + ": it must be floating");
    return false;
  }
  if (!shape || stored.shape() == *shape) return true;
  serializer.mismatch(name, "has shape " + to_string(stored.shape()) + " but must have shape " + to_string(*shape));
  return false;
}

}  // namespace

namespace detail {

void HookList::add(const char* call, const OptimizerHook& hook, std::string name, HookTiming timing) {
  if (name.empty()) name = hook.name();
  if (name.empty()) throw ValueError(std::string(call) + ": the hook has no name of its own: give it one");
  for (const Entry& entry : *entries_) {
    if (entry.name == name) throw KeyError(std::string(call) + ": there is already a hook named '" + name + "'");
  }
  if (timing == HookTiming::automatic) timing = hook.timing();
  if (timing == HookTiming::automatic) timing = HookTiming::pre;
  Entries changed = *entries_;
  changed.push_back({std::move(name), timing, hook});
  entries_ = std::make_shared<const Entries>(std::move(changed));
  ++version_;
}

void HookList::remove(const char* call, const std::string& name) {
  Entries changed = *entries_;
  if (std::erase_if(changed, [&](const Entry& entry) { return entry.name == name; }) == 0) {
    throw KeyError(std::string(call) + ": there is no hook named '" + name + "'");
  }
  entries_ = std::make_shared<const Entries>(std::move(changed));
  ++version_;
}

bool HookList::has(HookTiming timing) const noexcept {
  for (const Entry& entry : *entries_) {
    if (entry.timing == timing) return true;
  }
  return false;
}

void HookList::run(HookTiming timing, Optimizer* optimizer, std::span<Parameter* const> parameters,
                   std::span<UpdateRule* const> rules) const {
  const std::shared_ptr<const Entries> entries = entries_;
  for (const Entry& entry : *entries) {
    if (entry.timing != timing) continue;
    if (GraphCapture* const capture = GraphCapture::current(); capture != nullptr && !entry.hook.replays()) {
      capture->refused("Optimizer::update", "the hook '" + entry.name + "' may do more than launch kernels");
    }
    entry.hook(optimizer, parameters, rules);
  }
}

const std::string* HookList::find_unreplayable() const noexcept {
  for (const Entry& entry : *entries_) {
    if (!entry.hook.replays()) return &entry.name;
  }
  return nullptr;
}

std::vector<std::string> HookList::names() const {
  std::vector<std::string> result;
  for (const Entry& entry : *entries_) result.push_back(entry.name);
  return result;
}

Hyperparameters& KernelRule::hyperparam() {
  if (overrides == nullptr) overrides = std::make_unique<Hyperparameters>();
  return *overrides;
}

Array KernelRule::state(const std::string& name) const {
  for (size_t i = 0; i < states.size(); ++i) {
    if (name == names[i]) return states[i];
  }
  if (name == "fp32_param" && master != nullptr && !part) return master->array();
  return {};
}

void KernelRule::add_hook(const OptimizerHook& hook, std::string name, HookTiming timing) {
  hooks.add("UpdateRule::add_hook", hook, std::move(name), timing);
}

void KernelRule::remove_hook(const std::string& name) { hooks.remove("UpdateRule::remove_hook", name); }

void KernelRule::visit(Serializer& serializer, const Expected* expected) {
  const bool writer = serializer.is_writer();
  if (writer && part && !serializer.restores()) {
    throw StateError(
        "Optimizer::serialize: each rank has a part of the state (shard_optimizer): call "
        "distributed::gather_optimizer_state on all ranks before, as multi_node_snapshot does");
  }
  if (serializer.restores()) visit_part(serializer);
  const auto in_part = [&](const Shape& shape) {
    const bool is_cut = part && shape == expected->parameter.shape() && !part->is_whole(expected->parameter.size());
    return is_cut && serializer.restores() ? Shape{part->size()} : shape;
  };
  const auto shape_of = [&](size_t k) {
    return expected != nullptr ? std::optional<Shape>(in_part(expected->state_shape(k))) : std::nullopt;
  };
  if (writer || serializer.contains("t")) {
    int64_t t = writer ? clock.t() : 0;
    serialize_count(serializer, "t", t);
    if (!writer) clock = StepClock(t);
  }
  if (writer) {
    for (size_t i = 0; i < states.size(); ++i) serializer(names[i], states[i]);
  } else {
    std::vector<Array> read;
    const std::string* missing = nullptr;
    for (size_t k = 0; k < names.size(); ++k) {
      Array value;
      if (serializer.contains(names[k])) serializer(names[k], value);
      if (!value.is_defined()) missing = &names[k];
      if (value.is_defined() && is_state(shape_of(k), serializer, names[k], value)) read.push_back(value);
    }
    if (missing != nullptr && !read.empty()) serializer.mismatch(*missing, "is missing or None beside the others");
    if (read.size() == names.size()) {
      states = std::move(read);
      if (!serializer.restores()) part.reset();
    } else if (serializer.restores()) {
      states.clear();
    }
  }
  // Beyond Chainer's entries.
  if (writer ? master != nullptr : serializer.contains("fp32_param")) {
    Array value;
    if (writer) value = master->array();
    serializer("fp32_param", value);
    const auto shape = expected != nullptr ? std::optional<Shape>(in_part(expected->parameter.shape())) : std::nullopt;
    if (!writer && value.is_defined() && is_state(shape, serializer, "fp32_param", value)) {
      master = std::make_unique<Parameter>(value.astype(Dtype::float32));
      rounded.reset();  // the parameter may be read later
    }
  } else if (!writer) {
    master = nullptr;  // Chainer's files have none: it begins anew from the parameter
  }
  if (writer && overrides == nullptr) return;
  const std::unique_ptr<Serializer> below = serializer.child("hyperparam");
  if (serializer.restores() && !writer) overrides = nullptr;
  Hyperparameters found = overrides != nullptr ? *overrides : Hyperparameters();
  if (!writer) {
    for (const std::string& name : hyperparameter_names) found[name];  // those that may be found
  }
  bool any = false;
  found.for_each([&](const char* name, std::optional<double>& value) {
    if (writer ? !value.has_value() : !below->contains(name)) return;
    double number = value.value_or(0);
    (*below)(name, number);
    value = number;
    any = true;
  });
  if (!writer && any) hyperparam() = found;
}

// Which elements the arrays are of, for who undoes a load.
void KernelRule::visit_part(Serializer& serializer) {
  std::vector<int64_t> numbers;
  if (serializer.is_writer() && part) {
    numbers = {part->begin, part->end};
    numbers.insert(numbers.end(), part->order.begin(), part->order.end());
  }
  if (serializer.is_writer() ? numbers.empty() : !serializer.contains("part")) return part.reset();
  serializer("part", numbers);
  part = ParameterPart{numbers.at(0), numbers.at(1), Strides(numbers.begin() + 2, numbers.end())};
}

void KernelRule::to(const Device& device) {
  for (Array& value : states) value = value.to_device(device);
  if (master != nullptr) master->to(device);
  rounded.reset();  // the parameter goes, too
}

}  // namespace detail
}  // namespace kusari
