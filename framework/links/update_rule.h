#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"

namespace kusari {

class OptimizerHook;
class Parameter;
class Serializer;

/// When an optimizer's hook runs: before the update, after it, or when the hook itself says.
enum class HookTiming : uint8_t { automatic, pre, post };

/// The hyperparameters that one parameter has for itself; what is not set is the optimizer's. Chainer's names are
/// members; those of other optimizers are set by name, as these may be: own["trust_coefficient"] = 0.01.
struct Hyperparameters {
  std::optional<double> alpha, beta, beta1, beta2, eps, eta, final_lr, gamma, lr, momentum, rho, weight_decay_rate;

  std::map<std::string, std::optional<double>, std::less<>> others;

  KUSARI_API std::optional<double>& operator[](const std::string& name);
  /// Calls visit(name, value) for each.
  template <class Visitor>
  void for_each(Visitor&& visit) {
    visit("alpha", alpha);
    visit("beta", beta);
    visit("beta1", beta1);
    visit("beta2", beta2);
    visit("eps", eps);
    visit("eta", eta);
    visit("final_lr", final_lr);
    visit("gamma", gamma);
    visit("lr", lr);
    visit("momentum", momentum);
    visit("rho", rho);
    visit("weight_decay_rate", weight_decay_rate);
    for (auto& [name, value] : others) visit(name.c_str(), value);
  }
};

/// How one parameter is updated, with the state that this needs: what an optimizer puts on each parameter of its
/// target. chainer.UpdateRule.
class KUSARI_API UpdateRule {
 public:
  UpdateRule() = default;
  UpdateRule(const UpdateRule&) = delete;
  UpdateRule& operator=(const UpdateRule&) = delete;
  virtual ~UpdateRule();

  /// A disabled rule leaves its parameter, its state and its clock alone.
  bool enabled = true;
  /// How many updates the parameter has had, without those that loss scaling skipped; waits for the device if there may
  /// have been such.
  virtual int64_t t() const = 0;

  /// Hyperparameters of this parameter alone: `W.update_rule().hyperparam().lr = 0.1`. The optimizer throws KeyError
  /// at the next update for one that it does not have.
  virtual Hyperparameters& hyperparam() = 0;
  /// The array of that name ("m", "v", or "fp32_param" for the float32 copy of a 16-bit parameter); undefined before
  /// the first update, and for a name that the rule does not have.
  virtual Array state(const std::string& name) const = 0;
  /// Runs `hook` around the update of this parameter alone. Throws KeyError when the name is taken.
  virtual void add_hook(const OptimizerHook& hook, std::string name = {},
                        HookTiming timing = HookTiming::automatic) = 0;
  /// Throws KeyError when there is none of that name.
  virtual void remove_hook(const std::string& name) = 0;
  virtual void serialize(Serializer& serializer) = 0;
  /// Moves the state.
  virtual void to(const Device& device) = 0;
};

}  // namespace kusari
