#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/links/parameter.h"

namespace kusari {

class Optimizer;

/// What runs around the update of an optimizer or of one parameter: one of optimizer_hooks::, or any callable that
/// takes
/// - a span of Parameter pointers: all parameters at once, gradients never undefined;
/// - an UpdateRule& and a Parameter&, or a Parameter& alone: called for each parameter;
/// - an Optimizer&.
/// `kName` and `kTiming` of its class, if they exist, are the defaults of add_hook. A class with `kReplays` = true says
/// that it does the same kernels at every step and nothing else that matters: steps with other hooks are not made
/// static graphs. Copies share the callable.
class KUSARI_API OptimizerHook {
 public:
  template <class F>
  requires(std::invocable<F&, std::span<Parameter* const>> || std::invocable<F&, UpdateRule&, Parameter&> ||
           std::invocable<F&, Parameter&> || std::invocable<F&, Optimizer&>) OptimizerHook(F hook)
      : hook_{std::make_shared<Model<F>>(std::move(hook))} {
    if constexpr (requires { std::string(F::kName); }) name_ = F::kName;
    if constexpr (requires { HookTiming(F::kTiming); }) timing_ = F::kTiming;
    if constexpr (requires { bool(F::kReplays); }) replays_ = F::kReplays;
  }

  const std::string& name() const noexcept { return name_; }
  HookTiming timing() const noexcept { return timing_; }
  bool replays() const noexcept { return replays_; }
  /// `rules` are those of the parameters; `optimizer` is null for the hooks of one parameter.
  void operator()(Optimizer* optimizer, std::span<Parameter* const> parameters,
                  std::span<UpdateRule* const> rules) const {
    hook_->run(optimizer, parameters, rules);
  }

 private:
  struct Concept {
    virtual ~Concept() = default;
    virtual void run(Optimizer* optimizer, std::span<Parameter* const> parameters,
                     std::span<UpdateRule* const> rules) = 0;
  };
  template <class F>
  struct Model final : Concept {
    explicit Model(F f) : function{std::move(f)} {}
    void run(Optimizer* optimizer, std::span<Parameter* const> parameters,
             std::span<UpdateRule* const> rules) override {
      if constexpr (std::invocable<F&, std::span<Parameter* const>>) {
        function(parameters);
      } else if constexpr (std::invocable<F&, UpdateRule&, Parameter&>) {
        for (size_t i = 0; i < parameters.size(); ++i) {
          if (rules[i] != nullptr) function(*rules[i], *parameters[i]);
        }
      } else if constexpr (std::invocable<F&, Parameter&>) {
        for (Parameter* p : parameters) function(*p);
      } else {
        if (optimizer == nullptr) throw_needs_optimizer();
        function(*optimizer);
      }
    }
    F function;
  };
  [[noreturn]] static void throw_needs_optimizer();

  Shared<Concept> hook_;
  std::string name_;
  HookTiming timing_ = HookTiming::pre;
  bool replays_ = false;
};

}  // namespace kusari
