#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/onnx/export/graph_builder.h"

// The bytes of ONNX's messages.
namespace kusari::onnx::exporting {

/// TensorProto.DataType.
int64_t type_number(Dtype dtype);

/// Where a tensor's elements lie in another file.
struct ExternalPlace {
  std::string file;
  uint64_t offset, length;
};

/// A TensorProto with its elements.
std::string tensor_message(const std::string& name, const Array& array, const std::string& path = {});
/// Without them, but for the begin of their field: `bytes` of elements follow, in C order and little endian. With a
/// place, a whole TensorProto.
std::string tensor_head(const Initializer& initializer, const ExternalPlace* place);
std::string node_message(const GraphNode& node);
std::string port_message(const Port& port);

struct ModelHead {
  int64_t ir_version, opset;
  std::vector<std::string> domains;
  std::map<std::string, std::string> metadata;
};
/// All of a ModelProto but the graph.
std::string model_message(const ModelHead& head);
/// The begin of a field that holds `length` bytes.
std::string field_head(uint32_t field, uint64_t length);

inline constexpr uint32_t kModelGraph = 7, kGraphNode = 1, kGraphName = 2, kGraphInitializer = 5, kGraphInput = 11,
                          kGraphOutput = 12;

}  // namespace kusari::onnx::exporting
