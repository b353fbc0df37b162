#pragma once

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/core/time_records.h"

namespace kusari::function_hooks {

/// Measures the wall time of every forward and backward computation, waiting for the device before and after each.
/// The time of a function that runs inside another's counts for both. chainer.function_hooks.TimerHook.
class KUSARI_API TimerHook final : public FunctionHook {
 public:
  using Record = TimeRecord;  ///< forward and backward computations of one function

  void forward_preprocess(const FunctionNode& function, const ArrayRefs& in) override;
  void forward_postprocess(const FunctionNode& function, const ArrayRefs& in, const Arrays& out) override;
  void backward_preprocess(const FunctionNode& function, const Variables& gy) override;
  void backward_postprocess(const FunctionNode& function, const Variables& gy, const Variables& gx) override;
  bool wants_own_gradients() const noexcept override { return false; }

  /// Every measurement, in the order in which they ended: name and seconds.
  const TimeHistory& call_history() const noexcept { return history_; }
  /// The sum of call_history(), in seconds.
  double total_time() const noexcept;
  /// One record per function name, in the order of their first end.
  std::vector<Record> summary() const;
  /// The summary as a table: FunctionName, ElapsedTime, Occurrence.
  std::string report() const;
  /// Writes report() to `out`, or to the standard output.
  void print_report() const;
  void print_report(std::ostream& out) const;

 private:
  struct Running {
    const FunctionNode* function;
    double start;
  };

  void begin(const FunctionNode& function, const Device* device);
  void end(const FunctionNode& function, const Device* device);

  std::vector<Running> running_;
  TimeHistory history_;
};

}  // namespace kusari::function_hooks
