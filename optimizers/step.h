#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/optimizers/divided_gradients.h"
#include "kusari/optimizers/optimizer_impl.h"
#include "kusari/optimizers/state_shards.h"
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
  Array square_sum() const;
  void prepare_gradient(Entry& entry) const;
  static void conform_gradient(Parameter& differentiated);
  void find_scales(const Array& loss_scale);
  std::vector<detail::StateShards::Member> shard_members() const;
  void assign_parts();
  void find_masters(bool for_hooks);
  void find_whole_masters();
  void take_parts(size_t i);
  void gather_parameters();
  void unscale(bool as_chainer);
  void list_stepped();
  bool has_hooks() const;
  void call_observers();
  void call_hooks(HookTiming timing);
  void call_rule_hooks(HookTiming timing, Entry& entry);
  void prepare_clocks();
  void count_attempt();
  void count_and_update();
  void prepare_states(detail::KernelRule& rule, const Array& array) const;
  const Array& updated(size_t i) const { return parts_.empty() ? entries_[i].stepped->array() : parts_[i].updated; }
  const Array& gradient(size_t i) const {
    return parts_.empty() ? detail::gradient_of(*entries_[i].differentiated) : parts_[i].gradient;
  }
  const Array& copy(size_t i) const { return parts_.empty() ? entries_[i].parameter->array() : parts_[i].copy; }
  void update_parameters();
  void end();
  // step_groups.cc
  Group& group(size_t i);
  void launch_groups();

  /// What the kernels see of an entry where each rank updates a part of it.
  struct Part {
    Array updated, gradient, copy;
  };

  Impl& impl_;
  Optimizer& self_;
  detail::StateShards* shards_;        // null: this rank updates all
  detail::DividedGradients* divided_;  // null: parameters hold their gradients
  Array guard_;
  Impl::StepLists lists_;
  std::vector<Entry>& entries_ = lists_.entries;
  std::vector<Parameter*>& stepped_ = lists_.stepped;
  std::vector<UpdateRule*>& rules_ = lists_.rules;
  size_t group_count_ = 0;
  std::vector<Part> parts_;                                // of the entries; empty without shards_
  std::vector<std::unique_ptr<Parameter>> whole_masters_;  // of the entries, for hooks
  std::shared_ptr<StepRecord> record_;                     // while a static graph records
};

}  // namespace kusari
