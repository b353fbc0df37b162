#pragma once

#include <cstdint>

#include "kusari/cuda/kernels/strided_index.cuh"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/backend.h"
#include "kusari/framework/kernels/convolution.h"

// What pointwise.cc launches: three kernels for a functor and each type that they are made for.
namespace kusari::cuda {

/// The bytes of a functor.
struct alignas(8) FunctorBytes {
  unsigned char byte[16];
};

/// Places of the operands of a kernel; the result is operand 0.
template <int kInputs>
struct PointwiseOperands {
  char* base[kInputs + 1];
  Dtype dtype[kInputs + 1];
};

inline constexpr int kPointwiseThreads = 256;
/// 16-byte packs of each operand that a thread reads before it computes.
template <int kInputs>
inline constexpr int kFlatPacks = kInputs == 1 ? 4 : 2;
inline constexpr int kStridedPacks = 2;

/// Types of the fast kernels, in the order of their tables.
inline constexpr int kFastTypes = 3;
constexpr int fast_type_of(Dtype dtype) {
  return dtype == Dtype::float32 ? 0 : dtype == Dtype::float16 ? 1 : dtype == Dtype::bfloat16 ? 2 : -1;
}

template <int kInputs>
struct PointwiseKernels {
  using Operands = PointwiseOperands<kInputs>;
  using Index = StridedIndex<kInputs + 1>;
  /// All operands one dense range of n elements; a block covers `span` packs.
  using Flat = void (*)(FunctorBytes op, Operands operands, int64_t n, int span);
  /// n packs; where an operand's bit is set in `repeated`, one element serves the whole pack.
  using Strided = void (*)(FunctorBytes op, Operands operands, Index index, uint32_t n, uint32_t repeated);
  /// n elements of any dtypes.
  using General = void (*)(FunctorBytes op, Operands operands, Index index, uint32_t n);

  const char* name;
  bool boolean_result;    ///< the fast kernels write bool
  bool boolean_argument;  ///< their first argument is bool
  Flat flat[kFastTypes];
  Strided strided[kFastTypes];  ///< null for functors that are computed for one element after the other
  General float32, float64;
  General int64;  ///< null where the functor does not take integers
};

/// y = op(x...); operands[0] is y.
template <int kInputs>
void run_pointwise(const PointwiseKernels<kInputs>& kernels, const FunctorBytes& op,
                   const Array* const (&operands)[kInputs + 1]);

/// Makes a functor of one argument known to apply_function; `kernels` stay where they are.
void remember_function(KernelId kernel, const PointwiseKernels<1>& kernels);
/// y = function(x), the bits of the functor's own kernel; y may be x.
void apply_function(const kernels::UnaryFunctor& function, const Array& x, const Array& y);

}  // namespace kusari::cuda
