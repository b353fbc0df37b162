#include "kusari/framework/cpu/isa/resampling.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace kusari::cpu {
namespace {

using u8 = unsigned char;

template <class T>
struct WeightOf {
  using Type = float;
};
template <>
struct WeightOf<u8> {
  using Type = int;
};
template <class T>
using Weight = typename WeightOf<T>::Type;

template <class T>
[[gnu::always_inline]] inline Weight<T> start_of_sum() {
  if constexpr (sizeof(T) == 1) return 1 << (kResamplingPrecision - 1);
  return 0;
}

template <class T>
[[gnu::always_inline]] inline T end_of_sum(Weight<T> sum) {
  // Weights are rounded, so that their sum may exceed one by a little, and bicubic ones are of both signs.
  if constexpr (sizeof(T) == 1) {
    const int value = sum >> kResamplingPrecision;
    return static_cast<u8>(value < 0 ? 0 : value > 255 ? 255 : value);
  } else {
    return sum;
  }
}

/// New places [begin, end) of a row. kChannels: the number of channels where the compiler is to know it, or 0.
template <int kChannels, class T>
void resample_places(const T* from, T* to, const ResamplingTaps& taps, i64 begin, i64 end, i64 channels) {
  const i64 step = kChannels > 0 ? kChannels : channels;
  const Weight<T>* weights = static_cast<const Weight<T>*>(taps.weight) + begin * taps.count;
  to += begin * step;
  for (i64 i = begin; i < end; ++i, weights += taps.count, to += step) {
    const T* const pixels = from + taps.first[i] * step;
    for (i64 c = 0; c < step; ++c) {
      Weight<T> sum = start_of_sum<T>();
      for (i64 k = 0; k < taps.used[i]; ++k) sum += weights[k] * static_cast<Weight<T>>(pixels[k * step + c]);
      to[c] = end_of_sum<T>(sum);
    }
  }
}

#if defined(__AVX2__)
template <class T>
[[gnu::always_inline]] inline T load_word(const void* from) {
  T word;
  __builtin_memcpy(&word, from, sizeof(word));
  return word;
}

/// As many new pixels of 3 or 4 channels as this can make, from the left: it reads 8 bytes for two old pixels and
/// writes 4 for a new one. Returns their number.
template <int kChannels>
i64 resample_pixels(const u8* from, i64 pixels, u8* to, const ResamplingTaps& taps) {
  constexpr char kZero = -128;
  const __m128i spread =
      kChannels == 3
          ? _mm_setr_epi8(0, kZero, 3, kZero, 1, kZero, 4, kZero, 2, kZero, 5, kZero, kZero, kZero, kZero, kZero)
          : _mm_setr_epi8(0, kZero, 4, kZero, 1, kZero, 5, kZero, 2, kZero, 6, kZero, 3, kZero, 7, kZero);
  const __m128i half = _mm_set1_epi32(start_of_sum<u8>());
  const i64 count = (taps.count + 1) / 2, bytes = pixels * kChannels;
  const ResamplingPair* pairs = taps.pairs;
  const i64 last = kChannels == 4 ? taps.places : taps.places - 1;
  i64 i = 0;
  for (; i < last; ++i, pairs += count) {
    const i64 used = (taps.used[i] + 1) / 2, begin = taps.first[i] * kChannels;
    if (begin + (used - 1) * 2 * kChannels + 8 > bytes) break;
    __m128i high = _mm_setzero_si128(), low = half;
    for (i64 k = 0; k < used; ++k) {
      const __m128i two =
          _mm_shuffle_epi8(_mm_cvtsi64_si128(load_word<long long>(from + begin + k * 2 * kChannels)), spread);
      high = _mm_add_epi32(high, _mm_madd_epi16(two, _mm_set1_epi32(load_word<int>(pairs[k].high))));
      low = _mm_add_epi32(low, _mm_madd_epi16(two, _mm_set1_epi32(load_word<int>(pairs[k].low))));
    }
    const __m128i sum = _mm_add_epi32(_mm_slli_epi32(high, ResamplingPair::kLowBits), low);
    const __m128i words = _mm_srai_epi32(sum, kResamplingPrecision);
    const int pixel = _mm_cvtsi128_si32(_mm_packus_epi16(_mm_packs_epi32(words, words), words));
    __builtin_memcpy(to + i * kChannels, &pixel, sizeof(pixel));
  }
  return i;
}
#endif

template <int kChannels, class T>
void resample_row_of(const T* from, [[maybe_unused]] i64 pixels, T* to, const ResamplingTaps& taps, i64 channels) {
  i64 done = 0;
#if defined(__AVX2__)
  if constexpr (sizeof(T) == 1 && kChannels >= 3) done = resample_pixels<kChannels>(from, pixels, to, taps);
#endif
  resample_places<kChannels>(from, to, taps, done, taps.places, channels);
}

template <class T>
void resample_row(const void* x, i64 pixels, void* y, const ResamplingTaps* taps, i64 channels) {
  const T* const from = static_cast<const T*>(x);
  T* const to = static_cast<T*>(y);
  switch (channels) {
    case 1:
      return resample_row_of<1>(from, pixels, to, *taps, channels);
    case 3:
      return resample_row_of<3>(from, pixels, to, *taps, channels);
    case 4:
      return resample_row_of<4>(from, pixels, to, *taps, channels);
    default:
      return resample_row_of<0>(from, pixels, to, *taps, channels);
  }
}

/// kSome elements, whose sums stay in registers.
#if defined(__AVX512F__)
constexpr int kVectors = 4, kLanes = 16;
#elif defined(__AVX2__)
constexpr int kVectors = 4, kLanes = 8;
#endif

#if defined(__AVX512F__)
// The variants without a mask make g++ 12 warn of its own header.
[[gnu::always_inline]] inline __m512i load_bytes(const u8* from) {
  return _mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
[[gnu::always_inline]] inline void store_bytes(u8* to, __m512i sum) {
  const __m512i words = _mm512_maskz_max_epi32(0xffff, _mm512_maskz_srai_epi32(0xffff, sum, kResamplingPrecision),
                                               _mm512_setzero_si512());
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_maskz_cvtusepi32_epi8(0xffff, words));
}
#elif defined(__AVX2__)
[[gnu::always_inline]] inline __m256i load_bytes(const u8* from) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
}
[[gnu::always_inline]] inline void store_bytes(u8* to, __m256i sum) {
  const __m256i words = _mm256_srai_epi32(sum, kResamplingPrecision);
  const __m128i shorts = _mm_packs_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(shorts, shorts));
}
#endif

