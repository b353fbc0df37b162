#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/onnx/operators/value.h"
#include "kusari/framework/onnx/read/messages.h"
#include "kusari/framework/onnx/read/tensor.h"

namespace kusari::onnx {

class Subgraph;

/// What a node does, once its attributes have been read.
using Operation = std::function<Values(const Call&)>;

/// What an operator is made from: a node's attributes, and what else is known of it when the model is loaded.
/// Attributes of another type than asked for throw ValueError, as does one that is missing and has no default.
class NodeReader {
 public:
  /// Makes an operation's graph for an attribute: of If, Loop and Scan.
  using CompileGraph = std::function<std::shared_ptr<const Subgraph>(const read::Graph&)>;
  /// The type that a file gives a value.
  using DeclaredType = std::function<DataType(std::string_view)>;

  NodeReader(const read::Node& node, int64_t opset, const read::TensorSource& source, const CompileGraph& compile,
             const DeclaredType& declared)
      : node_{node}, opset_{opset}, source_{source}, compile_{compile}, declared_{declared} {}

  /// The version of the operators of the node's domain that the model was written for.
  int64_t opset() const noexcept { return opset_; }
  /// The same node, as if written for another version: for operators that contain one of ONNX's.
  NodeReader as_of(int64_t opset) const {
    NodeReader other = *this;
    other.opset_ = opset;
    return other;
  }
  std::string_view op_type() const noexcept { return node_.op_type; }
  size_t input_count() const noexcept { return node_.inputs.size(); }
  bool has_input(size_t i) const noexcept { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  size_t output_count() const noexcept { return node_.outputs.size(); }
  bool has_output(size_t i) const noexcept { return i < node_.outputs.size() && !node_.outputs[i].empty(); }
  /// The type that the file gives an input, undefined where only the dtype is left.
  DataType input_type(size_t i) const { return has_input(i) ? declared_(node_.inputs[i]) : DataType::undefined; }
  /// Throws ValueError unless there are at least `least` inputs.
  void expect_inputs(size_t least) const;

  bool has(std::string_view name) const { return find(name) != nullptr; }
  int64_t integer(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t otherwise) const;
  bool flag(std::string_view name, bool otherwise) const { return integer(name, otherwise ? 1 : 0) != 0; }
  double real(std::string_view name, double otherwise) const;
  double real(std::string_view name) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::optional<std::vector<int64_t>> integers(std::string_view name) const;
  std::optional<std::vector<double>> reals(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  std::optional<Array> tensor(std::string_view name) const;
  /// The type of a tensor's elements, undefined where there is no such attribute.
  DataType tensor_type(std::string_view name) const;
  std::shared_ptr<const Subgraph> graph(std::string_view name) const;
  /// The dtype for an attribute that holds a DataType.
  Dtype dtype(std::string_view name, DataType otherwise) const;
  /// The same, as the file says it.
  DataType data_type(std::string_view name, DataType otherwise) const;
  /// The type that an attribute asks for, of which there is a dtype; undefined where there is no such attribute.
  DataType wanted_type(std::string_view name) const;

 private:
  const read::Attribute* find(std::string_view name) const;
  const read::Attribute* find(std::string_view name, AttributeType type) const;
  [[noreturn]] static void throw_missing(std::string_view name);

  const read::Node& node_;
  int64_t opset_;
  const read::TensorSource& source_;
  const CompileGraph& compile_;
  const DeclaredType& declared_;
};

/// How a node of one type becomes an operation.
struct Operator {
  std::string_view name;
  Operation (*build)(const NodeReader&);
  /// Gives host values whatever its inputs are: it looks at their shapes alone.
  bool reads_shapes_only = false;
  bool is_random = false;  ///< gives other numbers each time
  bool stays = false;      ///< not worked out before, so that recordings see it: integers of weights
};

/// The operator of a domain ("" for ONNX's own), or null.
const Operator* find_operator(std::string_view domain, std::string_view name);

/// What ONNX's operator of that name does with the node's attributes: operators of other domains contain it.
Operation onnx_operation(std::string_view name, const NodeReader& node);

/// The type of the node's results where the file tells it, undefined where only the dtype is left: for types that have
/// no dtype of their own.
DataType result_type(const NodeReader& node);

/// An operation of one variable.
template <class F>
Operation unary(F f) {
  return [f](const Call& call) -> Values { return {f(call[0])}; };
}
/// An operation of two variables.
template <class F>
Operation binary(F f) {
  return [f](const Call& call) -> Values { return {f(call[0], call[1])}; };
}

}  // namespace kusari::onnx
