#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/core/profiler.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/optimizers/batch_part.h"
#include "kusari/optimizers/hook.h"
#include "kusari/optimizers/loss_scaling_options.h"

namespace kusari {

class Serializer;

namespace detail {
class DividedGradients;
struct OptimizerAccess;
struct StepMethod;
}  // namespace detail

/// A gradient method: changes the parameters of its target so that a loss becomes smaller. Holds the target's home, so
/// the target may be moved, and puts an UpdateRule on each of its parameters.
///
/// The steps of all parameters that agree in dtype, device, clock and hyperparameters are one kernel launch.
/// Hyperparameters are plain members with Chainer's names. chainer.GradientMethod.
class KUSARI_API Optimizer {
 public:
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer();

  /// Starts optimizing a link: clock 0, no hooks, new update rules; parameters that are frozen stay so. Throws
  /// StateError for a sliced link, ValueError for a hyperparameter that makes no sense: NaN, a negative eps, a beta
  /// outside [0, 1). An update throws it, too, when a hyperparameter has become NaN or infinite, and StateError once
  /// the setup of another optimizer has taken over parameters of this one.
  template <LinkType Model>
  Optimizer& setup(Model& model) {
    detail::LinkAccess::check_inside(model, &model, sizeof(Model));
    setup_target(model, sizeof(Model), detail::model_caller<Model>());
    return *this;
  }
  bool has_target() const noexcept { return static_cast<bool>(home_); }
  /// Throws StateError before setup and when the target is gone.
  Link& target() const;
  /// Calls the target with these variables; by name, if there are keys and it takes DictVariables. Throws TypeError
  /// when it takes another number of them.
  Variable call_target(std::span<const Variable> inputs, std::span<const std::string> keys = {});

  /// One step from the gradients that the parameters hold. A parameter without one has gradient zero. Warns once when
  /// parameters have got gradients that nobody uses: those of a link that is a plain member where it was to be a Child,
  /// a Parameter member that was not made with its link, and those that were added after setup.
  void update();
  /// One step for the loss that lossfun(args...) returns: forward, cleargrads, backward, update(). The old gradients go
  /// before the forward, whose activations can then have their memory; the graph is released as backward goes (unless
  /// config.keep_graph_on_report), so the loss cannot be differentiated again. The lossfun may be
  /// the target itself: `optimizer.update(model, x, t)`. Throws StateError for a loss without a graph. Warns once when
  /// the loss reaches none of the target's parameters.
  template <class F, class... Args>
  requires std::is_invocable_r_v<Variable, F&, Args...>
  void update(F&& lossfun, Args&&... args) {
    const int64_t examples = detail::examples_of(args...);
    if (has_parts()) {
      if constexpr (detail::TakesParts<F, Args...>) {
        const auto loss_of = [&](const detail::BatchPart& part) { return Variable(lossfun(part.of(args)...)); };
        if (examples >= 0) return update_in_parts(examples, loss_of);
      }
      throw_needs_parts();
    }
    cleargrads();
    note_examples(examples);
    const auto forward = [&] {
      const ForwardScope scope = forward_scope();
      const profiler::Range range("forward");
      return Variable(lossfun(std::forward<Args>(args)...));
    };
    update_for(forward());
  }
  /// update(lossfun) without the step: the gradients of `weight` * loss are added to those that the parameters held, so
  /// that update() after several of these makes one step for all the losses. What lossfun leaves there is given up.
  void accumulate(const Callable<Variable()>& lossfun, double weight = 1);
  /// loss.backward(options) with this optimizer's loss scale: what update(lossfun) does between forward and step.
  /// Gradients carry the scale until a hook asks for them: see Variable::loss_scale and device_loss_scale.
  void backward(const Variable& loss, const BackwardOptions& options = {});
  using ForwardScope = std::shared_ptr<void>;
  /// What `make` returns lives while the lossfun of update(lossfun) runs; a null function: nothing does. `is_constant`:
  /// it does the same for every lossfun, so that a replay of a recorded step need not ask for it.
  void set_forward_scope(Callable<ForwardScope()> make, bool is_constant = false);

  /// Steps done since setup, without those that were skipped; waits for the device if there may have been such.
  int64_t t() const;
  /// Steps since setup that changed nothing because a gradient was not finite. Waits for the device.
  int64_t skipped_steps() const;
  /// Epochs as told by new_epoch.
  int64_t epoch() const noexcept { return epoch_; }
  /// An updater that calls this itself passes true; calling it by hand as well throws StateError.
  void new_epoch(bool automatic = false);
  void use_auto_new_epoch(bool use = true) noexcept { use_auto_new_epoch_ = use; }

