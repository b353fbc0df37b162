#pragma once

#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace kusari::cpu {

/// While it lives, numbers of this thread that are too small to be normal are zeros: processors compute with them up to
/// 20 times as slowly, and states that fade away over many steps are full of them.
class FlushDenormals {
 public:
#if defined(__SSE__)
  FlushDenormals() noexcept : before_{_mm_getcsr()} { _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZero); }
  ~FlushDenormals() { _mm_setcsr(before_); }

 private:
  static constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x40;
  unsigned before_;
#elif defined(__aarch64__)
  FlushDenormals() noexcept {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" ::"r"(before_ | uint64_t{1} << 24));
  }
  ~FlushDenormals() { asm volatile("msr fpcr, %0" ::"r"(before_)); }

 private:
  uint64_t before_;
#else
  FlushDenormals() noexcept {}
#endif
 public:
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
};

}  // namespace kusari::cpu
