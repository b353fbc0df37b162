#include <algorithm>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/onnx/converter.h"
#include "kusari/framework/onnx/export/graph_builder.h"
#include "kusari/framework/onnx/export/wire.h"

namespace kusari::onnx {

using exporting::Value;

namespace {

const Shape& whole_shape(const NodeWriter& w, const Value& v) {
  for (int axis = 1; axis < v.array.ndim(); ++axis) {
    if (v.is_dynamic(axis))
      w.refuse_dynamic("its operator needs the size of axis " + std::to_string(axis) + ", which changes");
  }
  return v.array.shape();
}

void check_axis(const NodeWriter& w, const Value& v, int axis) {
  if (axis >= 0 && axis < v.array.ndim()) return;
  throw IndexError("onnx::NodeWriter: F::" + w.function() + " has no axis " + std::to_string(axis) +
                   " in an array of shape " + to_string(v.array.shape()));
}

int64_t fixed_size(const NodeWriter& w, const Value& v, int axis) {
  check_axis(w, v, axis);
  if (v.is_dynamic(axis))
    w.refuse_dynamic("its operator needs the size of axis " + std::to_string(axis) + ", which changes");
  return v.array.shape()[axis];
}

}  // namespace

const std::string& NodeWriter::function() const noexcept { return call_.function; }

const Attributes& NodeWriter::options(std::initializer_list<std::string_view> changing) const {
  for (const std::string& option : call_.changing) {
    if (std::find(changing.begin(), changing.end(), option) == changing.end()) {
      refuse_dynamic("its option '" + option + "' depends on the size");
    }
  }
  return call_.options;
}

int NodeWriter::opset() const noexcept { return graph_.opset(); }
size_t NodeWriter::input_count() const noexcept { return call_.inputs.size(); }
size_t NodeWriter::output_count() const noexcept { return call_.outputs.size(); }
bool NodeWriter::has_input(size_t i) const noexcept {
  return i < call_.inputs.size() && call_.inputs[i] != exporting::kAbsent;
}

const Value& NodeWriter::input_value(size_t i) const {
  if (!has_input(i)) throw IndexError("onnx::NodeWriter: F::" + call_.function + " has no input " + std::to_string(i));
  return graph_.value(call_.inputs[i]);
}
const Value& NodeWriter::output_value(size_t i) const {
  if (i >= call_.outputs.size()) {
    throw IndexError("onnx::NodeWriter: F::" + call_.function + " has no output " + std::to_string(i));
  }
  return graph_.value(call_.outputs[i]);
}

const Shape& NodeWriter::input_shape(size_t i) const { return whole_shape(*this, input_value(i)); }
const Shape& NodeWriter::output_shape(size_t i) const { return whole_shape(*this, output_value(i)); }
int64_t NodeWriter::input_size(size_t i, int axis) const { return fixed_size(*this, input_value(i), axis); }
int64_t NodeWriter::output_size(int axis, size_t i) const { return fixed_size(*this, output_value(i), axis); }
int NodeWriter::input_ndim(size_t i) const { return input_value(i).array.ndim(); }
int NodeWriter::output_ndim(size_t i) const { return output_value(i).array.ndim(); }
Dtype NodeWriter::input_dtype(size_t i) const { return input_value(i).array.dtype(); }
Dtype NodeWriter::output_dtype(size_t i) const { return output_value(i).array.dtype(); }
Array NodeWriter::constant_input(size_t i) const {
  const Value& v = input_value(i);
  return v.kind == Value::Kind::constant && !v.varies ? v.array : Array();
}

std::string NodeWriter::input(size_t i) const { return has_input(i) ? graph_.name_of(call_.inputs[i]) : ""; }
std::string NodeWriter::unbroadcast_input(size_t i) const {
  return has_input(i) ? graph_.name_of(graph_.before_broadcast(call_.inputs[i])) : "";
}
const std::string& NodeWriter::output(size_t i) const {
  static_cast<void>(output_value(i));
  return graph_.name_of(call_.outputs[i]);
}

std::string NodeWriter::value(const Array& array) const {
  const exporting::Trace& trace = graph_.trace();
  if (const int id = trace.find(array); id != exporting::kAbsent) return graph_.name_of(id);
  const auto source = trace.dependent.find(array.storage().id);
  if (source == trace.dependent.end()) return graph_.constant(array);
  refuse("it reads an array of shape " + to_string(array.shape()) + " that " + source->second +
         " made of an argument of the model, outside of functions: it would become a constant");
}

std::string NodeWriter::constant(const Array& array) const { return graph_.constant(array); }
std::string NodeWriter::scalar(double number, Dtype dtype) const { return constant(full({}, number, dtype)); }
std::string NodeWriter::integers(const std::vector<int64_t>& numbers) const { return graph_.integers(numbers); }
std::string NodeWriter::output_shape_value(size_t i) const {
  static_cast<void>(output_value(i));
  return graph_.shape_of(call_.outputs[i]);
}
std::string NodeWriter::reshape_target(size_t i) const {
  static_cast<void>(output_value(i));
  static_cast<void>(input_value(0));
  return graph_.reshape_target(call_.inputs[0], call_.outputs[i]);
}
bool NodeWriter::is_dynamic_input(size_t i, int axis) const {
  check_axis(*this, input_value(i), axis);
  return input_value(i).is_dynamic(axis);
}
bool NodeWriter::is_dynamic_output(size_t i, int axis) const {
  check_axis(*this, output_value(i), axis);
  return output_value(i).is_dynamic(axis);
}

void NodeWriter::op(std::string_view type, const Attributes& attributes, std::string_view domain) const {
  Names inputs, outputs;
  for (size_t i = 0; i < input_count(); ++i) inputs.push_back(input(i));
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  for (size_t i = 0; i < output_count(); ++i) outputs.push_back(output(i));
  node(type, inputs, outputs, attributes, domain);
}

void NodeWriter::node(std::string_view type, const Names& inputs, const Names& outputs, const Attributes& attributes,
                      std::string_view domain) const {
  graph_.add({std::string(type), std::string(domain), "", inputs, outputs, attributes}, call_.link);
}

std::string NodeWriter::make(std::string_view type, const Names& inputs, const Attributes& attributes) const {
  return make_all(type, inputs, 1, attributes)[0];
}

NodeWriter::Names NodeWriter::make_all(std::string_view type, const Names& inputs, size_t outputs,
                                       const Attributes& attributes) const {
  Names names;
  for (size_t i = 0; i < outputs; ++i) names.push_back(graph_.fresh(call_.function + "." + std::string(type)));
  node(type, inputs, names, attributes);
  return names;
}

std::string NodeWriter::cast(const std::string& value, Dtype from, Dtype to) const {
  return from == to ? value : make("Cast", {value}, {{"to", type_number(to)}});
}

int64_t NodeWriter::type_number(Dtype dtype) { return exporting::type_number(dtype); }

void NodeWriter::refuse(const std::string& reason) const { throw ValueError(reason); }
void NodeWriter::refuse_dynamic(const std::string& reason) const {
  refuse("with " + graph_.trace().dynamic.option + ": " + reason);
}

void NodeWriter::require_opset(int least, const char* what) const {
  if (opset() < least) {
    refuse(std::string(what) + " needs opset " + std::to_string(least) + ", and options.opset is " +
           std::to_string(opset()));
  }
}

}  // namespace kusari::onnx
