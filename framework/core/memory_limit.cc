#include "kusari/framework/core/memory_limit.h"

#include <atomic>

#include "kusari/framework/core/environment.h"

namespace kusari::cuda {
namespace {

std::atomic<size_t>& memory_limit() {
  static std::atomic<size_t> bytes = environment::number("KUSARI_CUDA_MEMORY_LIMIT").value_or(0);
  return bytes;
}

}  // namespace

void set_memory_limit(size_t bytes) { memory_limit() = bytes; }
size_t get_memory_limit() { return memory_limit(); }

}  // namespace kusari::cuda
