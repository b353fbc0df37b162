#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/onnx/operators/subgraph.h"
#include "kusari/framework/onnx/read/messages.h"
#include "kusari/framework/onnx/read/tensor.h"

namespace kusari::onnx {

/// Numbers that a model holds: an initializer, or what follows from constants alone.
struct Constant {
  std::string name;
  Array numbers;      ///< on the CPU
  bool is_parameter;  ///< a floating initializer that an operator reads as weights
};

/// A model as operations.
struct CompiledModel {
  Subgraph graph;  ///< captures the constants, in their order
  std::vector<Constant> constants;
};

/// Throws IoError for a graph that is no graph (a value that nobody computes, a name that two do), and ValueError with
/// all nodes that are not supported.
CompiledModel compile_model(const read::Model& model, const read::TensorSource& source);

}  // namespace kusari::onnx
