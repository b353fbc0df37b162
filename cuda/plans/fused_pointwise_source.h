#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kusari/cuda/kernels/strided_index.cuh"
#include "kusari/framework/kernels/fused_pointwise.h"

// The kernel of a FusedProgram as a text in CUDA C++, and its parameter. Needs no device.
namespace kusari::cuda {

/// How a fused kernel goes through its arrays.
struct FusedAccess {
  int pack = 1;           ///< elements that a thread reads and writes at once
  bool is_flat = true;    ///< every array is one range in the same order, or one repeated element
  uint32_t repeated = 0;  ///< bit k: a pack of operand k is one element. Operands: the outputs, then the inputs
};

inline constexpr int kFusedThreads = 256;
/// Packs of one thread, which reads them all before it computes.
inline constexpr int kFusedPacks = 2;

/// The kernel's only parameter; the text declares the same struct.
struct FusedArguments {
  static constexpr size_t kFunctorBytes = kernels::FusedProgram::kMaxOps * kernels::FusedProgram::kFunctorBytes;

  char* base[kernels::FusedProgram::kMaxOperands];
  int64_t packs;
  int64_t elements;  ///< of a flat loop; those that do not fill a pack are done by the last block
  StridedIndex<kernels::FusedProgram::kMaxOperands> index;
  alignas(
      8) std::byte functor[kFunctorBytes];  ///< kFunctorBytes for each operation; of a fill, the number as it is held
};
static_assert(sizeof(FusedArguments) <= 4096);

/// Elements of a pack: 16 bytes of the smallest type, at most 32 of the largest.
int fused_pack(const kernels::FusedProgram& program);
/// The functors' bytes.
void set_functors(const kernels::FusedProgram& program, FusedArguments& arguments);
/// The name of the kernel in every text.
inline constexpr const char* kFusedName = "fused_pointwise";
std::string fused_source(const kernels::FusedProgram& program, const FusedAccess& access);
/// Equal for programs with the same text.
std::string fused_key(const kernels::FusedProgram& program, const FusedAccess& access);

}  // namespace kusari::cuda
