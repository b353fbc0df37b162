#pragma once

// Force-included where cuda/*.cu and *.cc are compiled for the emulated device: what nvcc gives to device code, for a
// host compiler. The CUDA toolkit's own headers make __global__ and __device__ empty. Threads are fibers (executor.h).

#include <cuda_runtime.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "executor.h"

// One block runs at a time, so that a block's shared memory may be a static variable.
#undef __shared__
#define __shared__ static
#undef __launch_bounds__
#define __launch_bounds__(...)

#define KUSARI_DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(::kusari::cuda::emulated::dynamic_shared())

#define threadIdx (::kusari::cuda::emulated::current_thread->index)
#define blockIdx (::kusari::cuda::emulated::current_block.index)
#define blockDim (::kusari::cuda::emulated::current_block.threads)
#define gridDim (::kusari::cuda::emulated::current_block.grid)
inline constexpr int warpSize = 32;

// Barriers.
inline void __syncthreads() { kusari::cuda::emulated::barrier(false); }
inline int __syncthreads_count(int predicate) { return kusari::cuda::emulated::barrier(predicate != 0).holds; }
inline int __syncthreads_or(int predicate) { return kusari::cuda::emulated::barrier(predicate != 0).holds > 0; }
inline int __syncthreads_and(int predicate) {
  const auto count = kusari::cuda::emulated::barrier(predicate != 0);
  return count.holds == count.threads;
}
inline void __syncwarp(unsigned mask = 0xffffffffu) { kusari::cuda::emulated::ballot(mask, false); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

// Warp collectives.
namespace kusari::cuda::emulated {

template <class T>
T exchange_lanes(unsigned mask, T value, int source) {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "a shuffle moves 4 or 8 bytes");
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = exchange(mask, bits, source);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
/// Lane `source` if it lies in this lane's segment of `width` lanes, else this lane.
inline int source_in_segment(int source, int width) {
  const int lane = lane_index(), first = lane / width * width;
  return source < first || source >= first + width ? lane : source;
}

/// Calls use(values) with the values of all 32 lanes, which all call it. Blocks have one dimension.
template <class T, class Use>
void with_lanes(const T& value, const Use& use) {
  static T values[32][32];
  T* const of_warp = values[current_thread->index.x / 32];
  of_warp[lane_index()] = value;
  ballot(0xffffffffu, false);
  use(of_warp);
  ballot(0xffffffffu, false);
}

/// Copies to shared memory that a thread has asked for: done when it waits for them, which is as late as on a card.
struct LateCopy {
  void* to;
  const void* from;
  size_t bytes;
  bool is_there;
};
inline std::vector<LateCopy>& late_copies() {
  static std::vector<LateCopy> of_threads[1024];
  return of_threads[current_thread->index.x];
}
template <size_t kBytes>
void copy_later(void* to, const void* from, bool is_there) {
  if (reinterpret_cast<uintptr_t>(to) % kBytes != 0 || reinterpret_cast<uintptr_t>(from) % kBytes != 0) {
    __builtin_trap();
  }
  late_copies().push_back({to, from, kBytes, is_there});
}
inline void finish_copies() {
  for (const LateCopy& copy : late_copies()) {
    if (copy.is_there) {
      std::memcpy(copy.to, copy.from, copy.bytes);
    } else {
      std::memset(copy.to, 0, copy.bytes);
    }
  }
  late_copies().clear();
}

}  // namespace kusari::cuda::emulated

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int first = kusari::cuda::emulated::lane_index() / width * width;
  return kusari::cuda::emulated::exchange_lanes(mask, value, first + (source & (width - 1)));
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32) {
  const int source = kusari::cuda::emulated::lane_index() - static_cast<int>(distance);
  return kusari::cuda::emulated::exchange_lanes(mask, value, kusari::cuda::emulated::source_in_segment(source, width));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32) {
  const int source = kusari::cuda::emulated::lane_index() + static_cast<int>(distance);
  return kusari::cuda::emulated::exchange_lanes(mask, value, kusari::cuda::emulated::source_in_segment(source, width));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  const int source = kusari::cuda::emulated::lane_index() ^ lane_mask;
  // A source before the segment is read, one after it is not: as the hardware has it.
  const int end = kusari::cuda::emulated::lane_index() / width * width + width;
  return kusari::cuda::emulated::exchange_lanes(mask, value,
                                                source < end ? source : kusari::cuda::emulated::lane_index());
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return kusari::cuda::emulated::ballot(mask, predicate != 0);
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask; }

