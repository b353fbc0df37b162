#pragma once

#include "kusari/framework/cpu/isa/gemm_block.h"
#include "kusari/framework/cpu/isa/packed_convolution.h"

// Included only by the sources beside it, each of which has its own copy.
namespace kusari::cpu {
namespace {

[[gnu::always_inline]] inline Vector<float> round_to_even(Vector<float> x) {
#if defined(__AVX512F__)
  // Masked, with all lanes: GCC 12 takes the plain one's unused operand for a variable that was forgotten.
  return _mm512_maskz_roundscale_ps(0xffff, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(__AVX__)
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
  constexpr float kWhole = 12582912;  // 1.5 2^23: from 2^22 on, floats are rounded in another way or whole
  const Vector<float> limit = 4194304 - Vector<float>{}, rounded = (x + kWhole) - kWhole;
  return x < limit ? (-x < limit ? rounded : x) : x;
#endif
}

/// Whether a number is not within [-limit, limit]; NaN is not.
[[gnu::always_inline]] inline bool any_beyond(Vector<float> x, float limit) {
#if defined(__AVX512F__)
  const Vector<float> most = limit - Vector<float>{};
  return _mm512_cmp_ps_mask(_mm512_abs_ps(x), most, _CMP_NLE_UQ) != 0;
#elif defined(__AVX__)
  const Vector<float> most = limit - Vector<float>{};
  return _mm256_movemask_ps(reinterpret_cast<__m256>((x <= most) & (-x <= most))) != 0xff;
#else
  bool found = false;
  for (int i = 0; i < Simd<float>::kLanes; ++i) found |= !(x[i] <= limit && -x[i] <= limit);
  return found;
#endif
}

/// The bits of kernels::Quantize. A division takes as long as ten multiplications, so the quotient is one by the
/// reciprocal, which lies within three units of its last place, unless that leaves open to which integer it is rounded.
class Rounding {
 public:
  [[gnu::always_inline]] explicit Rounding(const PackedRounding& r)
      : scale_{splat(r.scale)},
        inverse_{splat(r.inverse)},
        zero_{splat(r.zero)},
        low_{splat(r.low)},
        high_{splat(r.high)} {}
  [[gnu::always_inline]] void store(Vector<float> x, unsigned char* to) const {
    // Between -512 and 512, and all beyond is cut, the error is less than 2^-12. Quotients that are infinite or NaN are
    // uncertain too.
    constexpr float kCertain = 0.5f - 0x1p-12f;
    const Vector<float> quotient = x * inverse_;
    Vector<float> rounded = round_to_even(quotient);
    if (any_beyond(quotient - rounded, kCertain)) rounded = round_to_even(x / scale_);
    const Vector<float> q = rounded + zero_;
    const Vector<float> above = q > low_ ? q : low_;
    const auto integers = __builtin_convertvector(above > high_ ? high_ : above, Vector<int>);
    const auto bytes = __builtin_convertvector(integers, Bytes);
    __builtin_memcpy(to, &bytes, sizeof(bytes));
  }

 private:
  typedef unsigned char Bytes __attribute__((vector_size(Simd<float>::kLanes)));
  [[gnu::always_inline]] static Vector<float> splat(float x) { return x - Vector<float>{}; }

  Vector<float> scale_, inverse_, zero_, low_, high_;
};

}  // namespace
}  // namespace kusari::cpu
