#pragma once

#include <chrono>
#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/updaters/updater.h"

namespace kusari {
class Serializer;
}

namespace kusari::updaters {

/// Measures the StepTimes of an updater: what of each step is spent on data, and all the rest.
class KUSARI_API StepTimer {
  using Clock = std::chrono::steady_clock;

 public:
  /// Counts its life as time spent on data; within another one, that one counts.
  class DataScope {
   public:
    explicit DataScope(StepTimer& timer) noexcept
        : timer_{timer.depth_++ == 0 ? &timer : nullptr}, depth_{&timer.depth_} {
      if (timer_ != nullptr) begin_ = Clock::now();
    }
    DataScope(const DataScope&) = delete;
    DataScope& operator=(const DataScope&) = delete;
    ~DataScope() {
      --*depth_;
      if (timer_ != nullptr) timer_->data_ += Clock::now() - begin_;
    }

   private:
    StepTimer* timer_;
    int* depth_;
    Clock::time_point begin_;
  };

  void begin_step() noexcept {
    data_ = {};
    begin_ = Clock::now();
  }
  /// `exchange`: seconds of the step that went to waiting for other processes. Steps that do not come to their end are
  /// not counted.
  void end_step(double exchange = 0) noexcept;
  const StepTimes& times() const noexcept { return times_; }
  /// Snapshots of Chainer have no times.
  void serialize(Serializer& serializer);

 private:
  StepTimes times_;
  Clock::time_point begin_;
  Clock::duration data_{};
  int depth_ = 0;  // of DataScopes
};

}  // namespace kusari::updaters
