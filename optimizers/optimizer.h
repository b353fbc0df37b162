#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/profiler.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/optimizers/hook.h"

namespace kusari {

class Serializer;

/// Options of Optimizer::loss_scaling.
struct LossScalingOptions {
  /// Dynamic scaling: after this many steps without overflow the scale has doubled.
  double interval = 1000;
  /// A fixed scale instead of a dynamic one.
  std::optional<double> scale = std::nullopt;
  /// Do exactly what Chainer does: hooks see scaled gradients of the parameters' own dtype, a fixed scale applies steps
  /// that overflowed, a dynamic one counts them, and the scale starts at 1.
  bool chainer_compatible = false;
};

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

  /// Starts optimizing a link: clock 0, no hooks, new update rules. Throws StateError for a sliced link.
  template <LinkType Model>
  Optimizer& setup(Model& model) {
    detail::LinkAccess::check_inside(model, &model, sizeof(Model));
    setup_target(model, detail::model_caller<Model>());
    return *this;
  }
  bool has_target() const noexcept { return static_cast<bool>(home_); }
  /// Throws StateError before setup and when the target is gone.
  Link& target() const;
  /// Calls the target with these variables. Throws TypeError when it takes another number of them.
  Variable call_target(std::span<const Variable> inputs);

  /// One step from the gradients that the parameters hold. A parameter without one has gradient zero.
  void update();
  /// One step for the loss that lossfun(args...) returns: forward, cleargrads, backward, update(). The old gradients go
  /// before the forward, whose activations can then have their memory; the graph is released as backward goes (unless
  /// config.keep_graph_on_report), so the loss cannot be differentiated again. The lossfun may be
  /// the target itself: `optimizer.update(model, x, t)`.
  template <class F, class... Args>
  requires std::is_invocable_r_v<Variable, F&, Args...>
  void update(F&& lossfun, Args&&... args) {
    cleargrads();
    const auto forward = [&] {
      const profiler::Range range("forward");
      return Variable(lossfun(std::forward<Args>(args)...));
    };
    update_for(forward());
  }

  /// Steps done since setup, and epochs as told by new_epoch.
  int64_t t() const noexcept { return t_; }
  int64_t epoch() const noexcept { return epoch_; }
  /// An updater that calls this itself passes true; calling it by hand as well throws StateError.
  void new_epoch(bool automatic = false);
  void use_auto_new_epoch(bool use = true) noexcept { use_auto_new_epoch_ = use; }

  /// Runs `hook` at every step, after those added before. Throws KeyError when the name is taken, ValueError without a
  /// name.
  void add_hook(const OptimizerHook& hook, std::string name = {}, HookTiming timing = HookTiming::automatic);
  /// Throws KeyError when there is none of that name.
  void remove_hook(const std::string& name);

  /// Updates float32 copies of 16-bit parameters, so that small steps are not rounded away. chainer's use_fp32_update.
  void use_fp32_update(bool use = true);
  /// Multiplies the loss before backward, and divides the gradients again, so that small 16-bit gradients survive.
  void loss_scaling(const LossScalingOptions& options = {});
  void set_loss_scale(double scale) { loss_scaling({.scale = scale}); }
  /// The factor of the next backward; 1 without loss scaling.
  double loss_scale() const noexcept { return loss_scale_; }
  /// Whether the gradients of the last step were all finite, as far as dynamic loss scaling looked.
  bool is_safe_to_update() const noexcept { return is_safe_to_update_; }

  /// The hyperparameter of that name. Throws KeyError listing those that there are.
  double& hyperparameter(const std::string& name);
  bool has_hyperparameter(const std::string& name);
  /// "Adam".
  virtual const char* name() const = 0;

  /// Clock, epoch, hyperparameters, loss scale, and the update rules under the paths of their parameters ("l1/W/m").
  /// Reads Chainer's snapshots, which have no hyperparameters.
  virtual void serialize(Serializer& serializer);

 protected:
  Optimizer();
  Optimizer(Optimizer&& other) noexcept;
  Optimizer& operator=(Optimizer&& other) noexcept;

  struct Field {
    const char* name;
    double* value;
  };
  /// Where the hyperparameters are.
  virtual std::vector<Field> fields() = 0;
  /// Names of the arrays that a rule keeps, in the order in which the kernel takes them.
  virtual std::span<const char* const> state_names() const noexcept = 0;
  /// Value of a state's elements before the first step.
  virtual double initial_state(size_t) const noexcept { return 0; }
  /// The numbers of the kernel for a rule's step number t, from the hyperparameters as they are now; returns how many.
  virtual size_t numbers(int64_t t, double* numbers) const = 0;
  template <class Step>
  static size_t write_numbers(const Step& step, double* out) {
    static_assert(sizeof(Step) % sizeof(double) == 0 && std::is_trivially_copyable_v<Step>);
    std::memcpy(out, &step, sizeof(Step));
    return sizeof(Step) / sizeof(double);
  }
  /// Launches the kernel. `arrays`: the parameters, then the states of all parameters one after the other. `guard`: see
  /// kernels::OptimizerStep.
  virtual void launch_step(const Device& device, const Array& numbers, In guard, InList gradients,
                           InOutList arrays) const = 0;

 private:
  struct Impl;
  void setup_target(Link& link, detail::CallModel call);
  void cleargrads();
  void update_for(Variable loss);
  void refresh();
  void prepare_gradients();
  bool gradients_are_finite();
  void unscale_gradients();
  void call_hooks(HookTiming timing);
  void update_parameters();
  void launch_groups();
  void update_loss_scale();

  std::unique_ptr<Impl> impl_;
  IntrusivePtr<Home> home_;
  detail::CallModel call_ = nullptr;
  int64_t t_ = 0;
  int64_t epoch_ = 0;
  double loss_scale_ = 1;
  bool use_auto_new_epoch_ = false;
  bool is_safe_to_update_ = true;
};

}  // namespace kusari
