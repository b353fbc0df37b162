#include "kusari/framework/onnx/export_model.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/framework/links/state.h"
#include "kusari/framework/onnx/export/graph_builder.h"
#include "kusari/framework/onnx/export/trace.h"
#include "kusari/framework/onnx/export/wire.h"
#include "kusari/framework/onnx/export/write_model.h"
#include "kusari/framework/serializers/dictionary.h"

namespace kusari::onnx {
namespace {

using namespace exporting;

constexpr uint64_t kAlignment = 4096;          // of external tensors, for mapping
constexpr uint64_t kLargestMessage = 1 << 30;  // of a graph without weights; a message must stay below 2 GiB

int64_t ir_version(int opset) { return opset >= 21 ? 10 : opset >= 19 ? 9 : opset >= 15 ? 8 : 7; }

std::map<ArrayKey, std::string> array_paths(Link* link) {
  std::map<ArrayKey, std::string> paths;
  if (link == nullptr) return paths;
  serializers::DictionarySerializer entries;
  link->serialize(entries);
  for (const auto& [key, entry] : entries.dictionary()) {
    if (!entry.is_text && entry.array.is_defined()) paths.emplace(key_of(entry.array), "/" + key);
  }
  for (const auto& [path, parameter] : link->namedparams(false))
    paths.insert_or_assign(key_of(parameter->array()), path);
  return paths;
}

void check_options(std::span<const Variable> inputs, const ExportOptions& options) {
  if (options.opset < 13 || options.opset > 22) {
    throw ValueError("onnx::export_model: opset is " + std::to_string(options.opset) + ": it must be in [13, 22]");
  }
  if (options.fold_batch_normalization && options.train) {
    throw ValueError("onnx::export_model: fold_batch_normalization needs fixed statistics: train must be off");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_defined() && inputs[i].array().is_defined()) continue;
    throw TypeError("onnx::export_model: input " + std::to_string(i) + " is undefined");
  }
}

// Everything of a file but the elements of tensors, which are written from where they are.
class ModelFile {
 public:
  ModelFile(const GraphBuilder& graph, const ExportOptions& options, std::string path)
      : path_{std::move(path)}, initializers_{graph.initializers()}, graph_name_{options.graph_name} {
    head_ = model_message({ir_version(options.opset), options.opset, graph.domains(), options.metadata});
    for (const GraphNode& node : graph.nodes()) append(kGraphNode, node_message(node));
    append(kGraphName, graph_name_);
    for (const Port& port : graph.inputs()) append(kGraphInput, port_message(port));
    for (const Port& port : graph.outputs()) append(kGraphOutput, port_message(port));
    if (graph_.size() > kLargestMessage) {
      throw ValueError("onnx::export_model: the graph has more nodes than a file may have");
    }
    uint64_t bytes = 0;
    for (const Initializer& one : initializers_) bytes += static_cast<uint64_t>(one.array.nbytes());
    is_external_ = bytes >= options.external_threshold || bytes > kLargestMessage;
  }

  void write() const {
    const std::string data_path = path_ + ".data";
    std::unique_ptr<AtomicFile> data = is_external_ ? std::make_unique<AtomicFile>(data_path) : nullptr;
    AtomicFile file(path_);
    std::vector<std::string> heads;
    std::vector<bool> is_inside;
    uint64_t length = graph_.size();
    for (const Initializer& one : initializers_) {
      const auto size = static_cast<uint64_t>(one.array.nbytes());
      is_inside.push_back(data == nullptr || size < 1024);  // small ones stay, as in other writers
      if (is_inside.back()) {
        heads.push_back(tensor_head(one, nullptr));
        const uint64_t message = heads.back().size() + size;
        length += field_head(kGraphInitializer, message).size() + message;
      } else {
        data->write(std::string((kAlignment - data->size() % kAlignment) % kAlignment, '\0'));
        const ExternalPlace place{std::filesystem::path(data_path).filename().string(), data->size(), size};
        write_elements(*data, one.array);
        heads.push_back(tensor_head(one, &place));
        length += field_head(kGraphInitializer, heads.back().size()).size() + heads.back().size();
      }
    }
    file.write(head_);
    file.write(field_head(kModelGraph, length));
    file.write(graph_);
    for (size_t i = 0; i < heads.size(); ++i) {
      const auto size = is_inside[i] ? static_cast<uint64_t>(initializers_[i].array.nbytes()) : 0;
      file.write(field_head(kGraphInitializer, heads[i].size() + size));
      file.write(heads[i]);
      if (is_inside[i]) write_elements(file, initializers_[i].array);
    }
    file.flush();
    if (data != nullptr) data->commit();
    file.commit();
  }

