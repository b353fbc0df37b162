#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/core/memory.h"

namespace kusari::function_hooks {

/// Measures the memory of every forward and backward computation, on the device of its first argument: what it used at
/// its highest beyond what was in use when it began, and what the pool acquired from the system for it. Memory that
/// other threads take meanwhile counts too; that of a function that runs inside another's counts for both. Starts the
/// highest use of memory (max_memory_allocated) anew. chainer.function_hooks.CupyMemoryProfileHook.
class KUSARI_API MemoryHook final : public FunctionHook {
 public:
  /// One computation.
  struct Call {
    std::string name;  ///< of the function
    int64_t used_bytes = 0;
    int64_t acquired_bytes = 0;
    int depth = 0;  ///< how many functions it ran inside of
  };
  /// The sum over the calls of one function.
  struct Record {
    std::string name;
    int64_t used_bytes = 0;
    int64_t acquired_bytes = 0;
    int64_t occurrence = 0;
  };

  void forward_preprocess(const FunctionNode& function, const ArrayRefs& in) override;
  void forward_postprocess(const FunctionNode& function, const ArrayRefs& in, const Arrays& out) override;
  void backward_preprocess(const FunctionNode& function, const Variables& gy) override;
  void backward_postprocess(const FunctionNode& function, const Variables& gy, const Variables& gx) override;
  bool wants_own_gradients() const noexcept override { return false; }

  /// Every computation, in the order in which they ended.
  const std::vector<Call>& call_history() const noexcept { return history_; }
  /// Sums over the calls that did not run inside another.
  int64_t total_used_bytes() const noexcept;
  int64_t total_acquired_bytes() const noexcept;
  /// One record per function name, in the order of their first end.
  std::vector<Record> summary() const;
  /// The summary as a table: FunctionName, UsedBytes, AcquiredBytes, Occurrence. unit: B, KB, MB, GB, TB; "auto", the
  /// one that suits the largest number; "auto_foreach", the one that suits each. Throws ValueError for another.
  std::string report(const std::string& unit = "auto") const;
  /// Writes report() to `out`, or to the standard output.
  void print_report(const std::string& unit = "auto") const;
  void print_report(std::ostream& out, const std::string& unit = "auto") const;

 private:
  struct Running {
    const FunctionNode* function;
    memory::Statistics start;
    int64_t peak;  // most in use until a function inside it began or ended
  };

  void begin(const FunctionNode& function, const Device* device);
  void end(const FunctionNode& function, const Device* device);

  std::vector<Running> running_;
  std::vector<Call> history_;
};

}  // namespace kusari::function_hooks
