#pragma once

#include "kusari/framework/cpu/isa/gemm_block.h"
#include "kusari/framework/cpu/isa/packed_convolution.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

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

/// Four vectors of integers, one after the other.
typedef unsigned char Bytes __attribute__((vector_size(kVectorBytes)));

/// The bits of kernels::Quantize. Packing cuts at the bounds of 16 and of 8 bits, so that only integers of more than 31
/// bits are cut before.
class Rounding {
 public:
  [[gnu::always_inline]] explicit Rounding(const PackedRounding& r)
      : scale_{r.scale},
        inverse_{r.inverse},
        zero_{r.zero - Shorts{}},
        low_{r.low - Bytes{}},
        high_{r.high - Bytes{}},
        flip_{r.flip - Bytes{}} {}

  /// x / scale, rounded: what becomes integers where the scale is not 1. A division takes as long as ten
  /// multiplications, so the quotient is one by the reciprocal, which lies within three units of its last place, unless
  /// that leaves open to which integer it is rounded.
  [[gnu::always_inline]] Vector<float> quotient(Vector<float> x) const {
    // Between -512 and 512, and all beyond is cut, the error is less than 2^-12. Quotients that are infinite or NaN are
    // uncertain too.
    constexpr float kCertain = 0.5f - 0x1p-12f;
    const Vector<float> inexact = x * inverse_;
    const Vector<float> rounded = round_to_even(inexact);
    return any_beyond(inexact - rounded, kCertain) ? round_to_even(x / scale_) : rounded;
  }

#if defined(__AVX512F__)
  /// Like pack(), of each 16 bytes four of a, of b, of c and of d.
  [[gnu::always_inline]] Bytes pack_quarters(Vector<float> a, Vector<float> b, Vector<float> c, Vector<float> d) const {
    const auto zero = reinterpret_cast<__m512i>(zero_);
    const __m512i ab = _mm512_adds_epi16(_mm512_packs_epi32(whole(a), whole(b)), zero);
    const __m512i cd = _mm512_adds_epi16(_mm512_packs_epi32(whole(c), whole(d)), zero);
    const __m512i above = _mm512_max_epu8(_mm512_packus_epi16(ab, cd), reinterpret_cast<__m512i>(low_));
    return reinterpret_cast<Bytes>(_mm512_min_epu8(above, reinterpret_cast<__m512i>(high_))) ^ flip_;
  }
#endif
  /// The integers that a, b, c and d are rounded to; the least of NaN.
  [[gnu::always_inline]] Bytes pack(Vector<float> a, Vector<float> b, Vector<float> c, Vector<float> d) const {
#if defined(__AVX512F__)
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const auto bytes = reinterpret_cast<__m512i>(pack_quarters(a, b, c, d));
    return reinterpret_cast<Bytes>(_mm512_maskz_permutexvar_epi32(0xffff, order, bytes));
#elif defined(__AVX2__)
    const auto zero = reinterpret_cast<__m256i>(zero_);
    const __m256i ab = _mm256_adds_epi16(_mm256_packs_epi32(whole(a), whole(b)), zero);
    const __m256i cd = _mm256_adds_epi16(_mm256_packs_epi32(whole(c), whole(d)), zero);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), order);
    const __m256i above = _mm256_max_epu8(bytes, reinterpret_cast<__m256i>(low_));
    return reinterpret_cast<Bytes>(_mm256_min_epu8(above, reinterpret_cast<__m256i>(high_))) ^ flip_;
#elif defined(__SSE2__)
    const auto zero = reinterpret_cast<__m128i>(zero_);
    const __m128i ab = _mm_adds_epi16(_mm_packs_epi32(whole(a), whole(b)), zero);
    const __m128i cd = _mm_adds_epi16(_mm_packs_epi32(whole(c), whole(d)), zero);
    const __m128i above = _mm_max_epu8(_mm_packus_epi16(ab, cd), reinterpret_cast<__m128i>(low_));
    return reinterpret_cast<Bytes>(_mm_min_epu8(above, reinterpret_cast<__m128i>(high_))) ^ flip_;
#else
    constexpr int kLanes = Simd<float>::kLanes;
    const Vector<float> all[] = {round_to_even(a), round_to_even(b), round_to_even(c), round_to_even(d)};
    Bytes bytes;
    for (int i = 0; i < 4 * kLanes; ++i) {
      const float q = all[i / kLanes][i % kLanes] + zero_[0], low = low_[i], high = high_[i];
      const float above = q > low ? q : low;
      bytes[i] = static_cast<unsigned char>(above > high ? high : above);
    }
    return bytes ^ flip_;
#endif
  }

 private:
  typedef short Shorts __attribute__((vector_size(kVectorBytes)));
  // In 32 bits, rounded to even; the second operand of a minimum is NaN's result.
