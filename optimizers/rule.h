#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/links/update_rule.h"
#include "kusari/optimizers/hook.h"
#include "kusari/optimizers/step_clock.h"

namespace kusari::detail {

/// The hooks of an optimizer or of one rule, in the order in which they run.
class HookList {
 public:
  void add(const char* call, const OptimizerHook& hook, std::string name, HookTiming timing);
  void remove(const char* call, const std::string& name);
  void clear() {
    entries_ = std::make_shared<const Entries>();
    ++version_;
  }
  bool empty() const noexcept { return entries_->empty(); }
  bool has(HookTiming timing) const noexcept;
  /// A hook may add and remove hooks: this run goes on with those that there were.
  void run(HookTiming timing, Optimizer* optimizer, std::span<Parameter* const> parameters,
           std::span<UpdateRule* const> rules) const;
  /// Another number whenever the hooks change.
  uint64_t version() const noexcept { return version_; }
  /// The name of the first hook that a replay cannot repeat; null: there is none.
  const std::string* find_unreplayable() const noexcept;
  std::vector<std::string> names() const;

 private:
  struct Entry {
    std::string name;
    HookTiming timing;
    OptimizerHook hook;
  };
  using Entries = std::vector<Entry>;
  std::shared_ptr<const Entries> entries_ = std::make_shared<const Entries>();  // changes make another list
  uint64_t version_ = 0;
};

/// By which an array can tell that somebody has written to it.
struct WrittenState {
  uint64_t storage, generation;
  Dtype dtype;

  static WrittenState of(const Array& array) {
    const Storage& storage = array.storage();
    return {storage.id, storage.generation.load(std::memory_order_relaxed), array.dtype()};
  }
  friend bool operator==(const WrittenState&, const WrittenState&) = default;
};

/// Elements begin .. end - 1 of a parameter, in the memory order that these strides say.
struct ParameterPart {
  int64_t begin = 0, end = 0;
  Strides order = {};

  int64_t size() const noexcept { return end - begin; }
  bool is_whole(int64_t parameter_size) const noexcept { return size() == parameter_size; }
};

/// The rule that Optimizer puts on a parameter: what the optimizer must remember about it.
class KernelRule final : public UpdateRule {
 public:
  KernelRule(uint64_t optimizer_id, std::span<const char* const> state_names, std::vector<std::string> hyperparameters)
      : owner{optimizer_id},
        names(state_names.begin(), state_names.end()),
        hyperparameter_names{std::move(hyperparameters)} {}

  int64_t t() const override { return clock.t(); }
  Hyperparameters& hyperparam() override;
  Array state(const std::string& name) const override;
  void add_hook(const OptimizerHook& hook, std::string name, HookTiming timing) override;
  void remove_hook(const std::string& name) override;
  void serialize(Serializer& serializer) override { visit(serializer, nullptr); }
  using StateShape = Callable<Shape(size_t state)>;
  /// The same; what is read must have these shapes and, for the float32 copy, that of the parameter.
  void serialize(Serializer& serializer, const Parameter& parameter, const StateShape& shape_of) {
    const Expected expected{parameter, shape_of};
    visit(serializer, parameter.is_initialized() ? &expected : nullptr);
  }
  void to(const Device& device) override;

  const uint64_t owner;            // id of the optimizer
  std::vector<std::string> names;  // of `states`
  const std::vector<std::string> hyperparameter_names;
  std::vector<Array> states;                   // empty before the first update
  std::optional<ParameterPart> part;           // of which states and master are, in a row; none: the whole parameter
  std::unique_ptr<Hyperparameters> overrides;  // null: none
  std::unique_ptr<Parameter> master;           // float32 twin of a 16-bit parameter
  std::optional<WrittenState> rounded;         // the parameter as it got the master's values; none: as it comes
  HookList hooks;
  StepClock clock;

 private:
  struct Expected {
    const Parameter& parameter;
    const StateShape& state_shape;
  };
  void visit(Serializer& serializer, const Expected* expected);
  void visit_part(Serializer& serializer);
};

}  // namespace kusari::detail