// Bits.
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned y = 0;
  for (int i = 0; i < 32; ++i) y |= (x >> i & 1u) << (31 - i);
  return y;
}
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>((static_cast<uint64_t>(a) * b) >> 32); }
inline int __mulhi(int a, int b) { return static_cast<int>((static_cast<int64_t>(a) * b) >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned long long>((static_cast<Wide>(a) * b) >> 64);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((static_cast<uint64_t>(high) << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }

namespace kusari::cuda::emulated {
/// A floating number as an integer, as a card converts it: what the type cannot hold is its nearest number, NaN is 0.
template <class T, class From>
constexpr T saturated(From x) {
  constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
  if (x != x) return T{0};
  if (x >= static_cast<From>(kMost)) return kMost;
  if (x <= static_cast<From>(kLeast)) return kLeast;
  return static_cast<T>(x);
}
}  // namespace kusari::cuda::emulated

// Arithmetic. glibc declares, but does not export, some of these names: hence the macros.
#define __expf(x) ::expf(x)
#define __exp10f(x) ::exp10f(x)
#define __logf(x) ::logf(x)
#define __log2f(x) ::log2f(x)
#define __log10f(x) ::log10f(x)
#define __powf(x, y) ::powf(x, y)
#define __sinf(x) ::sinf(x)
#define __cosf(x) ::cosf(x)
#define __tanf(x) ::tanf(x)
inline float __fdividef(float a, float b) { return a / b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1 / a; }
inline float __fsqrt_rn(float a) { return ::sqrtf(a); }
inline float __frsqrt_rn(float a) { return 1 / ::sqrtf(a); }
inline float __fmaf_rn(float a, float b, float c) { return ::fmaf(a, b, c); }
inline float __saturatef(float a) { return a > 0 ? (a < 1 ? a : 1) : 0; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __fma_rn(double a, double b, double c) { return ::fma(a, b, c); }
inline float rsqrtf(float x) { return 1 / ::sqrtf(x); }
inline double rsqrt(double x) { return 1 / ::sqrt(x); }
inline int __float2int_rn(float x) { return kusari::cuda::emulated::saturated<int>(::nearbyintf(x)); }
inline int __float2int_rd(float x) { return kusari::cuda::emulated::saturated<int>(::floorf(x)); }
inline int __float2int_rz(float x) { return kusari::cuda::emulated::saturated<int>(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }

template <class A, class B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>) return std::fmin(static_cast<T>(a), static_cast<T>(b));
  return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>) return std::fmax(static_cast<T>(a), static_cast<T>(b));
  return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}

// Loads and stores with a hint for the caches.
#define KUSARI_EMULATED_LOAD(name) \
  template <class T>               \
  T name(const T* p) {             \
    return *p;                     \
  }
KUSARI_EMULATED_LOAD(__ldg)
KUSARI_EMULATED_LOAD(__ldcg)
KUSARI_EMULATED_LOAD(__ldca)
KUSARI_EMULATED_LOAD(__ldcs)
KUSARI_EMULATED_LOAD(__ldlu)
KUSARI_EMULATED_LOAD(__ldcv)
#undef KUSARI_EMULATED_LOAD
#define KUSARI_EMULATED_STORE(name)                       \
  template <class T>                                      \
  void name(T* p, const std::type_identity_t<T>& value) { \
    *p = value;                                           \
  }
KUSARI_EMULATED_STORE(__stcg)
KUSARI_EMULATED_STORE(__stcs)
KUSARI_EMULATED_STORE(__stwb)
KUSARI_EMULATED_STORE(__stwt)
#undef KUSARI_EMULATED_STORE

// Atomics: threads change places at barriers and collectives alone.
#define KUSARI_EMULATED_ATOMIC(name, expression)                                 \
  template <class T>                                                             \
  requires std::is_arithmetic_v<T> T name(T* p, std::type_identity_t<T> value) { \
    const T old = *p;                                                            \
    *p = static_cast<T>(expression);                                             \
    return old;                                                                  \
  }
KUSARI_EMULATED_ATOMIC(atomicAdd, old + value)
KUSARI_EMULATED_ATOMIC(atomicSub, old - value)
KUSARI_EMULATED_ATOMIC(atomicExch, value)
KUSARI_EMULATED_ATOMIC(atomicMax, old < value ? value : old)
KUSARI_EMULATED_ATOMIC(atomicMin, value < old ? value : old)
KUSARI_EMULATED_ATOMIC(atomicAnd, old& value)
KUSARI_EMULATED_ATOMIC(atomicOr, old | value)
KUSARI_EMULATED_ATOMIC(atomicXor, old ^ value)
KUSARI_EMULATED_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
KUSARI_EMULATED_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef KUSARI_EMULATED_ATOMIC
template <class T>
T atomicCAS(T* p, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  const T old = *p;
  if (old == compare) *p = value;
  return old;
}

[[noreturn]] inline void __trap() { __builtin_trap(); }
inline void __nanosleep(unsigned) {}
#define __builtin_assume(condition) ((void)0)
