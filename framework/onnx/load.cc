#include "kusari/framework/onnx/load.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/input_file.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/inference/loaders.h"
#include "kusari/framework/onnx/compile.h"
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

/// A file's content without a copy.
class MappedFile {
 public:
  MappedFile(const char* call, const std::string& path) {
    const auto fail = [&](int error) {
      throw IoError(std::string(call) + ": " + path + " cannot be read: " + std::generic_category().message(error));
    };
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) fail(errno);
    struct stat status {};
    int error = ::fstat(file, &status) != 0 ? errno : S_ISREG(status.st_mode) ? 0 : EINVAL;
    size_ = static_cast<size_t>(status.st_size);
    if (error == 0 && size_ > 0) {
      data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      if (data_ == MAP_FAILED) error = errno;
    }
    ::close(file);
    if (error != 0) fail(error);
  }
  ~MappedFile() {
    if (size_ > 0) ::munmap(data_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

/// Lets inference::open_session and the C interface read ONNX files.
[[maybe_unused]] const bool is_registered = [] {
  inference::register_loader(".onnx", [](const std::string& path, const InferenceSessionOptions& options) {
    return InferenceSession(load(path), options);
  });
  return true;
}();

}  // namespace

Model load(const std::string& path) {
  const MappedFile mapped("onnx::load", path);
  const std::filesystem::path file(path);
  return make(mapped.bytes(), {file.filename().string(), file.parent_path()});
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