  /// Runs `hook` at every step, after those added before. Throws KeyError when the name is taken, ValueError without a
  /// name. What a hook adds or removes counts from the next time that hooks run.
  void add_hook(const OptimizerHook& hook, std::string name = {}, HookTiming timing = HookTiming::automatic);
  /// Throws KeyError when there is none of that name.
  void remove_hook(const std::string& name);
  using GradientObserver = Callable<void(std::span<Parameter* const> parameters)>;
  /// Shows `observer` at every step the gradients as they came: of the parameters' dtype, with the loss scale, before
  /// the hooks; undefined ones are zero by then. As long as the result lives.
  [[nodiscard]] std::shared_ptr<const void> observe_gradients(GradientObserver observer);

  /// Updates float32 copies of 16-bit parameters, so that small steps are not rounded away, with float32 state (16-bit
  /// otherwise, as in Chainer). Where somebody else writes to a parameter, its copy follows. chainer's use_fp32_update.
  void use_fp32_update(bool use = true);
  /// Multiplies the loss before backward, and divides the gradients again, so that small 16-bit gradients survive. A
  /// step of which a gradient is not finite changes nothing but the scale; it does so on the device, without the host.
  void loss_scaling(const LossScalingOptions& options = {});
  void set_loss_scale(double scale) { loss_scaling({.scale = scale}); }
  void no_loss_scaling();
  bool has_loss_scaling() const noexcept;
  /// The factor of the next backward; 1 without loss scaling. Waits for the device.
  double loss_scale() const;
  /// Whether the gradients of the last step were all finite, as far as loss scaling looked. Waits for the device.
  bool is_safe_to_update() const;

  /// The hyperparameter of that name. Throws KeyError listing those that there are.
  double& hyperparameter(const std::string& name);
  bool has_hyperparameter(const std::string& name);
  /// "Adam".
  virtual const char* name() const = 0;

  /// Clock, epoch, hyperparameters, loss scale, and the update rules under the paths of their parameters ("l1/W/m"). A
  /// fixed loss scale stays as loss_scaling() made it. Reads Chainer's snapshots, which have no hyperparameters. Throws
  /// TypeError for the snapshot of another optimizer: by the name in it, or by states of parameters where it has none,
  /// as Chainer's; a reader that passes over what does not fit then leaves all as it is.
  virtual void serialize(Serializer& serializer);

 protected:
  Optimizer();
  Optimizer(Optimizer&& other) noexcept;
  Optimizer& operator=(Optimizer&& other) noexcept;

  /// What a hyperparameter may be; never NaN or infinite.
  enum class Range : uint8_t { finite, not_negative, positive, zero_to_one, zero_to_below_one };
  struct Field {
    const char* name;
    double* value;
    Range range = Range::finite;
  };

  /// Where the hyperparameters are.
  virtual std::vector<Field> fields() = 0;
  /// Names of the arrays that a rule keeps, in the order in which the kernel takes them.
  virtual std::span<const char* const> state_names() const noexcept = 0;
  /// Value of a state's elements before the first step.
  virtual double initial_state(size_t) const { return 0; }
  /// Shape of a state of a parameter of that shape. A kernel of kernels/optimizer.h needs them alike.
  virtual Shape state_shape(size_t, const Shape& parameter) const { return parameter; }
  /// detail::StepMethod::constant or scheduled of the functor of kernels/optimizer.h, with the hyperparameters as they
  /// are now.
  virtual detail::StepMethod method() const = 0;
  /// Whether the step of some elements of a parameter, taken alone, is what it is among the others; see
  /// distributed::MultiNodeOptimizerOptions::shard_optimizer.
  virtual bool is_elementwise() const noexcept { return true; }
  /// Of which optimizer's snapshots this one is: its own name, unless another one keeps the same state for the same
  /// use.
  virtual const char* rule_name() const { return name(); }

 private:
  friend struct detail::OptimizerAccess;
  struct Impl;
  class Step;
  class StepRecord;
  void setup_target(Link& link, size_t size, detail::CallModel call);
  void check_hyperparameters();
  bool is_own_snapshot(Serializer& serializer);
  Variable call_model(Link& model, const detail::ModelInputs& inputs) const;
  ForwardScope forward_scope() const;
  void cleargrads();
  // For several processes, whose gradients weigh as many examples as they are of; negative: nobody knows.
  void note_examples(int64_t examples);
  bool exchange_gradients();
  detail::DividedGradients* divided_gradients() const noexcept;
  // See GradientExchangeOptions::parts.
  bool has_parts() const noexcept;
  [[noreturn]] void throw_needs_parts() const;
  void update_in_parts(int64_t examples, const detail::LossOfPart& loss_of);
  Variable weighted_loss(const Callable<Variable()>& lossfun, double weight) const;
  void update_for(Variable loss);
  void report_skipped() const;

  Owned<Impl> impl_;
  IntrusivePtr<Home> home_;
  detail::CallModel call_ = nullptr;
  int64_t epoch_ = 0;
  bool use_auto_new_epoch_ = false;
};

}  // namespace kusari
