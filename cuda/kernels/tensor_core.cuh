#pragma once

#include <cstdint>

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/element.cuh"

// Products of 16-bit numbers on a warp's tensor cores, and what brings tiles from memory to its registers: cards of
// compute capability 8.0 and later. Numbers are spread over the lanes as the PTX ISA has it; below g = lane / 4 and
// t = lane % 4. A word holds two neighbours of a row, the first one in its lower half.
#if defined(KUSARI_CUDA_EMULATED)
#define KUSARI_TENSOR_CORES 0
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define KUSARI_TENSOR_CORES 0
#else
#define KUSARI_TENSOR_CORES 1
#endif

namespace kusari::cuda {

/// Two numbers as a word of T.
template <class T>
__device__ __forceinline__ uint32_t narrow_two(float low, float high) {
#if KUSARI_TENSOR_CORES
  uint32_t both;
  if constexpr (dtype_of<T> == Dtype::float16) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  }
  return both;
#else
  return narrow<T>(low).bits | static_cast<uint32_t>(narrow<T>(high).bits) << 16;
#endif
}

template <class T>
__device__ __forceinline__ float widen_bits(uint32_t bits) {
  T x;
  x.bits = static_cast<uint16_t>(bits);
  return widen(x);
}
template <class T>
__device__ __forceinline__ float low_of(uint32_t both) {
  return widen_bits<T>(both);
}
template <class T>
__device__ __forceinline__ float high_of(uint32_t both) {
  return widen_bits<T>(both >> 16);
}

/// 2^x by the hardware's unit: 2 units in the last place; 0 where the result would be a denormal.
__device__ __forceinline__ float exp2_fast(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return ::exp2f(x);
#endif
}

/// sum += A B: A (16, 16), B (16, 8), mma.m16n8k16. a[0] holds A[g, 2 t ..], a[1] A[g + 8, 2 t ..], a[2] A[g, 8 + 2 t
/// ..], a[3] A[g + 8, 8 + 2 t ..]; b0 B[2 t .., g], b1 B[8 + 2 t .., g]; sum[0], sum[1] the results [g, 2 t] and [g, 2
/// t
/// + 1], sum[2], sum[3] those eight rows below.
template <class T>
__device__ __forceinline__ void multiply_halves(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#if KUSARI_TENSOR_CORES
  if constexpr (dtype_of<T> == Dtype::float16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
#elif defined(KUSARI_CUDA_EMULATED)
  struct Held {
    float a[8], b[4];
  } held;
  for (int i = 0; i < 4; ++i) held.a[2 * i] = low_of<T>(a[i]), held.a[2 * i + 1] = high_of<T>(a[i]);
  held.b[0] = low_of<T>(b0), held.b[1] = high_of<T>(b0), held.b[2] = low_of<T>(b1), held.b[3] = high_of<T>(b1);
  emulated::with_lanes(held, [&](const Held* lanes) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) {
      const int below = i / 2, column = 2 * t + i % 2;
      for (int k = 0; k < 16; ++k) {
        const int holder = k % 8 / 2, part = k / 8;
        sum[i] +=
            lanes[4 * g + holder].a[2 * (below + 2 * part) + k % 2] * lanes[4 * column + holder].b[2 * part + k % 2];
      }
    }
  });
#endif
}

/// Four matrices of (8, 8) from shared memory, ldmatrix.x4: `row` of lane 8 i + r is the address of row r of matrix i,
/// aligned to 16 bytes, to[i] its numbers [g, 2 t ..].
__device__ __forceinline__ void load_matrices(uint32_t (&to)[4], const uint16_t* row) {
#if KUSARI_TENSOR_CORES
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
#elif defined(KUSARI_CUDA_EMULATED)
  emulated::with_lanes(row, [&](const uint16_t* const* rows) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) to[i] = reinterpret_cast<const Pack<uint32_t, 4>*>(rows[8 * i + g])->at[t];
  });
#endif
}
/// The same with each matrix transposed, ldmatrix.x4.trans: to[i] holds its numbers [2 t, g] and [2 t + 1, g].
__device__ __forceinline__ void load_matrices_transposed(uint32_t (&to)[4], const uint16_t* row) {
#if KUSARI_TENSOR_CORES
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
#elif defined(KUSARI_CUDA_EMULATED)
  emulated::with_lanes(row, [&](const uint16_t* const* rows) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) {
      to[i] = rows[8 * i + 2 * t][g] | static_cast<uint32_t>(rows[8 * i + 2 * t + 1][g]) << 16;
    }
  });
#endif
}

/// Asks for a copy of 8 or 16 bytes to shared memory, of zeros unless `is_there`; both addresses are aligned to them.
template <int kBytes>
__device__ __forceinline__ void copy_async(void* to, const void* from, bool is_there) {
  static_assert(kBytes == 8 || kBytes == 16);
#if KUSARI_TENSOR_CORES
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  const int bytes = is_there ? kBytes : 0;
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
  }
#elif defined(KUSARI_CUDA_EMULATED)
  emulated::copy_later<kBytes>(to, from, is_there);
#endif
}
/// Waits for the copies that this thread has asked for; those of other threads need a barrier behind it.
__device__ __forceinline__ void wait_for_copies() {
#if KUSARI_TENSOR_CORES
  asm volatile("cp.async.wait_all;" ::: "memory");
#elif defined(KUSARI_CUDA_EMULATED)
  emulated::finish_copies();
#endif
}

}  // namespace kusari::cuda
