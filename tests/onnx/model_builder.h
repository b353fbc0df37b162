#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <protozero/pbf_writer.hpp>

#include "kusari/framework/core/array.h"
#include "kusari/framework/onnx/format.h"

/// Writes ONNX files for tests, right or wrong ones.
class ModelBuilder {
 public:
  using Ints = std::vector<int64_t>;
  /// The value of an attribute; a graph is another builder's graph().
  struct Graph {
    std::string bytes;
  };
  using Names = std::vector<std::string>;
  using Value = std::variant<int64_t, float, std::string, Ints, std::vector<float>, Names, kusari::Array, Graph>;
  using Attributes = std::vector<std::pair<std::string, Value>>;

  explicit ModelBuilder(int64_t opset = 17) : opset_{opset} {}

  ModelBuilder& input(const std::string& name, const std::vector<std::variant<int64_t, std::string>>& shape,
                      kusari::onnx::DataType type = kusari::onnx::DataType::float32) {
    graph_ += field(11, value_info(name, type, shape));
    return *this;
  }
  ModelBuilder& output(const std::string& name, kusari::onnx::DataType type = kusari::onnx::DataType::undefined,
                       const std::vector<std::variant<int64_t, std::string>>& shape = {}) {
    graph_ += field(12, value_info(name, type, shape));
    return *this;
  }
  /// Of any type, one of those below.
  ModelBuilder& typed_input(const std::string& name, const std::string& type) {
    graph_ += field(11, named(name) + field(2, type));
    return *this;
  }
  ModelBuilder& typed_output(const std::string& name, const std::string& type) {
    graph_ += field(12, named(name) + field(2, type));
    return *this;
  }
  static std::string tensor_type(kusari::onnx::DataType type,
                                 const std::vector<std::variant<int64_t, std::string>>& shape) {
    std::string dims;
    for (const auto& size : shape) {
      const auto* const known = std::get_if<int64_t>(&size);
      std::string dim = known != nullptr ? number(1, *known) : std::string();
      if (known == nullptr) protozero::pbf_writer(dim).add_string(2, std::get<std::string>(size));
      dims += field(1, dim);
    }
    return field(1, number(1, static_cast<int64_t>(type)) + field(2, dims));
  }
  static std::string sequence_type(const std::string& of) { return field(4, field(1, of)); }
  static std::string optional_type(const std::string& of) { return field(9, field(1, of)); }

  ModelBuilder& initializer(const std::string& name, const kusari::Array& numbers) {
    graph_ += field(5, tensor(numbers, name));
    return *this;
  }
  ModelBuilder& raw_initializer(const std::string& tensor_bytes) {
    graph_ += field(5, tensor_bytes);
    return *this;
  }
  ModelBuilder& node(const std::string& op, const Names& inputs, const Names& outputs,
                     const Attributes& attributes = {}, const std::string& domain = {}) {
    graph_ += field(1, node_bytes(op, inputs, outputs, attributes, domain));
    return *this;
  }
  /// A function of the model; an attribute whose value is "@name" refers to one of the call.
  ModelBuilder& function(const std::string& domain, const std::string& name, const Names& inputs, const Names& outputs,
                         const Names& attribute_names, const std::vector<std::string>& nodes) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    writer.add_string(1, name);
    for (const std::string& one : inputs) writer.add_string(4, one);
    for (const std::string& one : outputs) writer.add_string(5, one);
    for (const std::string& one : attribute_names) writer.add_string(6, one);
    for (const std::string& one : nodes) writer.add_message(7, one);
    writer.add_message(9, opset_bytes("", opset_));
    writer.add_string(10, domain);
    functions_ += field(25, bytes) + field(8, opset_bytes(domain, 1));
    return *this;
  }
  static std::string node_bytes(const std::string& op, const Names& inputs, const Names& outputs,
                                const Attributes& attributes = {}, const std::string& domain = {}) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    for (const std::string& one : inputs) writer.add_string(1, one);
    for (const std::string& one : outputs) writer.add_string(2, one);
    writer.add_string(4, op);
    for (const auto& [name, value] : attributes) writer.add_message(5, attribute(name, value));
    writer.add_string(7, domain);
    return bytes;
  }

  Graph graph() const { return {graph_}; }
  std::string bytes() const { return number(1, 8) + field(7, graph_) + field(8, opset_bytes("", opset_)) + functions_; }

  static std::string tensor(const kusari::Array& numbers, const std::string& name) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    for (const int64_t size : numbers.shape()) writer.add_int64(1, size);
    writer.add_int32(2, static_cast<int32_t>(kusari::onnx::type_of(numbers.dtype())));
    writer.add_string(8, name);
    const kusari::Array dense = numbers.contiguous();
    writer.add_bytes(9, static_cast<const char*>(dense.raw_data()), static_cast<size_t>(dense.nbytes()));
    return bytes;
  }

 private:
  static std::string field(uint32_t tag, const std::string& message) {
    std::string bytes;
    protozero::pbf_writer(bytes).add_message(tag, message);
    return bytes;
  }
  static std::string number(uint32_t tag, int64_t value) {
    std::string bytes;
    protozero::pbf_writer(bytes).add_int64(tag, value);
    return bytes;
  }
  static std::string opset_bytes(const std::string& domain, int64_t version) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    writer.add_string(1, domain);
    writer.add_int64(2, version);
    return bytes;
  }
  static std::string named(const std::string& name) {
    std::string bytes;
    protozero::pbf_writer(bytes).add_string(1, name);
    return bytes;
  }
  static std::string value_info(const std::string& name, kusari::onnx::DataType type,
                                const std::vector<std::variant<int64_t, std::string>>& shape) {
    return named(name) + (type == kusari::onnx::DataType::undefined ? "" : field(2, tensor_type(type, shape)));
  }
  static std::string attribute(const std::string& name, const Value& value) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    writer.add_string(1, name);
    int32_t type = 0;
    if (const auto* const integer = std::get_if<int64_t>(&value)) {
      writer.add_int64(3, *integer);
      type = 2;
    } else if (const auto* const real = std::get_if<float>(&value)) {
      writer.add_float(2, *real);
      type = 1;
    } else if (const auto* const text = std::get_if<std::string>(&value)) {
      if (text->starts_with('@')) {
        writer.add_string(21, text->substr(1));
      } else {
        writer.add_string(4, *text);
      }
      type = 3;
    } else if (const auto* const integers = std::get_if<Ints>(&value)) {
      for (const int64_t one : *integers) writer.add_int64(8, one);
      type = 7;
    } else if (const auto* const reals = std::get_if<std::vector<float>>(&value)) {
      for (const float one : *reals) writer.add_float(7, one);
      type = 6;
    } else if (const auto* const texts = std::get_if<Names>(&value)) {
      for (const std::string& one : *texts) writer.add_string(9, one);
      type = 8;
    } else if (const auto* const array = std::get_if<kusari::Array>(&value)) {
      writer.add_message(5, tensor(*array, ""));
      type = 4;
    } else {
      writer.add_message(6, std::get<Graph>(value).bytes);
      type = 5;
    }
    writer.add_int32(20, type);
    return bytes;
  }

  int64_t opset_;
  std::string graph_, functions_;
};
