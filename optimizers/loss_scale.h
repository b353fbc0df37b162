#pragma once

#include <atomic>
#include <cstdint>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/loss_scale.h"

namespace kusari {

class Serializer;

/// The factor of a loss, which follows a rule from step to step. It lives in the memory of the device whose gradients
/// it is updated from; only the methods that return numbers wait for that device.
class KUSARI_API LossScale {
 public:
  LossScale(const kernels::LossScaleRule& rule, double initial);

  const kernels::LossScaleRule& rule() const noexcept { return rule_; }
  void set_rule(const kernels::LossScaleRule& rule) noexcept { rule_ = rule; }

  /// One float64 element on `device`: a view of the state if that is there, so that later updates show.
  Array scale_on(const Device& device);
  /// The same for the number of skipped steps.
  Array skipped_on(const Device& device);

  /// What the device knows. Each waits for it, once after every update.
  kernels::LossScaleState state() const;
  double scale() const { return state().scale; }
  int64_t growth_tracker() const { return static_cast<int64_t>(state().growth_tracker); }
  int64_t skipped() const { return static_cast<int64_t>(state().skipped); }
  /// Whether the gradients of the last update were finite.
  bool is_finite() const { return state().finite != 0; }

  void set_state(const kernels::LossScaleState& state);
  /// Another scale; the counters stay.
  void set(double scale);
  /// The step after gradients of this squared norm, one float64 element.
  void update(const Array& squared_norm);
  /// Scale, growth counter, and whether there was an overflow.
  void serialize(Serializer& serializer);

 private:
  Array element_on(const Device& device, int64_t index);
  void settle_on(const Device& device);
  uint64_t written() const noexcept { return array_.storage().generation.load(std::memory_order_relaxed); }
  bool is_known() const noexcept { return !array_.is_defined() || known_at_ == written(); }

  kernels::LossScaleRule rule_;
  Array array_;  // the state in device memory; undefined while the host alone has it
  mutable kernels::LossScaleState known_;
  mutable uint64_t known_at_ = 0;  // Storage::generation of array_ when it held known_
};

}  // namespace kusari
