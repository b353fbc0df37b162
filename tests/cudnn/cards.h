#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kusari/cuda/libraries/cudnn_plan.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/workspace_limit.h"

namespace kusari::cuda {

/// A card as its maker describes it: what cuDNN's CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION takes.
struct Card {
  const char* name;
  int version;  ///< compute capability, a hundred times
  int multiprocessors;
  int64_t memory;           ///< bytes
  int shared_per_block;     ///< bytes that a block may ask for
  int threads, blocks;      ///< of a multiprocessor
  int clock, memory_clock;  ///< kHz
  int l2_bytes;

  int64_t workspace_limit() const {
    return static_cast<int64_t>(detail::default_max_workspace_size(static_cast<size_t>(memory)));
  }

  std::string description() const {
    const auto number = [](int64_t n) { return std::to_string(n); };
    return R"({"deviceName":")" + std::string(name) + R"(","cudaDeviceId":0,"deviceVer":)" + number(version) +
           R"(,"multiProcessorCount":)" + number(multiprocessors) + R"(,"driverVer":13000,"totalGlobalMem":)" +
           number(memory) + R"(,"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":)" +
           number(shared_per_block) +
           R"(,"reservedSharedMemoryPerBlock":1024,"regsPerBlock":65536,"maxRegistersPerSM":65536,"maxCtasPerSM":)" +
           number(blocks) + R"(,"maxThreadsPerBlock":1024,"maxThreadsPerSM":)" + number(threads) +
           R"(,"warpSize":32,"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"pciDeviceId":0,)" +
           R"("isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":)" + number(clock) + R"(,"memClockRateKHz":)" +
           number(memory_clock) + R"(,"l2CacheSize":)" + number(l2_bytes) + "}";
  }
};

/// One of each generation with tensor cores for float32.
inline constexpr Card kCards[] = {
    {"NVIDIA A100-SXM4-80GB", 800, 108, 85899345920, 166912, 2048, 32, 1410000, 1593000, 41943040},
    {"NVIDIA GeForce RTX 3090", 860, 82, 25438126080, 101376, 1536, 16, 1695000, 9751000, 6291456},
    {"NVIDIA GeForce RTX 4090", 890, 128, 25438126080, 101376, 1536, 24, 2520000, 10501000, 75497472},
    {"NVIDIA H200", 900, 132, 150754820096, 232448, 2048, 32, 1980000, 3201000, 62914560},
    {"NVIDIA B200", 1000, 148, 191448580096, 232448, 2048, 32, 1965000, 3996000, 132644864},
    {"NVIDIA GeForce RTX 5090", 1200, 170, 34190917632, 101376, 1536, 24, 2407000, 14001000, 100663296}};
inline constexpr int kH200 = 3;

/// What cuDNN takes for the card; nothing where this cuDNN takes no description.
inline std::optional<CudnnDescriptor> described(const Card& card) {
  try {
    return describe_device(card.description());
  } catch (const DeviceError&) {
    return std::nullopt;
  }
}

}  // namespace kusari::cuda
