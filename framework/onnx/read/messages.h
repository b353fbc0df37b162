#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kusari/framework/onnx/format.h"

// What an ONNX file says, as it says it. Views point into the file's bytes.
namespace kusari::onnx::read {

/// Where a tensor's bytes are, when not in the model's file.
struct ExternalData {
  std::string location;  ///< a path relative to the model's folder
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

struct Tensor {
  std::string_view name;
  DataType type = DataType::undefined;
  std::vector<int64_t> dims;
  std::string_view raw;  // little endian; or one of the lists
  bool has_raw = false;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int64_t> integers;  // of int32_data, int64_data, uint64_data
  std::vector<std::string_view> texts;
  std::optional<ExternalData> external;
  size_t number_lists = 0;  ///< how many of the typed lists are there
};

struct Graph;

struct Attribute {
  std::string_view name;
  AttributeType type = AttributeType::undefined;
  float real = 0;
  int64_t integer = 0;
  std::string_view text;
  std::vector<float> reals;
  std::vector<int64_t> integers;
  std::vector<std::string_view> texts;
  std::shared_ptr<const Tensor> tensor;
  std::shared_ptr<const Graph> graph;
  std::string_view reference;  ///< in a function: the attribute of the call that stands here
};

struct Node {
  std::string_view name, op_type, domain, overload;
  std::vector<std::string_view> inputs, outputs;  ///< "" for an absent one
  std::vector<Attribute> attributes;
};

/// An axis: its size, or a name of it, or neither.
struct Dimension {
  std::optional<int64_t> size;
  std::string name;
};

struct ValueInfo {
  std::string_view name;
  DataType type = DataType::undefined;
  /// What it is if not a tensor, one that may be missing included: "a list (a sequence)".
  std::string_view other;
  std::optional<std::vector<Dimension>> shape;
};

struct Graph {
  std::string_view name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs;
  bool has_sparse_initializers = false;
};

struct Function {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<std::string_view> attribute_names;
  std::vector<Attribute> attributes;  ///< with defaults
  std::vector<Node> nodes;
  std::map<std::string, int64_t, std::less<>> opsets;
};

struct Model {
  int64_t ir_version = 0;
  std::string producer;
  std::map<std::string, int64_t, std::less<>> opsets;  ///< by domain; "" is ONNX's own
  std::map<std::string, std::string> metadata;
  Graph graph;
  std::vector<Function> functions;
};

/// Reads a model's bytes, which must outlive it. `source` names them in errors, "net.onnx". Throws IoError for what is
/// no model, is cut off or nests too deep.
Model parse_model(std::string_view bytes, const std::string& source);
/// Reads a lone TensorProto, as the tests of ONNX hold them.
Tensor parse_tensor(std::string_view bytes, const std::string& source);

}  // namespace kusari::onnx::read