#if defined(__AVX512F__)
  [[gnu::always_inline]] static __m512i whole(Vector<float> x) {
    const Vector<float> most = kMost - Vector<float>{};
    return _mm512_maskz_cvtps_epi32(0xffff, _mm512_maskz_min_ps(0xffff, most, x));
  }
#elif defined(__AVX2__)
  [[gnu::always_inline]] static __m256i whole(Vector<float> x) {
    return _mm256_cvtps_epi32(_mm256_min_ps(kMost - Vector<float>{}, x));
  }
#elif defined(__SSE2__)
  [[gnu::always_inline]] static __m128i whole(Vector<float> x) {
    return _mm_cvtps_epi32(_mm_min_ps(kMost - Vector<float>{}, x));
  }
#endif
  static constexpr float kMost = 65536;

  float scale_, inverse_;
  Shorts zero_;
  Bytes low_, high_, flip_;
};

/// Stores `rows` of the parts of `bytes`, kParts each of which follows the one before in memory by `step`; the first
/// `count` bytes of each.
template <int kParts>
[[gnu::always_inline]] inline void store_parts(Bytes bytes, int rows, unsigned char* to, i64 step, i64 count) {
  constexpr i64 kWhole = kVectorBytes / kParts;
#if defined(__AVX512F__)
  const __m512i all = reinterpret_cast<__m512i>(bytes);
  // Masked extractions, also of the first part: see round_to_even().
  const auto store_part = [&](int row, auto part) __attribute__((always_inline)) {
    if (row >= rows) return;
    unsigned char* const at = to + row * step;
    if (count >= kWhole) {
      __builtin_memcpy(at, &part, sizeof(part));
    } else if constexpr (sizeof(part) == 32) {
      _mm256_mask_storeu_epi8(at, (1u << count) - 1, part);
    } else {
      _mm_mask_storeu_epi8(at, static_cast<__mmask16>((1u << count) - 1), part);
    }
  };
  if constexpr (kParts == 2) {
    store_part(0, _mm512_maskz_extracti64x4_epi64(0xf, all, 0));
    store_part(1, _mm512_maskz_extracti64x4_epi64(0xf, all, 1));
  } else {
    store_part(0, _mm512_maskz_extracti32x4_epi32(0xf, all, 0));
    store_part(1, _mm512_maskz_extracti32x4_epi32(0xf, all, 1));
    store_part(2, _mm512_maskz_extracti32x4_epi32(0xf, all, 2));
    store_part(3, _mm512_maskz_extracti32x4_epi32(0xf, all, 3));
  }
#else
  unsigned char parts[kVectorBytes];
  __builtin_memcpy(parts, &bytes, sizeof(bytes));
  for (int row = 0; row < rows; ++row) {
    if (count >= kWhole) {
      __builtin_memcpy(to + row * step, parts + row * kWhole, kWhole);
    } else {
      for (i64 i = 0; i < count; ++i) to[row * step + i] = parts[row * kWhole + i];
    }
  }
#endif
}

/// Stores `columns` integers of each of kRows rows of up to kVectors vectors, 1 or 2: what value(r, v) is rounded to.
template <int kRows, int kVectors, class Value>
[[gnu::always_inline]] inline void store_rounded(const Rounding& rounding, unsigned char* to, i64 step, i64 columns,
                                                 const Value& value) {
  constexpr int kTogether = 4 / kVectors;
  KUSARI_UNROLL
  for (int first = 0; first < kRows; first += kTogether) {
    const int rows = kRows - first < kTogether ? kRows - first : kTogether;
    const auto at = [&](int i) __attribute__((always_inline)) {
      const int row = i / kVectors;
      return value(first + (row < rows ? row : 0), i % kVectors);
    };
    store_parts<kTogether>(rounding.pack(at(0), at(1), at(2), at(3)), rows, to + first * step, step, columns);
  }
}

/// The same of rows of kVectors vectors in memory, and of what is divided by the scale: apart, as it is seldom called.
template <int kVectors>
[[gnu::noinline]] void round_values(const PackedRounding& given, const float* values, i64 rows, unsigned char* to,
                                    i64 step, i64 columns) {
  constexpr int kLanesOfAll = Simd<float>::kLanes;
  const Rounding rounding(given);
  for (i64 row = 0; row < rows; ++row, values += kVectors * kLanesOfAll) {
    const Vector<float> first = rounding.quotient(load(values));
    const Vector<float> last = rounding.quotient(load(values + (kVectors - 1) * kLanesOfAll));
    store_parts<4 / kVectors>(rounding.pack(first, last, first, last), 1, to + row * step, step, columns);
  }
}

}  // namespace
}  // namespace kusari::cpu
