#pragma once

#include "kusari/framework/kernels/macros.h"

// Of loops whose bounds the compiler knows.
#if defined(__clang__)
#define KUSARI_UNROLL _Pragma("unroll")
#else
#define KUSARI_UNROLL _Pragma("GCC unroll 32")
#endif

// Vectors of the instruction set that the source is compiled for. Included only by the sources beside it, each of which
// has its own copy of everything here.
namespace kusari::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
struct Simd {
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
};

template <class T>
using Vector = typename Simd<T>::Vector;

template <class T>
[[gnu::always_inline]] inline Vector<T> load(const T* from) {
  return *reinterpret_cast<const typename Simd<T>::Unaligned*>(from);
}
template <class T>
[[gnu::always_inline]] inline void store(T* to, Vector<T> value) {
  *reinterpret_cast<typename Simd<T>::Unaligned*>(to) = value;
}

}  // namespace
}  // namespace kusari::cpu
