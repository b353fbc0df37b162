#include "kusari/framework/onnx/load.h"

#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/input_file.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/inference/loaders.h"
#include "kusari/framework/onnx/compile.h"
#include "kusari/framework/onnx/read/mapped_file.h"
#include "kusari/framework/onnx/read/messages.h"
#include "kusari/framework/onnx/read/tensor.h"

namespace kusari::onnx {

namespace {

constexpr int64_t kOldestOpset = 1, kNewestOpset = 28;
constexpr int64_t kOldestIr = 3, kNewestIr = 14;

Argument argument(const read::ValueInfo& info) {
  Argument result{std::string(info.name), dtype_for(info.type), std::nullopt, {}};
  if (info.shape) {
    result.shape.emplace();
    for (const read::Dimension& dimension : *info.shape) {
      result.shape->push_back(dimension.size && *dimension.size >= 0 ? *dimension.size : -1);
      result.axis_names.push_back(dimension.name);
    }
  }
  return result;
}

Model make(std::string_view bytes, const read::TensorSource& source) {
  const read::Model model = read::parse_model(bytes, source.name);
  if (model.ir_version < kOldestIr || model.ir_version > kNewestIr) {
    throw ValueError(source.name + " has the IR version " + std::to_string(model.ir_version) + ": it must be " +
                     std::to_string(kOldestIr) + " to " + std::to_string(kNewestIr));
  }
  const auto opset = model.opsets.find("");
  if (opset != model.opsets.end() && (opset->second < kOldestOpset || opset->second > kNewestOpset)) {
    throw ValueError(source.name + " was written for opset " + std::to_string(opset->second) + ": it must be " +
                     std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset));
  }
  std::vector<Argument> inputs, outputs;
  for (const read::ValueInfo& input : model.graph.inputs) {
    bool is_initializer = false;
    for (const read::Tensor& tensor : model.graph.initializers) is_initializer |= tensor.name == input.name;
    if (!is_initializer) inputs.push_back(argument(input));
  }
  for (const read::ValueInfo& output : model.graph.outputs) outputs.push_back(argument(output));
  return Model(compile_model(model, source), std::move(inputs), std::move(outputs), model.metadata, source.name);
}

/// A model of a session, whose weights stay in its files.
class MappedModel : public Model {
 public:
  MappedModel(Model model, std::shared_ptr<const read::MappedWeights> weights)
      : Model(std::move(model)), weights_{std::move(weights)} {}
  /// See inference::CallableModel::first_call.
  std::shared_ptr<void> first_call() const { return std::make_shared<Forgetting>(*weights_); }

 private:
  /// Gives memory back that weights take, whenever a kernel has read some.
  class Forgetting final : public LaunchObserver {
   public:
    explicit Forgetting(const read::MappedWeights& weights) : weights_{weights}, installed_{*this} {}
    void on_launch(const Launch& launch, void (*proceed)(const Launch&)) override {
      proceed(launch);
      for (const LaunchArgument& argument : launch.arguments) {
        if (argument.kind == LaunchArgument::Kind::in) weights_.forget(*static_cast<const Array*>(argument.value));
      }
    }

   private:
    const read::MappedWeights& weights_;
    ScopedLaunchObserver installed_;
  };

  std::shared_ptr<const read::MappedWeights> weights_;
};

/// A session needs the weights of a file once, to bring them into the order that kernels want.
InferenceSession open_mapped(const std::string& path, InferenceSessionOptions options) {
  auto weights = std::make_shared<read::MappedWeights>();
  const read::MappedFile& mapped = weights->file("onnx::load", path);
  const std::filesystem::path file(path);
  Model model = make(mapped.bytes(), {file.filename().string(), file.parent_path(), &mapped, weights.get()});
  if (options.name.empty()) options.name = "Model";
  return InferenceSession(MappedModel(std::move(model), std::move(weights)), std::move(options));
}

/// Lets inference::open_session and the C interface read ONNX files.
[[maybe_unused]] const bool is_registered = [] {
  inference::register_loader(".onnx", [](const std::string& path, const InferenceSessionOptions& options) {
    return open_mapped(path, options);
  });
  return true;
}();

}  // namespace

Model load(const std::string& path) {
  const read::MappedFile mapped("onnx::load", path);
  const std::filesystem::path file(path);
  return make(mapped.bytes(), {file.filename().string(), file.parent_path(), &mapped});
}

Array load_tensor(const std::string& path) {
  std::vector<uint8_t> buffer;
  const auto bytes = read_whole("onnx::load_tensor", path, buffer);
  const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::filesystem::path file(path);
  return read::to_array(read::parse_tensor(view, path), {file.filename().string(), file.parent_path()});
}

Model load_bytes(std::string_view bytes, const std::string& folder) { return make(bytes, {"the model", folder}); }

}  // namespace kusari::onnx
