#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/links/stray_links.h"
#include "kusari/optimizers/gradient_exchange.h"
#include "kusari/optimizers/loss_scale.h"
#include "kusari/optimizers/optimizer.h"
#include "kusari/optimizers/optimizer_access.h"
#include "kusari/optimizers/rule.h"
#include "kusari/optimizers/step_clock.h"
#include "kusari/optimizers/step_launch.h"

// What an optimizer keeps from step to step.
namespace kusari {

namespace detail {

/// Numbers of a kernel in the memory of its device, written only when they change.
struct DeviceNumbers {
  static constexpr size_t kCapacity = StepMethod::kMostNumbers;
  Array array;
  std::array<double, kCapacity> written;
  bool is_written = false;  // array holds `written`

  void write(const Device& device, const double* values, size_t n);
  /// The array for a kernel that computes them.
  const Array& to_be_computed(const Device& device);

 private:
  bool make_on(const Device& device);
};

void forget_scale(const Parameter& parameter);
/// Whether a and b, of equal shapes, have their elements in the same order in memory.
bool same_layout(const Array& a, const Array& b);
/// `value` with the layout, dtype and device of `like`.
Array conform(const Array& value, const Array& like);
inline const Array& gradient_of(const Parameter& parameter) { return parameter.node()->grad->array; }
/// Makes the elements one flat range, as kernels take them.
void make_dense(Parameter& parameter);
/// The gradient, made an array that nobody else sees, in the parameter's memory order, so that kernels may change it.
const Array& own_gradient(Parameter& parameter);
/// The float32 twin of a 16-bit parameter's array, or of the rule's part of it, in its memory order. Where somebody has
/// written to the parameter since the last step (a file that was read, copydata), the twin follows.
Parameter& master_of(KernelRule& rule, const Array& array);

}  // namespace detail

struct Optimizer::Impl {
  enum class Scaling : uint8_t { none, device, chainer_fixed, chainer_dynamic };

  /// A parameter of the target.
  struct Member {
    Parameter* parameter;
    detail::KernelRule* rule;  // null: added after setup, or with a rule of somebody's own
    bool is_updated() const { return parameter->is_initialized() && rule != nullptr && rule->enabled; }
  };
  /// What a step knows of a parameter.
  struct StepEntry : Member {
    Parameter* stepped;         // what hooks and kernels see: the parameter or its float32 master
    Parameter* differentiated;  // whose gradient the step reads: one of these
    detail::GradientScale scale = {};
    bool has_zero_gradient = false;  // made up: any scale will do
  };
  /// Empty between steps: the next one has its room, and allocates nothing.
  struct StepLists {
    std::vector<StepEntry> entries;
    std::vector<Parameter*> stepped;  // of the initialised entries, for hooks
    std::vector<UpdateRule*> rules;
  };
  /// The numbers of a group's kernels where these read them. Recorded steps share them with the group.
  struct GroupNumbers {
    detail::DeviceNumbers numbers, schedule, host_scale;
  };
  /// Parameters that one launch updates.
  struct Group {
    // All members agree in these.
    Device device;
    Dtype dtype;
    Dtype gradient_dtype;
    Dtype copy_dtype;  // dtype without copies
    int64_t t;         // StepClock::t_and_skipped
    std::shared_ptr<LossScale> source;
    const Hyperparameters* overrides;
    detail::GradientScale scale;
    bool has_scale;                // false: of members with zero gradients alone
    std::vector<size_t> members;   // indices of the step's entries
    std::vector<Array> gradients;  // held during the launch only
    std::vector<Array> arrays;     // kept between steps, so that counts stay untouched
    std::vector<Array> copies;
    std::shared_ptr<GroupNumbers> numbers;
  };

  Optimizer* self;
  uint64_t id;
  std::shared_ptr<const uint64_t> life = std::make_shared<const uint64_t>(0);  // by which records know of its end
  uint64_t settings = 0;       // another number whenever hooks, observers, scaling or fp32_update change
  uint64_t version = 0;        // structure_version() of the lists below
  const Link* link = nullptr;  // where the target was then
  size_t target_size = 0;      // bytes of its object
  std::vector<Member> members;
  std::vector<Group> groups;  // of the last step
  StepLists lists;
  detail::HookList hooks;
  std::vector<std::weak_ptr<const GradientObserver>> observers;
  uint64_t recorded_by = 0;                    // id of the last GraphCapture that recorded a step
  std::shared_ptr<GradientExchange> exchange;  // with other processes; null: there are none
  uint64_t exchanged_settings = 0;             // of the last step with an exchange that was not recorded
  Callable<ForwardScope()> forward_scope;
  bool forward_scope_is_constant = true;  // there is none
  bool fp32_update = false;
  detail::StepClock clock;

  Scaling scaling = Scaling::none;
  std::shared_ptr<LossScale> loss_scale;  // of Scaling::device
  bool is_fixed = false;
  Array seed;                        // what gradients carry: the loss scale as it was before the next update
  Dtype seed_dtype;                  // to whose numbers it was rounded
  std::shared_ptr<LossScale> skips;  // counts the skipped steps of those who scale the loss themselves
  std::shared_ptr<LossScale> last;   // what the last step was guarded by; null: it was not
  int64_t reported_skips = 0;        // of a fixed scale

  /// What update() looks for to warn of it.
  struct UnusedGradients {
    uint64_t version = 0;  // structure_version() of `strays`
    detail::StrayMembers strays;
    bool is_stray_told = false, is_late_told = false, is_unreached_told = false;
  };
  UnusedGradients unused_gradients;

  double chainer_scale = 1;
  double chainer_growth = 1;
  bool chainer_overflowed_ever = false;
  bool chainer_is_safe = true;

  /// The rule that an optimizer has put on a parameter; null where none has.
  static detail::KernelRule* kernel_rule(const Parameter& parameter) {
    return parameter.has_update_rule() ? dynamic_cast<detail::KernelRule*>(&parameter.update_rule()) : nullptr;
  }
  /// The same; null for another optimizer's.
  detail::KernelRule* own_rule(const Parameter& parameter) const {
    detail::KernelRule* const rule = kernel_rule(parameter);
    return rule != nullptr && rule->owner == id ? rule : nullptr;
  }
  [[noreturn]] void throw_displaced(Link& target) const;
  std::vector<Parameter*> all_parameters() const;
  /// What lives while a loss is computed.
  ForwardScope loss_scope() const;
  /// Finds the target's parameters. Throws StateError when another optimizer has taken some.
  void refresh();
  /// Gives kernels their numbers; a method that is still scheduled has them computed by the device.
  detail::StepMethod write_numbers(GroupNumbers& to, const Device& device, int64_t t, const Hyperparameters* overrides,
                                   bool is_counted_on_device) const;
  /// Before gradients are prepared: parameters without one get zeros there.
  void warn_of_unused_gradients();
  /// After the backward pass of a loss, whose gradients are all that there are.
  void warn_of_unreached_parameters();
  void warn_of_stray_members();
};

}  // namespace kusari
