#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kusari/framework/onnx/converter.h"
#include "kusari/framework/onnx/export/trace.h"

namespace kusari::onnx::exporting {

struct GraphNode {
  std::string type, domain, name;
  std::vector<std::string> inputs, outputs;
  Attributes attributes;
};

struct Initializer {
  std::string name;
  Array array;
  std::string path = {};  // of a parameter or a persistent array: "/l1/W"
};

/// An input or output of the graph.
struct Port {
  std::string name;
  Dtype dtype;
  Shape shape;
  std::vector<std::string> symbols;  // by axis: what a size that runs may change is called; empty: it is as in shape
};

/// Makes an ONNX graph of a trace.
class GraphBuilder {
 public:
  /// `paths`: of parameters and persistent arrays.
  GraphBuilder(const Trace& trace, const ExportOptions& options, std::map<ArrayKey, std::string> paths);

  /// Writes all calls. Throws ValueError naming those that cannot be written.
  void build();
  /// The graph's outputs, where they are not the results of the trace. Their values are in the graph by these names.
  void set_outputs(std::vector<Port> outputs);
  /// Lets convolutions compute what batch normalizations with fixed statistics behind them do.
  void fold_batch_normalizations();

  const Trace& trace() const noexcept { return trace_; }
  int opset() const noexcept { return options_.opset; }
  const Value& value(int id) const { return trace_.values[static_cast<size_t>(id)]; }
  /// Of a value; that of a constant becomes an initializer.
  const std::string& name_of(int id);
  /// The value that F::broadcast_to was given, if it made this one.
  int before_broadcast(int id) const;
  std::string constant(const Array& array);
  /// int64, one axis.
  std::string integers(const std::vector<int64_t>& numbers);
  /// Sizes as an int64 tensor with one axis; those that change are computed when the graph runs. Throws ValueError for
  /// one that does not follow from the sizes that change, nor is one of a value that there is before the call.
  std::string sizes(const std::vector<Sizes>& sizes);
  /// 0, 1, 2, ... up to a length, int64, in the given shape.
  std::string places(const Sizes& length, const std::vector<int64_t>& shape);
  /// The shape of a value, as a tensor.
  std::string shape_of(int id);
  /// What Reshape takes to make `to` of `from`.
  std::string reshape_target(int from, int to);
  void add(GraphNode node, const std::string& link);
  /// A name that no value has.
  std::string fresh(const std::string& base);

  // The result, without what no output needs.
  std::vector<GraphNode> nodes() const;
  std::vector<Initializer> initializers() const;
  std::vector<Port> inputs() const;
  std::vector<Port> outputs() const;
  /// Domains of operators that are not ONNX's own.
  std::vector<std::string> domains() const;

 private:
  std::string changing_size(const Sizes& size);
  std::string size_of_value(const std::string& value, int axis);
  /// A node to a new value.
  std::string made(const char* type, const std::string& name, std::vector<std::string> inputs,
                   Attributes attributes = {});
  std::string changing_constant(int id);
  std::string progression(int id, int axis, double first, double step);
  std::string triangle(int id, const std::vector<Array>& all);
  void check_axes_of_outputs() const;
  std::string axis_name(const std::string& port, int axis, int ndim, const Sizes& sizes) const;
  std::vector<Port> ports(const std::vector<int>& ids, const std::vector<std::string>& names) const;
  std::unordered_map<std::string, bool> needed_names() const;

  const Trace& trace_;
  const ExportOptions& options_;
  std::map<ArrayKey, std::string> paths_;
  std::vector<std::string> names_;  // by value, empty until it has one
  std::vector<std::string> input_names_, output_names_;
  std::optional<std::vector<Port>> outputs_;
  std::unordered_map<std::string, int> taken_;
  std::map<std::string, std::string> small_constants_;
  std::map<ArrayKey, std::string> constants_;
  std::vector<Array> held_;
  std::unordered_map<int, int> broadcast_;
  std::vector<Initializer> initializers_;
  std::vector<GraphNode> nodes_;
  std::map<Sizes, std::string> changing_sizes_;
  int first_unknown_ = 0;  // values from this one on are made by later calls
};

/// Kusari's converter for a function, or one that was registered; null when there is none.
Converter find_converter(const std::string& function);

using ConverterTable = std::unordered_map<std::string, Converter>;
// The families, each in a source of its own.
void add_activation_converters(ConverterTable& table);
void add_array_converters(ConverterTable& table);
void add_array_operation_converters(ConverterTable& table);
void add_index_converters(ConverterTable& table);
void add_attention_converters(ConverterTable& table);
void add_connection_converters(ConverterTable& table);
void add_loss_converters(ConverterTable& table);
void add_math_converters(ConverterTable& table);
void add_normalization_converters(ConverterTable& table);
void add_pooling_converters(ConverterTable& table);
void add_quantization_converters(ConverterTable& table);
void add_recurrent_converters(ConverterTable& table);

/// ONNX's name of "/l1/W": "l1.W".
std::string tensor_name(const std::string& path);

}  // namespace kusari::onnx::exporting
