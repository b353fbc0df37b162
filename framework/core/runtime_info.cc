#include "kusari/framework/core/runtime_info.h"

#include <sys/utsname.h>

#include <iostream>

#include <Eigen/Core>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/backend_info.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/core/version.h"

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

namespace kusari {
namespace {

/// As Python's platform.platform(): "Linux-6.1.0-x86_64-with-glibc2.36".
std::string platform() {
  utsname system{};
  if (::uname(&system) != 0) return "unknown";
  std::string text = std::string(system.sysname) + "-" + system.release + "-" + system.machine;
#if defined(__GLIBC__)
  text += std::string("-with-glibc") + ::gnu_get_libc_version();
#endif
  return text;
}

/// The backend's lines, or `otherwise`.
std::string info_of(const Backend* backend, const char* otherwise) {
  const Backend::AnyKernel found = backend == nullptr ? nullptr : backend->find(kernel_id<kernels::BackendInfo>());
  return found == nullptr ? otherwise : reinterpret_cast<kernels::BackendInfo::Signature*>(found)();
}

}  // namespace

std::string runtime_info() {
  std::string text = "Platform: " + platform() + "\nKusari: " KUSARI_VERSION "\nEigen: ";
  text += std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
          std::to_string(EIGEN_MINOR_VERSION) + "\n";
  text += info_of(&detail::cpu_backend(), "");
  text += "Threads: " + std::to_string(num_threads()) + "\n";
  return text + info_of(detail::cuda_backend(), "CUDA: Not Available\ncuDNN: Not Available\n");
}

void print_runtime_info() { print_runtime_info(std::cout); }
void print_runtime_info(std::ostream& out) { out << runtime_info() << std::flush; }

}  // namespace kusari
