#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <protozero/pbf_reader.hpp>

#include "../scratch_directory.h"

// What tests want to know of a file, read field by field as onnx.proto numbers them.
namespace kusari::testing {

struct FileAttribute {
  int32_t kind = 0;
  int64_t integer = 0;
  float real = 0;
  std::string text;
  std::vector<int64_t> integers;
};

struct FileNode {
  std::vector<std::string> inputs, outputs;
  std::string name, type, domain;
  std::map<std::string, FileAttribute> attributes;
};

struct FileTensor {
  std::string name, raw;
  std::vector<int64_t> shape;
  int32_t type = 0;
  std::map<std::string, std::string> external, metadata;

  template <class T>
  std::vector<T> values() const {
    std::vector<T> result(raw.size() / sizeof(T));
    std::memcpy(result.data(), raw.data(), result.size() * sizeof(T));
    return result;
  }
};

struct FilePort {
  std::string name;
  int32_t type = 0;
  std::vector<std::string> shape;  // sizes, or names of sizes
};

inline std::pair<std::string, std::string> read_pair(protozero::pbf_reader entry) {
  std::pair<std::string, std::string> result;
  while (entry.next()) {
    const bool is_key = entry.tag() == 1;
    std::string text = entry.get_string();
    (is_key ? result.first : result.second) = std::move(text);
  }
  return result;
}

inline FileTensor read_tensor(protozero::pbf_reader message) {
  FileTensor tensor;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        tensor.shape.push_back(message.get_int64());
        break;
      case 2:
        tensor.type = message.get_int32();
        break;
      case 8:
        tensor.name = message.get_string();
        break;
      case 9:
        tensor.raw = message.get_bytes();
        break;
      case 13:
        tensor.external.insert(read_pair(message.get_message()));
        break;
      case 16:
        tensor.metadata.insert(read_pair(message.get_message()));
        break;
      default:
        message.skip();
    }
  }
  return tensor;
}

inline FileNode read_node(protozero::pbf_reader message) {
  FileNode node;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        node.inputs.push_back(message.get_string());
        break;
      case 2:
        node.outputs.push_back(message.get_string());
        break;
      case 3:
        node.name = message.get_string();
        break;
      case 4:
        node.type = message.get_string();
        break;
      case 5: {
        FileAttribute attribute;
        std::string name;
        protozero::pbf_reader field = message.get_message();
        while (field.next()) {
          switch (field.tag()) {
            case 1:
              name = field.get_string();
              break;
            case 2:
              attribute.real = field.get_float();
              break;
            case 3:
              attribute.integer = field.get_int64();
              break;
            case 4:
              attribute.text = field.get_bytes();
              break;
            case 8:
              attribute.integers.push_back(field.get_int64());
              break;
            case 20:
              attribute.kind = field.get_int32();
              break;
            default:
              field.skip();
          }
        }
        node.attributes[name] = attribute;
        break;
      }
      case 7:
        node.domain = message.get_string();
        break;
      default:
        message.skip();
    }
  }
  return node;
}

inline FilePort read_port(protozero::pbf_reader message) {
  FilePort port;
  while (message.next()) {
    if (message.tag() == 1) {
      port.name = message.get_string();
      continue;
    }
    protozero::pbf_reader type = message.get_message();
    type.next(1);
    protozero::pbf_reader tensor = type.get_message();
    while (tensor.next()) {
      if (tensor.tag() == 1) {
        port.type = tensor.get_int32();
        continue;
      }
      protozero::pbf_reader shape = tensor.get_message();
      while (shape.next(1)) {
        protozero::pbf_reader size = shape.get_message();
        while (size.next())
          port.shape.push_back(size.tag() == 1 ? std::to_string(size.get_int64()) : size.get_string());
      }
    }
  }
  return port;
}

struct OnnxFile {
  int64_t ir_version = 0;
  std::map<std::string, int64_t> opsets;
  std::map<std::string, std::string> metadata;
  std::vector<FileNode> nodes;
  std::map<std::string, FileTensor> initializers;
  std::vector<FilePort> inputs, outputs;

  explicit OnnxFile(const std::string& path) {
    const std::string bytes = read_file(path);
    protozero::pbf_reader model(bytes);
    while (model.next()) {
      switch (model.tag()) {
        case 1:
          ir_version = model.get_int64();
          break;
        case 7:
          read_graph(model.get_message());
          break;
        case 8: {
          protozero::pbf_reader opset = model.get_message();
          std::string domain;
          while (opset.next()) {
            if (opset.tag() == 1) {
              domain = opset.get_string();
            } else {
              opsets[domain] = opset.get_int64();
            }
          }
          break;
        }
        case 14:
          metadata.insert(read_pair(model.get_message()));
          break;
        default:
          model.skip();
      }
    }
  }

  std::vector<std::string> types() const {
    std::vector<std::string> all;
    for (const FileNode& node : nodes) all.push_back(node.type);
    return all;
  }

 private:
  void read_graph(protozero::pbf_reader graph) {
    while (graph.next()) {
      switch (graph.tag()) {
        case 1:
          nodes.push_back(read_node(graph.get_message()));
          break;
        case 5: {
          FileTensor tensor = read_tensor(graph.get_message());
          initializers[tensor.name] = tensor;
          break;
        }
        case 11:
          inputs.push_back(read_port(graph.get_message()));
          break;
        case 12:
          outputs.push_back(read_port(graph.get_message()));
          break;
        default:
          graph.skip();
      }
    }
  }
};

}  // namespace kusari::testing
