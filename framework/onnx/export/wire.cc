#include "kusari/framework/onnx/export/wire.h"

#include <bit>
#include <iterator>
#include <variant>

#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include "kusari/framework/core/version.h"
#include "kusari/framework/onnx/format.h"

namespace kusari::onnx::exporting {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little endian");

using protozero::pbf_writer;

enum AttributeKind : int32_t { kReal = 1, kInteger = 2, kText = 3, kTensor = 4, kReals = 6, kIntegers = 7, kTexts = 8 };

void add_pair(pbf_writer& to, uint32_t field, const std::string& key, const std::string& value) {
  pbf_writer entry(to, field);
  entry.add_string(1, key);
  entry.add_string(2, value);
}

std::string attribute_message(const Attributes::Entry& attribute) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_string(1, attribute.name);
  struct Visitor {
    pbf_writer& writer;
    bool is_list_of_texts;
    AttributeKind operator()(int64_t value) const {
      writer.add_int64(3, value);
      return kInteger;
    }
    AttributeKind operator()(bool value) const { return (*this)(static_cast<int64_t>(value)); }
    AttributeKind operator()(double value) const {
      writer.add_float(2, static_cast<float>(value));
      return kReal;
    }
    AttributeKind operator()(const std::string& value) const {
      writer.add_bytes(is_list_of_texts ? 9 : 4, value);
      return is_list_of_texts ? kTexts : kText;
    }
    AttributeKind operator()(const std::vector<int64_t>& values) const {
      for (const int64_t value : values) writer.add_int64(8, value);
      return kIntegers;
    }
    AttributeKind operator()(const std::vector<double>& values) const {
      for (const double value : values) writer.add_float(7, static_cast<float>(value));
      return kReals;
    }
    AttributeKind operator()(const Array& value) const {
      writer.add_message(5, tensor_message("", value));
      return kTensor;
    }
  };
  const bool is_list = attribute.name == "activations";  // of RNN, where one text is a list of one
  const AttributeKind kind = std::visit(Visitor{writer, is_list}, attribute.value);
  writer.add_int32(20, kind);
  return bytes;
}

void add_shape_and_type(pbf_writer& writer, const std::string& name, const Array& array) {
  for (const int64_t size : array.shape()) writer.add_int64(1, size);
  writer.add_int32(2, static_cast<int32_t>(type_number(array.dtype())));
  if (!name.empty()) writer.add_string(8, name);
}

constexpr uint32_t kTensorMetadata = 16;

}  // namespace

int64_t type_number(Dtype dtype) { return static_cast<int64_t>(type_of(dtype)); }

std::string field_head(uint32_t field, uint64_t length) {
  std::string bytes;
  const auto out = std::back_inserter(bytes);
  protozero::write_varint(out, static_cast<uint64_t>(field) << 3 | 2u);
  protozero::write_varint(out, length);
  return bytes;
}

std::string tensor_head(const Initializer& initializer, const ExternalPlace* place) {
  std::string bytes;
  pbf_writer writer(bytes);
  add_shape_and_type(writer, initializer.name, initializer.array);
  if (!initializer.path.empty()) add_pair(writer, kTensorMetadata, "kusari.path", initializer.path);
  if (place == nullptr) return bytes + field_head(9, static_cast<uint64_t>(initializer.array.nbytes()));
  add_pair(writer, 13, "location", place->file);
  add_pair(writer, 13, "offset", std::to_string(place->offset));
  add_pair(writer, 13, "length", std::to_string(place->length));
  writer.add_int32(14, 1);
  return bytes;
}

std::string tensor_message(const std::string& name, const Array& array, const std::string& path) {
  const Array host = array.to_device(Device()).contiguous();
  std::string bytes = tensor_head({name, host, path}, nullptr);
  bytes.append(static_cast<const char*>(host.raw_data()), static_cast<size_t>(host.nbytes()));
  return bytes;
}

std::string node_message(const GraphNode& node) {
  std::string bytes;
  pbf_writer writer(bytes);
  for (const std::string& name : node.inputs) writer.add_string(1, name);
  for (const std::string& name : node.outputs) writer.add_string(2, name);
  writer.add_string(3, node.name);
  writer.add_string(4, node.type);
  for (const Attributes::Entry& attribute : node.attributes) writer.add_message(5, attribute_message(attribute));
  if (!node.domain.empty()) writer.add_string(7, node.domain);
  return bytes;
}

std::string port_message(const Port& port) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_string(1, port.name);
  // By hand: the shape of a scalar is a message without fields, which nested writers leave out.
  std::string shape_bytes, tensor_bytes, type_bytes;
  pbf_writer shape(shape_bytes), tensor(tensor_bytes), type(type_bytes);
  for (int axis = 0; axis < port.shape.ndim(); ++axis) {
    pbf_writer dimension(shape, 1);
    const std::string& symbol = port.symbols[static_cast<size_t>(axis)];
    if (symbol.empty()) {
      dimension.add_int64(1, port.shape[axis]);
    } else {
      dimension.add_string(2, symbol);
    }
  }
  tensor.add_int32(1, static_cast<int32_t>(type_number(port.dtype)));
  tensor.add_message(2, shape_bytes);
  type.add_message(1, tensor_bytes);
  writer.add_message(2, type_bytes);
  return bytes;
}

std::string model_message(const ModelHead& head) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_int64(1, head.ir_version);
  writer.add_string(2, "kusari");
  writer.add_string(3, KUSARI_VERSION);
  const auto add_opset = [&](const std::string& domain, int64_t version) {
    pbf_writer opset(writer, 8);
    opset.add_string(1, domain);
    opset.add_int64(2, version);
  };
  add_opset("", head.opset);
  for (const std::string& domain : head.domains) add_opset(domain, 1);
  for (const auto& [key, value] : head.metadata) add_pair(writer, 14, key, value);
  return bytes;
}

}  // namespace kusari::onnx::exporting
