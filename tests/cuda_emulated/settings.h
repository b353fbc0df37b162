#pragma once

#include <cstddef>
#include <cstdint>

namespace kusari::cuda::emulated {

/// What the environment says about the emulated machine; read once.
struct Settings {
  int devices = 1;             ///< KUSARI_EMULATED_DEVICES
  size_t memory = 4ull << 30;  ///< KUSARI_EMULATED_MEMORY: bytes of each device
  int multiprocessors = 132;   ///< KUSARI_EMULATED_MULTIPROCESSORS
  bool protect = true;         ///< KUSARI_EMULATED_PROTECT=0: the host may touch device memory
  bool execute = true;         ///< KUSARI_EMULATED_EXECUTE=0: kernels return at once
  bool rounds_tf32 = true;     ///< KUSARI_EMULATED_TF32=0: products of TF32 read all digits of their operands
  bool trace = false;          ///< KUSARI_EMULATED_TRACE=1: writes what the device is given to stderr
  bool defers = false;         ///< KUSARI_EMULATED_STREAMS=deferred[:SEED]: work waits until something demands it
  uint64_t stream_seed = 0;
};

const Settings& settings();

}  // namespace kusari::cuda::emulated
