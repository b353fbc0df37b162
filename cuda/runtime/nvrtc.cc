#include "kusari/cuda/runtime/nvrtc.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nvrtc.h>

#include "kusari/cuda/runtime/cache_folder.h"
#include "kusari/cuda/runtime/nvrtc_headers.h"
#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"

namespace kusari::cuda {
namespace {

void check(nvrtcResult result, const std::string& name, const char* call) {
  if (result != NVRTC_SUCCESS) throw Error(name + ": " + call + " failed: " + nvrtcGetErrorString(result));
}

class Program {
 public:
  Program(const std::string& name, const std::string& code) : name_{name} {
    std::vector<const char*> texts, names;
    for (int i = 0; i < kNvrtcHeaderCount; ++i) {
      names.push_back(kNvrtcHeaders[i].name);
      texts.push_back(kNvrtcHeaders[i].text);
    }
    check(nvrtcCreateProgram(&program_, code.c_str(), (name + ".cu").c_str(), kNvrtcHeaderCount, texts.data(),
                             names.data()),
          name_, "nvrtcCreateProgram");
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { nvrtcDestroyProgram(&program_); }

  std::string compile(const std::vector<std::string>& options, bool is_for_driver) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    const nvrtcResult result = nvrtcCompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
    if (result == NVRTC_ERROR_COMPILATION) throw Error(name_ + ": the kernel does not compile:\n" + compiler_log());
    if (result != NVRTC_SUCCESS) {  // a wrong option, or a part of the compiler that is not installed
      throw Error(name_ + ": nvrtcCompileProgram failed: " + nvrtcGetErrorString(result) + "\n" + compiler_log());
    }
    size_t size = 0;
    if (is_for_driver) {
      check(nvrtcGetPTXSize(program_, &size), name_, "nvrtcGetPTXSize");
      std::string text(size, '\0');
      check(nvrtcGetPTX(program_, text.data()), name_, "nvrtcGetPTX");
      text.resize(size - 1);  // the closing zero
      return text;
    }
    check(nvrtcGetCUBINSize(program_, &size), name_, "nvrtcGetCUBINSize");
    std::string code(size, '\0');
    check(nvrtcGetCUBIN(program_, code.data()), name_, "nvrtcGetCUBIN");
    return code;
  }

 private:
  std::string compiler_log() const {
    size_t size = 0;
    if (nvrtcGetProgramLogSize(program_, &size) != NVRTC_SUCCESS || size < 2) return "(no log)";
    std::string text(size, '\0');
    nvrtcGetProgramLog(program_, text.data());
    text.resize(size - 1);  // the closing zero
    return text;
  }

  std::string name_;
  nvrtcProgram program_ = nullptr;
};

/// FNV-1a over 128 bits in two lanes: names files, and a file says itself what it was made from.
std::string digest(const std::string& text) {
  uint64_t low = 0xcbf29ce484222325u, high = 0x84222325cbf29ce4u;
  for (const char c : text) {
    low = (low ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    high = (high ^ static_cast<unsigned char>(c)) * 0x1000000000193u;
  }
  char name[33];
  std::snprintf(name, sizeof(name), "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return name;
}

/// Everything that the machine code depends on.
std::string inputs_of(const std::string& code, const std::vector<std::string>& options,
                      const std::string& architecture) {
  int major = 0, minor = 0;
  nvrtcVersion(&major, &minor);
  std::string text = architecture + "\n" + std::to_string(major) + "." + std::to_string(minor) + "\n";
  for (const std::string& option : options) text += option + "\n";
  for (int i = 0; i < kNvrtcHeaderCount; ++i) text += kNvrtcHeaders[i].text;
  return text + code;
}

// A file: the length of the inputs, the inputs, the machine code. What was cut off or made from another text that
// happens to have the same digest is not taken.
std::string read_cached(const std::filesystem::path& path, const std::string& inputs) {
  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string head = std::to_string(inputs.size()) + "\n" + inputs;
  const size_t tail = content.rfind('\n');
  if (!content.starts_with(head) || tail == std::string::npos || tail < head.size()) return {};
  if (content.substr(tail + 1) != std::to_string(tail - head.size())) return {};
  return content.substr(head.size(), tail - head.size());
}

void write_cached(const std::filesystem::path& path, const std::string& inputs, const std::string& code) {
  try {
    std::filesystem::create_directories(path.parent_path());
    AtomicFile file(path.string());
    file.write(std::to_string(inputs.size()) + "\n" + inputs);
    file.write(code);
    file.write("\n" + std::to_string(code.size()));
    file.commit();
  } catch (const std::exception& error) {
    log::info(std::string("compiled kernels are not kept: ") + error.what());
  }
}

}  // namespace

std::string architecture_for(int major, int minor) {
  const int capability = 10 * major + minor;
  int count = 0;
  check(nvrtcGetNumSupportedArchs(&count), "user kernels", "nvrtcGetNumSupportedArchs");
  std::vector<int> known(static_cast<size_t>(count));
  check(nvrtcGetSupportedArchs(known.data()), "user kernels", "nvrtcGetSupportedArchs");
  int newest = 0;  // that the card can run
  for (const int architecture : known) {
    if (architecture <= capability) newest = std::max(newest, architecture);
  }
  const bool is_known = newest == capability || newest == 0;
  return is_known ? "sm_" + std::to_string(capability) : "compute_" + std::to_string(newest);
}

std::string compile_text(const std::string& name, const std::string& code, const std::vector<std::string>& options,
                         const std::string& architecture) {
  std::vector<std::string> all = {"--gpu-architecture=" + architecture, "--std=c++20"};
  all.insert(all.end(), options.begin(), options.end());
  return Program(name, code).compile(all, architecture.starts_with("compute_"));
}

std::string compile_cached(const std::string& name, const std::string& code, const std::vector<std::string>& options,
                           const std::string& architecture) {
  const std::filesystem::path folder = cache_folder("kernels");
  if (folder.empty()) return compile_text(name, code, options, architecture);
  const std::string inputs = inputs_of(code, options, architecture);
  const std::filesystem::path path = folder / (digest(inputs) + ".cubin");
  std::string compiled = read_cached(path, inputs);
  if (!compiled.empty()) return compiled;
  compiled = compile_text(name, code, options, architecture);
  write_cached(path, inputs, compiled);
  return compiled;
}

}  // namespace kusari::cuda
