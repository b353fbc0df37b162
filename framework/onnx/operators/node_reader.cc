#include "kusari/framework/onnx/operators/node_reader.h"

#include "kusari/framework/core/error.h"

namespace kusari::onnx {

namespace {

const char* to_string(AttributeType type) {
  switch (type) {
    case AttributeType::real:
      return "a real number";
    case AttributeType::integer:
      return "an integer";
    case AttributeType::text:
      return "a string";
    case AttributeType::tensor:
      return "a tensor";
    case AttributeType::graph:
      return "a graph";
    case AttributeType::reals:
      return "a list of real numbers";
    case AttributeType::integers:
      return "a list of integers";
    case AttributeType::texts:
      return "a list of strings";
    default:
      return "of an unknown type";
  }
}

}  // namespace

void NodeReader::expect_inputs(size_t least) const {
  if (input_count() < least) {
    throw ValueError("it has " + std::to_string(input_count()) + " inputs: there must be at least " +
                     std::to_string(least));
  }
}

const read::Attribute* NodeReader::find(std::string_view name) const {
  for (const read::Attribute& attribute : node_.attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

const read::Attribute* NodeReader::find(std::string_view name, AttributeType type) const {
  const read::Attribute* const attribute = find(name);
  // Files of the first versions state no type.
  if (attribute != nullptr && attribute->type != type && attribute->type != AttributeType::undefined) {
    throw ValueError("its attribute " + std::string(name) + " is " + to_string(attribute->type) + ": it must be " +
                     to_string(type));
  }
  return attribute;
}

void NodeReader::throw_missing(std::string_view name) {
  throw ValueError("it lacks the attribute " + std::string(name));
}

int64_t NodeReader::integer(std::string_view name) const {
  const read::Attribute* const attribute = find(name, AttributeType::integer);
  return attribute != nullptr ? attribute->integer : (throw_missing(name), 0);
}
int64_t NodeReader::integer(std::string_view name, int64_t otherwise) const {
  const read::Attribute* const attribute = find(name, AttributeType::integer);
  return attribute != nullptr ? attribute->integer : otherwise;
}

double NodeReader::real(std::string_view name) const {
  const read::Attribute* const attribute = find(name, AttributeType::real);
  return attribute != nullptr ? static_cast<double>(attribute->real) : (throw_missing(name), 0);
}
double NodeReader::real(std::string_view name, double otherwise) const {
  const read::Attribute* const attribute = find(name, AttributeType::real);
  return attribute != nullptr ? static_cast<double>(attribute->real) : otherwise;
}

std::string NodeReader::text(std::string_view name, std::string_view otherwise) const {
  const read::Attribute* const attribute = find(name, AttributeType::text);
  return std::string(attribute != nullptr ? attribute->text : otherwise);
}

std::optional<std::vector<int64_t>> NodeReader::integers(std::string_view name) const {
  const read::Attribute* const attribute = find(name, AttributeType::integers);
  if (attribute == nullptr) return std::nullopt;
  return attribute->integers;
}

std::optional<std::vector<double>> NodeReader::reals(std::string_view name) const {
  const read::Attribute* const attribute = find(name, AttributeType::reals);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<double>(attribute->reals.begin(), attribute->reals.end());
}

std::vector<std::string> NodeReader::texts(std::string_view name) const {
  const read::Attribute* const attribute = find(name, AttributeType::texts);
  if (attribute == nullptr) return {};
  return {attribute->texts.begin(), attribute->texts.end()};
}

std::optional<Array> NodeReader::tensor(std::string_view name) const {
  const read::Attribute* const attribute = find(name, AttributeType::tensor);
  if (attribute == nullptr) return std::nullopt;
  if (attribute->tensor == nullptr) throw ValueError("its attribute " + std::string(name) + " holds no tensor");
  return read::to_array(*attribute->tensor, source_);
}

DataType NodeReader::tensor_type(std::string_view name) const {
  const read::Attribute* const attribute = find(name, AttributeType::tensor);
  return attribute != nullptr && attribute->tensor != nullptr ? attribute->tensor->type : DataType::undefined;
}

std::shared_ptr<const Subgraph> NodeReader::graph(std::string_view name) const {
  const read::Attribute* const attribute = find(name, AttributeType::graph);
  if (attribute == nullptr) throw_missing(name);
  if (attribute->graph == nullptr) throw ValueError("its attribute " + std::string(name) + " holds no graph");
  return compile_(*attribute->graph);
}

DataType NodeReader::data_type(std::string_view name, DataType otherwise) const {
  return static_cast<DataType>(integer(name, static_cast<int64_t>(otherwise)));
}

Dtype NodeReader::dtype(std::string_view name, DataType otherwise) const {
  const DataType type = data_type(name, otherwise);
  const std::optional<Dtype> dtype = dtype_for(type);
  if (!dtype)
    throw ValueError("its attribute " + std::string(name) + " is " + onnx::to_string(type) +
                     ", of which Kusari has no dtype");
  return *dtype;
}

DataType NodeReader::wanted_type(std::string_view name) const {
  if (!has(name)) return DataType::undefined;
  dtype(name, DataType::undefined);
  return data_type(name, DataType::undefined);
}

}  // namespace kusari::onnx
