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

/// The bits of kernels::Quantize. Divides by way of the reciprocal where that gives the same quotient, which a division
/// of one vector takes as long for as ten multiplications: after two steps of Newton's the quotient is correctly
/// rounded (Markstein 1990), as long as neither the scale nor its reciprocal is out of the normal range.
class Rounding {
 public:
  [[gnu::always_inline]] explicit Rounding(const PackedRounding& r)
      : scale_{splat(r.scale)},
        inverse_{splat(r.inverse)},
        most_{splat(r.scale * kMost)},
        zero_{splat(r.zero)},
        low_{splat(r.low)},
        high_{splat(r.high)},
        has_inverse_{kHasFma && r.scale > kSmallest && r.scale < 1 / kSmallest} {}
  [[gnu::always_inline]] void store(Vector<float> x, unsigned char* to) const {
    const Vector<float> quotient = has_inverse_ ? divide(x) : x / scale_;
    const Vector<float> q = round_to_even(quotient) + zero_;
    const Vector<float> above = q > low_ ? q : low_;
    const auto integers = __builtin_convertvector(above > high_ ? high_ : above, Vector<int>);
    const auto bytes = __builtin_convertvector(integers, Bytes);
    __builtin_memcpy(to, &bytes, sizeof(bytes));
  }

 private:
  typedef unsigned char Bytes __attribute__((vector_size(Simd<float>::kLanes)));
  static constexpr float kSmallest = 0x1p-60f;
  static constexpr float kMost = 0x1p20f;  // quotients beyond are cut whatever they are
#if defined(__FMA__)
  static constexpr bool kHasFma = true;
#else
  static constexpr bool kHasFma = false;
#endif
  [[gnu::always_inline]] static Vector<float> splat(float x) { return x - Vector<float>{}; }
  [[gnu::always_inline]] Vector<float> divide(Vector<float> x) const {
    x = x > most_ ? most_ : x;
    x = x < -most_ ? -most_ : x;
    Vector<float> q = x * inverse_;
    for (int step = 0; step < 2; ++step) q = multiply_add<float>(multiply_add<float>(-q, scale_, x), inverse_, q);
    return q;
  }

  Vector<float> scale_, inverse_, most_, zero_, low_, high_;
  bool has_inverse_;
};

}  // namespace
}  // namespace kusari::cpu
