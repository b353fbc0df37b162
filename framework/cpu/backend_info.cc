#include "kusari/framework/core/backend_info.h"

#include <fstream>

#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/onednn.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t at = line.find(": ");
    if (at != line.npos) return line.substr(at + 2);
  }
  return "unknown";
}

const char* isa_name() {
  switch (isa()) {
    case Isa::v1:
      return "v1 (baseline)";
    case Isa::v3:
      return "v3 (AVX2, FMA)";
    case Isa::v4:
      return "v4 (AVX-512)";
    case Isa::v4_vnni:
      return "v4_vnni (AVX-512, 8-bit products)";
    case Isa::v4_bf16:
      break;
  }
  return "v4_bf16 (AVX-512, 8-bit and bfloat16 products)";
}

std::string onednn_version() {
#if defined(KUSARI_WITH_ONEDNN)
  const dnnl_version_t& version = *dnnl_version();
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." + std::to_string(version.patch);
#else
  return "Not Available";
#endif
}

std::string backend_info() {
  return "oneDNN: " + onednn_version() + "\nCPU: " + model_name() + "\n  Instruction set: " + isa_name() + "\n";
}

}  // namespace

void register_backend_info(Backend& backend) { backend.add<kernels::BackendInfo>(&backend_info); }

}  // namespace kusari::cpu
