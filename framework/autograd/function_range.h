#pragma once

#include <string>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/profiler.h"

namespace kusari::autograd {

/// How a profiler's timeline names a computation: "linear forward float32 (100, 784), float32 (10, 784)".
KUSARI_API std::string range_text(const FunctionNode& function, const char* direction, const ArrayRefs& arrays);
KUSARI_API std::string range_text(const FunctionNode& function, const char* direction, const Variables& arrays);

/// The range of one function's forward or backward; nothing but a test while no profiler listens.
class FunctionRange {
 public:
  template <class Arrays>
  FunctionRange(const FunctionNode& function, const char* direction, const Arrays& arrays)
      : sink_{profiler::detail::range_sink.load(std::memory_order_relaxed)} {
    if (sink_ != nullptr) [[unlikely]]
      sink_->push(range_text(function, direction, arrays).c_str());
  }
  FunctionRange(const FunctionRange&) = delete;
  FunctionRange& operator=(const FunctionRange&) = delete;
  ~FunctionRange() {
    if (sink_ != nullptr) [[unlikely]]
      sink_->pop();
  }

 private:
  profiler::RangeSink* sink_;
};

}  // namespace kusari::autograd
