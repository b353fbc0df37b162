#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

// A broken file must not end the program, and release builds would leave protozero's own checks out.
#define protozero_assert(condition) \
  ((condition) ? static_cast<void>(0) : throw std::range_error("a field has another wire type than the format says"))
#include <protozero/pbf_reader.hpp>

#include "kusari/framework/core/error.h"
#include "kusari/framework/onnx/read/messages.h"

namespace kusari::onnx::read {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr int kMaxDepth = 64;  // of graphs within graphs
constexpr size_t kMaxNodes = 1000000;

std::string_view view_of(pbf_reader& message) {
  const protozero::data_view view = message.get_view();
  return {view.data(), view.size()};
}

bool is_length_delimited(const pbf_reader& message) { return message.wire_type() == pbf_wire_type::length_delimited; }

/// A repeated number: packed, or one by one.
template <class T, class GetPacked, class GetOne>
void append(std::vector<T>& values, pbf_reader& message, GetPacked packed, GetOne one) {
  if (is_length_delimited(message)) {
    for (const auto value : (message.*packed)()) values.push_back(static_cast<T>(value));
  } else {
    values.push_back(static_cast<T>((message.*one)()));
  }
}
void append_int64(std::vector<int64_t>& values, pbf_reader& message) {
  append(values, message, &pbf_reader::get_packed_int64, &pbf_reader::get_int64);
}
void append_float(std::vector<float>& values, pbf_reader& message) {
  append(values, message, &pbf_reader::get_packed_float, &pbf_reader::get_float);
}

std::pair<std::string, std::string> entry(pbf_reader message) {
  std::pair<std::string, std::string> result;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        result.first = view_of(message);
        break;
      case 2:
        result.second = view_of(message);
        break;
      default:
        message.skip();
    }
  }
  return result;
}

uint64_t number(const std::string& text, const char* key) {
  size_t used = 0;
  uint64_t value = 0;
  try {
    value = std::stoull(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size() || text[0] == '-') {
    throw std::range_error("external data: " + std::string(key) + " is '" + text + "': it must be a number");
  }
  return value;
}

Tensor tensor(pbf_reader message) {
  Tensor result;
  bool is_external = false;
  ExternalData external;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        append_int64(result.dims, message);
        break;
      case 2:
        result.type = static_cast<DataType>(message.get_int32());
        break;
      case 4:
        append_float(result.floats, message);
        break;
      case 5:
        append(result.integers, message, &pbf_reader::get_packed_int32, &pbf_reader::get_int32);
        break;
      case 6:
        result.texts.push_back(view_of(message));
        break;
      case 7:
        append_int64(result.integers, message);
        break;
      case 8:
        result.name = view_of(message);
        break;
      case 9:
        result.raw = view_of(message);
        result.has_raw = true;
        break;
      case 10:
        append(result.doubles, message, &pbf_reader::get_packed_double, &pbf_reader::get_double);
        break;
      case 11:
        append(result.integers, message, &pbf_reader::get_packed_uint64, &pbf_reader::get_uint64);
        break;
      case 13: {
        const auto [key, value] = entry(message.get_message());
        if (key == "location") external.location = value;
        if (key == "offset") external.offset = number(value, "offset");
        if (key == "length") external.length = number(value, "length");
        break;
      }
      case 14:
        is_external = message.get_enum() == 1;
        break;
      default:
        message.skip();
    }
  }
  if (is_external) result.external = std::move(external);
  result.number_lists = static_cast<size_t>(!result.floats.empty()) + static_cast<size_t>(!result.doubles.empty()) +
                        static_cast<size_t>(!result.integers.empty()) + static_cast<size_t>(!result.texts.empty());
  return result;
}

