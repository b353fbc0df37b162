#pragma once

#include <string>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/onnx/export/graph_builder.h"

// What is computed with arrays outside of functions: comparisons, arithmetic by element, copies to another dtype.
namespace kusari::onnx::exporting {

/// A kernel that a trace enters as a call of its own where a function reads what it made.
struct ArrayOperation {
  std::string function;  ///< of the call: "array.less_const"
  bool has_number;       ///< the kernel's parameters are a number, the option "c" of the call
  Converter converter;   ///< of the call
};

/// Null for a kernel that has none.
const ArrayOperation* find_array_operation(KernelId kernel);

}  // namespace kusari::onnx::exporting
