#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/seconds.h"
#include "kusari/updaters/updater.h"

namespace kusari {
class Serializer;
}

namespace kusari::updaters {

/// Measures the StepTimes of an updater: what of each step is spent on data, and all the rest.
class KUSARI_API StepTimer {
 public:
  /// Counts its life as time spent on data; within another one, that one counts.
  class DataScope {
   public:
    explicit DataScope(StepTimer& timer) noexcept
        : timer_{timer.depth_++ == 0 ? &timer : nullptr}, depth_{&timer.depth_} {
      if (timer_ != nullptr) begin_ = steady_seconds();
    }
    DataScope(const DataScope&) = delete;
    DataScope& operator=(const DataScope&) = delete;
    ~DataScope() {
      --*depth_;
      if (timer_ != nullptr) timer_->data_ += steady_seconds() - begin_;
    }

   private:
    StepTimer* timer_;
    int* depth_;
    double begin_ = 0;
  };

  void begin_step() noexcept {
    data_ = 0;
    begin_ = steady_seconds();
  }
  /// `exchange`: seconds of the step that went to waiting for other processes. Steps that do not come to their end are
  /// not counted.
  void end_step(double exchange = 0) noexcept;
  const StepTimes& times() const noexcept { return times_; }
  /// Snapshots of Chainer have no times.
  void serialize(Serializer& serializer);

 private:
  StepTimes times_;
  double begin_ = 0;
  double data_ = 0;
  int depth_ = 0;  // of DataScopes
};

}  // namespace kusari::updaters