 private:
  void append(uint32_t field, const std::string& message) {
    graph_ += field_head(field, message.size());
    graph_ += message;
  }
  static void write_elements(AtomicFile& file, const Array& array) {
    const Array host = array.to_device(Device()).contiguous();
    if (host.nbytes() > 0) file.write(host.raw_data(), static_cast<size_t>(host.nbytes()));
  }

  std::string path_, head_, graph_;
  std::vector<Initializer> initializers_;
  std::string graph_name_;
  bool is_external_ = false;
};

void write_tensor(const std::string& path, const std::string& name, const Array& array) {
  write_file_atomically(path, tensor_message(name, array));
}

void write_gradients(const detail::ModelCall& call, Link* link, std::span<const Variable> inputs,
                     const std::string& folder, bool train) {
  if (link == nullptr) {
    throw ValueError("onnx::export_testcase: output_grad: the model is no link: options.model.model must be given");
  }
  const auto mode = using_config(&Config::train, train);
  const auto with_graph = force_backprop_mode();
  link->cleargrads();
  Variables ys = call(inputs);
  for (Variable& y : ys) y.set_grad(ones(y.shape(), y.dtype(), y.device()));
  backward({ys.data(), ys.size()});
  size_t i = 0;
  for (const auto& [path, parameter] : link->namedparams(false)) {
    if (parameter->has_gradient()) {
      write_tensor(folder + "/gradient_" + std::to_string(i) + ".pb", tensor_name(path), parameter->grad());
    } else {
      log::warn("onnx::export_testcase: parameter " + path + " has no gradient");
    }
    ++i;
  }
}

}  // namespace

void detail::throw_input_count(size_t given) {
  throw TypeError("onnx: the model cannot be called with " + std::to_string(given) +
                  " variables, or gives neither a Variable nor several");
}

void exporting::write_model(const detail::ModelCall& call, Link* link, std::span<const Variable> inputs,
                            const std::string& path, const ExportOptions& options,
                            const std::function<void(GraphBuilder&)>& append) {
  check_options(inputs, options);
  if (options.model != nullptr) link = options.model;
  const Trace traced = exporting::trace(call, link, inputs, options);
  if (traced.results.empty()) throw ValueError("onnx::export_model: the model gives no result");
  GraphBuilder graph(traced, options, array_paths(link));
  graph.build();
  if (append) append(graph);
  if (options.fold_batch_normalization) graph.fold_batch_normalizations();
  ModelFile(graph, options, path).write();
}

void detail::export_model(const ModelCall& call, Link* link, std::span<const Variable> inputs, const std::string& path,
                          const ExportOptions& options) {
  write_model(call, link, inputs, path, options);
}

void detail::export_testcase(const ModelCall& call, Link* link, std::span<const Variable> inputs,
                             const std::string& folder, const TestcaseOptions& options) {
  const std::string data = folder + "/test_data_set_0";
  std::error_code failure;
  std::filesystem::create_directories(data, failure);
  if (failure) throw IoError("onnx::export_testcase: cannot make " + data + ": " + failure.message());
  export_model(call, link, inputs, folder + "/model.onnx", options.model);
  if (options.model.model != nullptr) link = options.model.model;
  const auto name = [](const std::vector<std::string>& given, const char* what, size_t i) {
    return i < given.size() ? given[i] : std::string(what) + std::to_string(i);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    write_tensor(data + "/input_" + std::to_string(i) + ".pb", name(options.model.input_names, "input_", i),
                 inputs[i].array());
  }
  {
    Variables ys;
    std::vector<std::pair<Variable*, Variable>> kept;
    if (link != nullptr) {
      for (const auto& [path, state] : states(*link)) kept.emplace_back(state, *state);
    }
    const auto mode = using_config(&Config::train, options.model.train);
    const auto without_graph = no_backprop_mode();
    ys = call(inputs);
    for (auto& [state, value] : kept) *state = value;
    for (size_t i = 0; i < ys.size(); ++i) {
      write_tensor(data + "/output_" + std::to_string(i) + ".pb", name(options.model.output_names, "output_", i),
                   ys[i].array());
    }
  }
  if (options.output_grad) write_gradients(call, link, inputs, data, options.model.train);
}

}  // namespace kusari::onnx
