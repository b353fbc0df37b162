#pragma once

#include <cstdint>

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/framework/core/host_device.h"

// Products of integers of 8 bits, four in a word, summed in 32 bits.
namespace kusari::cuda {

/// sum + the four int8 numbers of x times those of y.
__device__ __forceinline__ int32_t add_byte_products(uint32_t x, uint32_t y, int32_t sum) {
#if defined(__CUDA_ARCH__)
  return __dp4a(static_cast<int>(x), static_cast<int>(y), sum);
#else
  for (int i = 0; i < 4; ++i) {
    sum += static_cast<int8_t>(x >> (8 * i)) * static_cast<int8_t>(y >> (8 * i));
  }
  return sum;
#endif
}

/// sum += A B on a warp's tensor cores: A (16, 32), B (32, 8), of int8, spread over the lanes as PTX has it for
/// mma.m16n8k32. With g = lane / 4 and t = lane % 4: a[0] holds A[g, 4 t ..], a[1] A[g + 8, 4 t ..], a[2] A[g, 16 + 4 t
/// ..], a[3] A[g + 8, 16 + 4 t ..]; b[0] B[4 t .., g], b[1] B[16 + 4 t .., g]; sum[0], sum[1] the results [g, 2 t] and
/// [g, 2 t + 1], sum[2], sum[3] those eight rows below.
__device__ __forceinline__ void multiply_bytes(int32_t (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if defined(__CUDA_ARCH__)
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  const int lane = static_cast<int>(threadIdx.x) % kWarp, g = lane / 4, t = lane % 4;
  for (int other = 0; other < 4; ++other) {
    uint32_t row[4];
    for (int i = 0; i < 4; ++i) row[i] = __shfl_sync(kAllLanes, a[i], 4 * g + other);
    for (int column = 0; column < 2; ++column) {
      const int source = 4 * (2 * t + column) + other;
      const uint32_t first = __shfl_sync(kAllLanes, b[0], source), second = __shfl_sync(kAllLanes, b[1], source);
      sum[column] = add_byte_products(row[2], second, add_byte_products(row[0], first, sum[column]));
      sum[2 + column] = add_byte_products(row[3], second, add_byte_products(row[1], first, sum[2 + column]));
    }
  }
#endif
}

}  // namespace kusari::cuda
