// NVRTC and the loading of its results: texts are compiled by the host's compiler into a shared object, whose bytes
// play the machine code.

#include <nvrtc.h>

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "kusari/tests/cuda_emulated/executor.h"
#include "kusari/tests/cuda_emulated/graphs.h"
#include "kusari/tests/cuda_emulated/settings.h"
#include "kusari/tests/cuda_emulated/stream_queue.h"
#include "kusari/tests/cuda_emulated/thread_device.h"

struct _nvrtcProgram {
  std::string name, code, log, machine_code;
  std::vector<std::pair<std::string, std::string>> headers;
  bool is_for_driver = false;  // compiled to PTX, of which there is no machine code
};

namespace {

/// A folder for one compilation, removed at the end.
class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "kusari_nvrtc_XXXXXX").string();
    if (mkdtemp(path.data()) != nullptr) path_ = path;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// For each kernel of the text a function that binds its parameters.
std::string entries_of(const std::string& code) {
  std::string text;
  const std::regex kernel(R"(__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\()");
  for (std::sregex_iterator it(code.begin(), code.end(), kernel), end; it != end; ++it) {
    const std::string name = (*it)[1];
    text += "extern \"C\" __attribute__((visibility(\"default\"))) void kusari_entry_" + name +
            "(void** at, std::function<void()>* bound) { *bound = kusari::cuda::emulated::bind_kernel(&" + name +
            ", at); }\n";
  }
  return text;
}

using Entry = void (*)(void**, std::function<void()>*);

constexpr int kArchitectures[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};  // of CUDA 13.0

/// "--gpu-architecture=sm_90" or "...=compute_90" of an architecture that is known.
bool is_known_architecture(const std::string& option) {
  for (const int architecture : kArchitectures) {
    const std::string number = std::to_string(architecture);
    if (option.ends_with("=sm_" + number) || option.ends_with("=compute_" + number)) return true;
  }
  return false;
}

}  // namespace

extern "C" {

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* code, const char* name, int count,
                               const char* const* headers, const char* const* names) {
  auto* made = new _nvrtcProgram{name, code, {}, {}, {}, false};
  for (int i = 0; i < count; ++i) made->headers.emplace_back(names[i], headers[i]);
  *program = made;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(std::size(kArchitectures));
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int* architectures) {
  std::copy(std::begin(kArchitectures), std::end(kArchitectures), architectures);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    if (!option.starts_with("--gpu-architecture=")) continue;
    if (!is_known_architecture(option)) {
      program->log = "nvrtc: error: invalid value for --gpu-architecture\n";
      return NVRTC_ERROR_INVALID_OPTION;
    }
    program->is_for_driver = option.find("=compute_") != std::string::npos;
  }
  const Folder folder;
  if (folder.path().empty()) return NVRTC_ERROR_INTERNAL_ERROR;
  for (const auto& [name, text] : program->headers) write(folder.path() / name, text);
  write(folder.path() / "kernel.cu", program->code + entries_of(program->code));
  const std::string at = folder.path().string();
  const std::string command = std::string(KUSARI_EMULATED_COMPILER) +
                              " -x c++ " KUSARI_EMULATED_TEXT_OPTIONS " -shared -I'" + at +
                              "' " KUSARI_EMULATED_INCLUDES " -include '" KUSARI_EMULATED_TEXT_HEADER "' '" + at +
                              "/kernel.cu' -o '" + at + "/kernel.so' 2> '" + at + "/log'";
  const int status = std::system(command.c_str());
  program->log = read(folder.path() / "log");
  if (status != 0) return NVRTC_ERROR_COMPILATION;
  program->machine_code = read(folder.path() / "kernel.so");
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size) {
  *size = program->is_for_driver ? 0 : program->machine_code.size();
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* size) {
  *size = program->machine_code.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* code) {
  program->machine_code.copy(code, program->machine_code.size());
  code[program->machine_code.size()] = '\0';
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  if (program->is_for_driver) return NVRTC_ERROR_INVALID_INPUT;
  program->machine_code.copy(code, program->machine_code.size());
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* size) {
  *size = program->log.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  program->log.copy(log, program->log.size());
  log[program->log.size()] = '\0';
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 0;  // of no real compiler: what is kept of its results is not taken for another's
  *minor = 2;
  return NVRTC_SUCCESS;
}
const char* nvrtcGetErrorString(nvrtcResult result) {
  return result == NVRTC_ERROR_COMPILATION ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_INTERNAL_ERROR";
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  if (const cudaError_t status = kusari::cuda::emulated::unsafe_call(); status != cudaSuccess) return status;
  // An ELF file ends with its section headers.
  const char* const bytes = static_cast<const char*>(code);
  uint64_t sections_at = 0;
  uint16_t section_bytes = 0, sections = 0;
  std::memcpy(&sections_at, bytes + 0x28, 8);
  std::memcpy(&section_bytes, bytes + 0x3a, 2);
  std::memcpy(&sections, bytes + 0x3c, 2);
  const Folder folder;
  const std::filesystem::path path = folder.path() / "kernel.so";
  write(path, std::string(bytes, sections_at + uint64_t{section_bytes} * sections));
  void* const loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return cudaErrorInvalidKernelImage;
  *library = reinterpret_cast<cudaLibrary_t>(loaded);
  return cudaSuccess;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  void* const entry = dlsym(library, (std::string("kusari_entry_") + name).c_str());
  if (entry == nullptr) return cudaErrorSymbolNotFound;
  *kernel = reinterpret_cast<cudaKernel_t>(entry);
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** parameters, size_t shared,
                             cudaStream_t stream) {
  int device = -1;
  cudaGetDevice(&device);
  if (!kusari::cuda::emulated::is_of_current_device(stream)) return cudaErrorInvalidResourceHandle;
  if (!kusari::cuda::emulated::may_have_shared(kernel, shared, device)) return cudaErrorInvalidValue;
  std::function<void()> bound;
  reinterpret_cast<Entry>(const_cast<void*>(kernel))(parameters, &bound);
  return kusari::cuda::emulated::submit(stream, [=] {
    kusari::cuda::emulated::run_grid({grid, block, shared, kernel}, [&] { bound(); });
  });
}

}  // extern "C"
