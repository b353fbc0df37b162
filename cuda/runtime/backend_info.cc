#include "kusari/framework/core/backend_info.h"

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "kusari/cuda/runtime/context.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/core/workspace_limit.h"

namespace kusari::cuda {
namespace {

std::string cuda_version(int version) {
  return version == 0 ? "Not Available" : std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string cudnn_version(size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::string backend_info() {
  int runtime = 0, driver = 0, devices = 0;
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (driver == 0 || cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
  cudaGetLastError();  // without a driver there is one, which is nobody else's business
  std::string text = "CUDA:\n  Build Version: " + cuda_version(CUDART_VERSION) +
                     "\n  Runtime Version: " + cuda_version(runtime) + "\n  Driver Version: " + cuda_version(driver) +
                     "\n  Devices: " + std::to_string(devices) + "\n";
  for (int i = 0; i < devices; ++i) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) continue;
    text += "  Device " + std::to_string(i) + ": " + properties.name + ", compute capability " +
            std::to_string(properties.major) + "." + std::to_string(properties.minor) + ", " +
            std::to_string(properties.totalGlobalMem >> 20) + " MiB\n";
  }
  return text + "cuDNN:\n  Build Version: " + cudnn_version(CUDNN_VERSION) +
         "\n  Version: " + cudnn_version(cudnnGetVersion()) + "\n";
}

}  // namespace

void register_backend_info(Backend& backend) {
  backend.add<kernels::BackendInfo>(&backend_info);
  backend.add<kernels::DeviceMemory>([](int index) { return Context::of(index).facts().total_memory; });
}

}  // namespace kusari::cuda
