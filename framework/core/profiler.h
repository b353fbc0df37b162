#pragma once

#include <atomic>
#include <string>

#include "kusari/framework/core/export.h"

// Named ranges of the program in a profiler's timeline: every function's forward and backward, every iteration and what
// it consists of. KUSARI_NVTX=1 sends them to Nsight Systems through the CUDA backend; off, a range costs one test.
namespace kusari::profiler {

/// Receives the ranges of all threads; those of one thread nest.
class KUSARI_API RangeSink {
 public:
  virtual ~RangeSink();
  /// `text` may be gone after the call.
  virtual void push(const char* text) noexcept = 0;
  virtual void pop() noexcept = 0;
};

namespace detail {
KUSARI_API extern constinit std::atomic<RangeSink*> range_sink;
}

/// Sends ranges to `sink`, which must outlive its use; null: nowhere. Returns where they went before.
KUSARI_API RangeSink* set_range_sink(RangeSink* sink) noexcept;
/// Sends ranges to NVTX (or nowhere again). Without the CUDA backend's library, says so once and changes nothing.
KUSARI_API void use_nvtx(bool use = true);
inline bool is_on() noexcept { return detail::range_sink.load(std::memory_order_relaxed) != nullptr; }

/// A range for the object's life: `const profiler::Range range("augment");`
class Range {
 public:
  explicit Range(const char* text) noexcept : sink_{detail::range_sink.load(std::memory_order_relaxed)} {
    if (sink_ != nullptr) [[unlikely]]
      sink_->push(text);
  }
  explicit Range(const std::string& text) noexcept : Range(text.c_str()) {}
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() {
    if (sink_ != nullptr) [[unlikely]]
      sink_->pop();
  }

 private:
  RangeSink* sink_;  // the same for push and pop, whatever happens between
};

}  // namespace kusari::profiler
