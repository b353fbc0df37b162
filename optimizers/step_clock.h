#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "kusari/optimizers/loss_scale.h"

namespace kusari::detail {

/// Counts steps of which a device may have skipped some: the host counts attempts, the device what it skipped, and the
/// difference is taken only when somebody asks.
class StepClock {
 public:
  StepClock() = default;
  explicit StepClock(int64_t t, int64_t skipped = 0) : attempts_{t}, skipped_{skipped} {}

  /// Steps that were done, and those that were skipped. Both wait for the device if steps may have been skipped.
  int64_t t() const { return attempts_ - unsettled(); }
  int64_t skipped() const { return skipped_ + unsettled(); }

  /// From now on, `source` says which attempts were skipped.
  void follow(const std::shared_ptr<LossScale>& source) {
    if (source == source_) return;
    settle();
    source_ = source;
    baseline_ = source_->skipped();
  }
  /// Attempts from now on do not count, whatever becomes of them.
  void settle() {
    const int64_t skipped = unsettled();
    attempts_ -= skipped;
    skipped_ += skipped;
    source_ = nullptr;
    baseline_ = 0;
  }
  void count_attempt() noexcept { ++attempts_; }
  void take_back_attempt() noexcept { --attempts_; }

  /// Null while the host knows t().
  const std::shared_ptr<LossScale>& source() const noexcept { return source_; }
  /// What t() is if the source's count of skipped steps, as it will be, is subtracted.
  int64_t t_and_skipped() const noexcept { return attempts_ + baseline_; }

 private:
  int64_t unsettled() const { return source_ != nullptr ? source_->skipped() - baseline_ : 0; }

  int64_t attempts_ = 0;
  int64_t skipped_ = 0;
  int64_t baseline_ = 0;  // of source_->skipped()
  std::shared_ptr<LossScale> source_;
};

}  // namespace kusari::detail
