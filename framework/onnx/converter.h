#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::onnx {

namespace exporting {
class GraphBuilder;
struct Call;
struct Value;
}  // namespace exporting

/// What a converter writes: the ONNX nodes that stand for one call of a function. Values are known by their names in
/// the graph; an empty name is an input that is not there.
class KUSARI_API NodeWriter {
 public:
  NodeWriter(exporting::GraphBuilder& graph, const exporting::Call& call) : graph_{graph}, call_{call} {}
  NodeWriter(const NodeWriter&) = delete;
  NodeWriter& operator=(const NodeWriter&) = delete;

  // --- the call -----------------------------------------------------------------------------------------------------

  const std::string& function() const noexcept;
  /// What FunctionNode::describe() told. With dynamic sizes, throws ValueError for a call with options that change with
  /// them, or are there for some sizes alone, but for those in `changing`, which the converter writes for any size.
  const Attributes& options(std::initializer_list<std::string_view> changing = {}) const;
  int opset() const noexcept;
  size_t input_count() const noexcept;
  size_t output_count() const noexcept;
  bool has_input(size_t i) const noexcept;
  // What follows throws IndexError for an input, an output or an axis that is not there.

  /// The whole shape. With dynamic sizes, throws ValueError for one that changes in another axis than the first.
  const Shape& input_shape(size_t i) const;
  /// Likewise.
  const Shape& output_shape(size_t i = 0) const;
  /// One size. Throws ValueError if it changes.
  int64_t input_size(size_t i, int axis) const;
  /// Likewise.
  int64_t output_size(int axis, size_t i = 0) const;
  int input_ndim(size_t i) const;          ///< how many axes it has
  int output_ndim(size_t i = 0) const;     ///< how many axes it has
  Dtype input_dtype(size_t i) const;       ///< of its numbers
  Dtype output_dtype(size_t i = 0) const;  ///< of its numbers
  /// The numbers of an input that does not depend on the arguments of the model, such as a parameter; else undefined.
  Array constant_input(size_t i) const;

  // --- names of values ----------------------------------------------------------------------------------------------

  /// Empty for an input that is not there.
  std::string input(size_t i) const;
  /// The input before it was broadcast, where F::broadcast_to made it: for operators that broadcast by themselves.
  std::string unbroadcast_input(size_t i) const;
  const std::string& output(size_t i = 0) const;
  /// An array of the options: a value of the graph where a function computed it, else a constant.
  std::string value(const Array& array) const;
  std::string constant(const Array& array) const;
  std::string scalar(double number, Dtype dtype) const;
  /// int64, one axis.
  std::string integers(const std::vector<int64_t>& numbers) const;
  /// The shape of an output as an int64 tensor, with sizes that change computed when the model runs; as the shape that
  /// Reshape takes, `reshape_target` uses 0 and -1 where that is enough.
  std::string output_shape_value(size_t i = 0) const;
  std::string reshape_target(size_t output = 0) const;
  /// Whether the size of an axis changes.
  bool is_dynamic_input(size_t i, int axis) const;
  bool is_dynamic_output(size_t i, int axis) const;

  // --- nodes --------------------------------------------------------------------------------------------------------

  using Names = std::vector<std::string>;
  /// One node from all inputs of the call to all its outputs. Of attributes, double becomes float and bool int.
  void op(std::string_view type, const Attributes& attributes = {}, std::string_view domain = {}) const;
  /// A node to given outputs, of which some may be empty.
  void node(std::string_view type, const Names& inputs, const Names& outputs, const Attributes& attributes = {},
            std::string_view domain = {}) const;
  /// A node to a new value, whose name it returns.
  std::string make(std::string_view type, const Names& inputs, const Attributes& attributes = {}) const;
  /// Several new values.
  Names make_all(std::string_view type, const Names& inputs, size_t outputs, const Attributes& attributes = {}) const;
  /// Cast, if `from` is another dtype.
  std::string cast(const std::string& value, Dtype from, Dtype to) const;
  /// The numbers of dtypes in attributes, as in Cast's "to".
  static int64_t type_number(Dtype dtype);

  /// Throws: this call cannot be written, for the reason given ("it needs opset 19").
  [[noreturn]] void refuse(const std::string& reason) const;
  /// The same of what cannot be written with sizes that change: the reason follows the option's name.
  [[noreturn]] void refuse_dynamic(const std::string& reason) const;
  /// Throws for a lower opset; `what` needs it.
  void require_opset(int least, const char* what) const;

  exporting::GraphBuilder& graph() const noexcept { return graph_; }
  const exporting::Call& call() const noexcept { return call_; }
  const exporting::Value& input_value(size_t i) const;   ///< with its sizes in all traces
  const exporting::Value& output_value(size_t i) const;  ///< likewise

 private:
  exporting::GraphBuilder& graph_;
  const exporting::Call& call_;
};

/// Writes the nodes of a function.
using Converter = std::function<void(const NodeWriter&)>;

/// How the calls of a function are written from now on, in all threads: of one of your own, or in another way than
/// Kusari's. `function` is FunctionNode::name(). onnx_chainer's external_converters.
KUSARI_API void register_converter(const std::string& function, Converter converter);

}  // namespace kusari::onnx
