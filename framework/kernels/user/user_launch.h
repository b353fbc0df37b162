#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/kernel.h"

namespace kusari::kernels {

/// The text of a kernel and what a backend made of it. There is one for each text, and it stays until the end.
struct UserSource {
  std::string name;  ///< of the extern "C" function
  std::string code;
  std::vector<std::string> compiler;  ///< options
  static constexpr int kMaxDevices = 64;
  mutable std::atomic<void*> compiled[kMaxDevices] = {};  ///< the backend's, per device
};

/// The one object with this name, text and options.
KUSARI_API const UserSource& intern_user_source(const std::string& name, const std::string& code,
                                                const std::vector<std::string>& compiler);

/// How a text is launched: geometry, and the kernel's parameters in order, each the address of an array or some bytes.
struct UserLaunch {
  static constexpr int kMaxParameters = 48;
  static constexpr size_t kMaxBytes = 2048;
  struct Parameter {
    int16_t array;    ///< index into the inputs, then the outputs; -1: bytes
    uint16_t offset;  ///< of the bytes
  };

  const UserSource* source = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared = 0;
  int parameters = 0;
  size_t used = 0;
  Parameter parameter[kMaxParameters];
  alignas(16) unsigned char bytes[kMaxBytes];

  void add_array(int index) { next() = {static_cast<int16_t>(index), 0}; }
  /// Throws ValueError when the parameters do not fit.
  KUSARI_API void add_bytes(const void* data, size_t size, size_t alignment);
  template <class T>
  void add(const T& value) {
    add_bytes(&value, sizeof(T), alignof(T));
  }

 private:
  KUSARI_API Parameter& next();
};

/// Runs the text; compiles it first where that has not been done. Only CUDA devices can.
struct UserKernel {
  static constexpr const char* kName = "user_kernel";
  using Signature = void(Params<UserLaunch> launch, InList inputs, InOutList outputs);
};

}  // namespace kusari::kernels