/// The elements from the left that come in whole blocks; returns their number.
[[maybe_unused]] i64 resample_blocks([[maybe_unused]] const u8* from, [[maybe_unused]] i64 pitch,
                                     [[maybe_unused]] const int* weight, [[maybe_unused]] i64 used,
                                     [[maybe_unused]] u8* to, [[maybe_unused]] i64 n) {
  i64 x = 0;
#if defined(__AVX2__)
  typedef int Ints __attribute__((vector_size(4 * kLanes)));
  for (; x + kVectors * kLanes <= n; x += kVectors * kLanes) {
    Ints sums[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[v] = Ints{} + start_of_sum<u8>();
    for (i64 k = 0; k < used; ++k) {
      const u8* const row = from + k * pitch + x;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[v] += weight[k] * reinterpret_cast<Ints>(load_bytes(row + v * kLanes));
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      store_bytes(to + x + v * kLanes, reinterpret_cast<decltype(load_bytes(from))>(sums[v]));
    }
  }
#endif
  return x;
}

template <class T>
void resample_column(const void* x, i64 pitch, const void* weight, i64 used, void* y, i64 n) {
  constexpr int kSome = 64;
  const Weight<T>* const weights = static_cast<const Weight<T>*>(weight);
  T* const to = static_cast<T*>(y);
  i64 done = 0;
  if constexpr (sizeof(T) == 1) done = resample_blocks(static_cast<const u8*>(x), pitch, weights, used, to, n);
  for (; done < n; done += kSome) {
    const i64 some = n - done < kSome ? n - done : kSome;
    Weight<T> sums[kSome];
    for (i64 i = 0; i < some; ++i) sums[i] = start_of_sum<T>();
    for (i64 k = 0; k < used; ++k) {
      const T* const row = reinterpret_cast<const T*>(static_cast<const char*>(x) + k * pitch) + done;
#pragma omp simd
      for (i64 i = 0; i < some; ++i) sums[i] += weights[k] * static_cast<Weight<T>>(row[i]);
    }
#pragma omp simd
    for (i64 i = 0; i < some; ++i) to[done + i] = end_of_sum<T>(sums[i]);
  }
}

constexpr ResamplingLoops kTable = {{&resample_row<u8>, &resample_column<u8>},
                                    {&resample_row<float>, &resample_column<float>}};

}  // namespace

namespace KUSARI_ISA {
const ResamplingLoops* resampling_loops() { return &kTable; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
