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
#include "kusari/framework/links/update_rule.h"
#include "kusari/optimizers/hook.h"
#include "kusari/optimizers/step_clock.h"

namespace kusari::detail {

/// The hooks of an optimizer or of one rule, in the order in which they run.
class HookList {
 public:
  void add(const char* call, const OptimizerHook& hook, std::string name, HookTiming timing);
  void remove(const char* call, const std::string& name);
  void clear() noexcept {
    entries_.clear();
    ++version_;
  }
  bool empty() const noexcept { return entries_.empty(); }
  bool has(HookTiming timing) const noexcept;
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
  std::vector<Entry> entries_;
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

/// The rule that Optimizer puts on a parameter: what the optimizer must remember about it.
class KernelRule final : public UpdateRule {
 public:
  KernelRule(uint64_t optimizer_id, std::span<const char* const> state_names)
      : owner{optimizer_id}, names{state_names} {}

  int64_t t() const override { return clock.t(); }
  Hyperparameters& hyperparam() override;
  Array state(const std::string& name) const override;
  void add_hook(const OptimizerHook& hook, std::string name, HookTiming timing) override;
  void remove_hook(const std::string& name) override;
  void serialize(Serializer& serializer) override { visit(serializer, nullptr); }
  /// The same; what is read must have the shape of the rule's parameter.
  void serialize(Serializer& serializer, const Parameter& parameter) { visit(serializer, &parameter); }
  void to(const Device& device) override;

  const uint64_t owner;                        // id of the optimizer
  std::span<const char* const> names;          // of `states`
  std::vector<Array> states;                   // empty before the first update
  std::unique_ptr<Hyperparameters> overrides;  // null: none
  std::unique_ptr<Parameter> master;           // float32 twin of a 16-bit parameter
  std::optional<WrittenState> rounded;         // the parameter as it got the master's values; none: as it comes
  HookList hooks;
  StepClock clock;

 private:
  void visit(Serializer& serializer, const Parameter* parameter);
};

}  // namespace kusari::detail