class Reader {
 public:
  Graph graph(pbf_reader message, int depth) {
    if (depth > kMaxDepth) throw std::range_error("graphs within graphs are more than 64 deep");
    Graph result;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          result.nodes.push_back(node(message.get_message(), depth));
          break;
        case 2:
          result.name = view_of(message);
          break;
        case 5:
          result.initializers.push_back(tensor(message.get_message()));
          break;
        case 11:
          result.inputs.push_back(value_info(message.get_message()));
          break;
        case 12:
          result.outputs.push_back(value_info(message.get_message()));
          break;
        case 15:
          result.has_sparse_initializers = true;
          message.skip();
          break;
        default:
          message.skip();
      }
    }
    return result;
  }

  Function function(pbf_reader message) {
    Function result;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          result.name = view_of(message);
          break;
        case 4:
          result.inputs.push_back(view_of(message));
          break;
        case 5:
          result.outputs.push_back(view_of(message));
          break;
        case 6:
          result.attribute_names.push_back(view_of(message));
          break;
        case 7:
          result.nodes.push_back(node(message.get_message(), 0));
          break;
        case 9:
          result.opsets.insert(opset(message.get_message()));
          break;
        case 10:
          result.domain = view_of(message);
          break;
        case 11:
          result.attributes.push_back(attribute(message.get_message(), 0));
          break;
        case 13:
          result.overload = view_of(message);
          break;
        default:
          message.skip();
      }
    }
    return result;
  }

  static std::pair<std::string, int64_t> opset(pbf_reader message) {
    std::pair<std::string, int64_t> result;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          result.first = view_of(message);
          break;
        case 2:
          result.second = message.get_int64();
          break;
        default:
          message.skip();
      }
    }
    if (result.first == "ai.onnx") result.first.clear();
    return result;
  }

 private:
  Node node(pbf_reader message, int depth) {
    if (++nodes_ > kMaxNodes) throw std::range_error("the model has more than 1000000 nodes");
    Node result;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          result.inputs.push_back(view_of(message));
          break;
        case 2:
          result.outputs.push_back(view_of(message));
          break;
        case 3:
          result.name = view_of(message);
          break;
        case 4:
          result.op_type = view_of(message);
          break;
        case 5:
          result.attributes.push_back(attribute(message.get_message(), depth));
          break;
        case 7:
          result.domain = view_of(message);
          break;
        case 8:
          result.overload = view_of(message);
          break;
        default:
          message.skip();
      }
    }
    if (result.domain == "ai.onnx") result.domain = {};
    return result;
  }

  Attribute attribute(pbf_reader message, int depth) {
    Attribute result;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          result.name = view_of(message);
          break;
        case 2:
          result.real = message.get_float();
          break;
        case 3:
          result.integer = message.get_int64();
          break;
        case 4:
          result.text = view_of(message);
          break;
        case 5:
          result.tensor = std::make_shared<const Tensor>(tensor(message.get_message()));
          break;
        case 6:
          result.graph = std::make_shared<const Graph>(graph(message.get_message(), depth + 1));
          break;
        case 7:
          append_float(result.reals, message);
          break;
        case 8:
          append_int64(result.integers, message);
          break;
        case 9:
          result.texts.push_back(view_of(message));
          break;
        case 20:
          result.type = static_cast<AttributeType>(message.get_enum());
          break;
        case 21:
          result.reference = view_of(message);
          break;
        default:
          message.skip();
      }
    }
    return result;
  }

  static Dimension dimension(pbf_reader message) {
    Dimension result;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          result.size = message.get_int64();
          break;
        case 2:
          result.name = view_of(message);
          break;
        default:
          message.skip();
      }
    }
    return result;
  }

  static std::vector<Dimension> shape(pbf_reader message) {
    std::vector<Dimension> result;
    while (message.next()) {
      if (message.tag() == 1) {
        result.push_back(dimension(message.get_message()));
      } else {
        message.skip();
      }
    }
    return result;
  }

  static void tensor_type(pbf_reader message, ValueInfo& info) {
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          info.type = static_cast<DataType>(message.get_int32());
          break;
        case 2:
          info.shape = shape(message.get_message());
          break;
        default:
          message.skip();
      }
    }
  }

  static void value_type(pbf_reader message, ValueInfo& info, bool may_be_optional) {
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          tensor_type(message.get_message(), info);
          break;
        case 4:
          info.other = "a list (a sequence)";
          message.skip();
          break;
        case 5:
          info.other = "a map";
          message.skip();
          break;
        case 8:
          info.other = "a sparse tensor";
          message.skip();
          break;
        case 9: {
          pbf_reader optional = message.get_message();
          while (optional.next()) {
            if (optional.tag() == 1 && may_be_optional) {
              value_type(optional.get_message(), info, false);
            } else {
              optional.skip();
            }
          }
          break;
        }
        default:
          message.skip();
      }
    }
  }

  static ValueInfo value_info(pbf_reader message) {
    ValueInfo result;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          result.name = view_of(message);
          break;
        case 2:
          value_type(message.get_message(), result, true);
          break;
        default:
          message.skip();
      }
    }
    return result;
  }

  size_t nodes_ = 0;
};

}  // namespace

Model parse_model(std::string_view bytes, const std::string& source) {
  Model result;
  bool has_graph = false;
  try {
    Reader reader;
    pbf_reader message(bytes.data(), bytes.size());
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          result.ir_version = message.get_int64();
          break;
        case 2:
          result.producer = view_of(message);
          break;
        case 7:
          result.graph = reader.graph(message.get_message(), 0);
          has_graph = true;
          break;
        case 8:
          result.opsets.insert(Reader::opset(message.get_message()));
          break;
        case 14:
          result.metadata.insert(entry(message.get_message()));
          break;
        case 25:
          result.functions.push_back(reader.function(message.get_message()));
          break;
        default:
          message.skip();
      }
    }
  } catch (const protozero::exception& error) {
    throw IoError(source + " is damaged, or is no ONNX model: " + error.what());
  } catch (const std::range_error& error) {
    throw IoError(source + " is damaged: " + error.what());
  }
  if (!has_graph) throw IoError(source + " is no ONNX model: it has no graph");
  return result;
}

Tensor parse_tensor(std::string_view bytes, const std::string& source) {
  try {
    return tensor(pbf_reader(bytes.data(), bytes.size()));
  } catch (const protozero::exception& error) {
    throw IoError(source + " is damaged, or is no ONNX tensor: " + error.what());
  } catch (const std::range_error& error) {
    throw IoError(source + " is damaged: " + error.what());
  }
}

}  // namespace kusari::onnx::read
