#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/optimizers/optimizer_impl.h"
#include "kusari/optimizers/step_record.h"

namespace kusari {

/// One step of an optimizer, for as long as it lasts. Unless it does as Chainer does, the host gives the device its
/// work and waits for nothing: the guard that skips a step, the loss scale and the count of steps are read by the
/// kernels.
class Optimizer::Step {
 public:
  /// Gives every parameter a gradient that kernels can take: an array of its own, in the parameter's memory order.
  explicit Step(Impl& impl);
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  ~Step();

  /// With the optimizer's own loss scaling.
  void run();
  /// `guard`: undefined, or one number that is finite unless the step is to change nothing, such as the squared norm of
  /// the gradients. `loss_scale`: what all gradients carry, if defined; otherwise each knows its own.
  void run_guarded(const Array& guard, const Array& loss_scale);

 private:
  friend class StepRecord;
  using Group = Impl::Group;
  using Entry = Impl::StepEntry;

  void run_as_chainer();
  bool gradients_are_finite() const;
  void find_scales(const Array& loss_scale);
  void find_masters();
  void unscale_for_hooks();
  void unscale_as_chainer();
  void list_stepped();
  bool has_hooks() const;
  void call_observers();
  void call_hooks(HookTiming timing);
  void call_rule_hooks(HookTiming timing, Entry& entry);
  void prepare_clocks();
  void count_attempt();
  void prepare_states(detail::KernelRule& rule, const Array& array) const;
  void update_parameters();
  void end();
  // step_groups.cc
  Group& group(const Entry& entry);
  void launch_groups();

  Impl& impl_;
  Optimizer& self_;
  Array guard_;
  Impl::StepLists lists_;
  std::vector<Entry>& entries_ = lists_.entries;
  std::vector<Parameter*>& stepped_ = lists_.stepped;
  std::vector<UpdateRule*>& rules_ = lists_.rules;
  size_t group_count_ = 0;
  std::shared_ptr<StepRecord> record_;  // while a static graph records
};

}  // namespace kusari
