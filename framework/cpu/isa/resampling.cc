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

/// A lane for each of kRows rows.
template <int kRows>
struct Lanes {
  using Type = __m128i;
  static Type join(const u8* from, i64) { return _mm_cvtsi64_si128(load_word<long long>(from)); }
  static Type repeat(__m128i lane) { return lane; }
  static Type fill(int word) { return _mm_set1_epi32(word); }
  static Type shuffle(Type x, Type order) { return _mm_shuffle_epi8(x, order); }
  static Type add(Type a, Type b) { return _mm_add_epi32(a, b); }
  static Type multiply_pairs(Type a, Type b) { return _mm_madd_epi16(a, b); }
  static void store(Type high, Type low, u8* to, i64) {
    const Type sum = _mm_add_epi32(_mm_slli_epi32(high, ResamplingPair::kLowBits), low);
    const Type words = _mm_srai_epi32(sum, kResamplingPrecision);
    const int pixel = _mm_cvtsi128_si32(_mm_packus_epi16(_mm_packs_epi32(words, words), words));
    __builtin_memcpy(to, &pixel, sizeof(pixel));
  }
};
template <>
struct Lanes<2> {
  using Type = __m256i;
  static Type join(const u8* from, i64 pitch) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(Lanes<1>::join(from, 0)), Lanes<1>::join(from + pitch, 0), 1);
  }
  static Type repeat(__m128i lane) { return _mm256_broadcastsi128_si256(lane); }
  static Type fill(int word) { return _mm256_set1_epi32(word); }
  static Type shuffle(Type x, Type order) { return _mm256_shuffle_epi8(x, order); }
  static Type add(Type a, Type b) { return _mm256_add_epi32(a, b); }
  static Type multiply_pairs(Type a, Type b) { return _mm256_madd_epi16(a, b); }
  static void store(Type high, Type low, u8* to, i64 pitch) {
    const Type sum = _mm256_add_epi32(_mm256_slli_epi32(high, ResamplingPair::kLowBits), low);
    const Type words = _mm256_srai_epi32(sum, kResamplingPrecision);
    const Type bytes = _mm256_packus_epi16(_mm256_packs_epi32(words, words), words);
    const int first = _mm_cvtsi128_si32(_mm256_castsi256_si128(bytes));
    const int second = _mm_cvtsi128_si32(_mm256_extracti128_si256(bytes, 1));
    __builtin_memcpy(to, &first, sizeof(first));
    __builtin_memcpy(to + pitch, &second, sizeof(second));
  }
};

/// As many new pixels of 3 or 4 channels of kRows rows as this can make, from the left: it reads 8 bytes for two old
/// pixels and writes 4 for a new one. Returns their number.
template <int kChannels, int kRows>
i64 resample_pixels(const u8* from, i64 x_pitch, i64 pixels, u8* to, i64 y_pitch, const ResamplingTaps& taps) {
  using L = Lanes<kRows>;
  constexpr char kZero = -128;
  const auto spread = L::repeat(
      kChannels == 3
          ? _mm_setr_epi8(0, kZero, 3, kZero, 1, kZero, 4, kZero, 2, kZero, 5, kZero, kZero, kZero, kZero, kZero)
          : _mm_setr_epi8(0, kZero, 4, kZero, 1, kZero, 5, kZero, 2, kZero, 6, kZero, 3, kZero, 7, kZero));
  const auto half = L::fill(start_of_sum<u8>());
  const i64 count = (taps.count + 1) / 2, bytes = pixels * kChannels;
  const ResamplingPair* pairs = taps.pairs;
  const i64 last = kChannels == 4 ? taps.places : taps.places - 1;
  i64 i = 0;
  for (; i < last; ++i, pairs += count, to += kChannels) {
    const i64 used = (taps.used[i] + 1) / 2, begin = taps.first[i] * kChannels;
    if (begin + (used - 1) * 2 * kChannels + 8 > bytes) break;
    auto high = L::fill(0), low = half;
    for (i64 k = 0; k < used; ++k) {
      const auto two = L::shuffle(L::join(from + begin + k * 2 * kChannels, x_pitch), spread);
      high = L::add(high, L::multiply_pairs(two, L::fill(load_word<int>(pairs[k].high))));
      low = L::add(low, L::multiply_pairs(two, L::fill(load_word<int>(pairs[k].low))));
    }
    L::store(high, low, to, y_pitch);
  }
  return i;
}
#endif

template <int kChannels, class T>
void resample_rows_of(const char* from, i64 x_pitch, [[maybe_unused]] i64 pixels, char* to, i64 y_pitch, i64 rows,
                      const ResamplingTaps& taps, i64 channels) {
  const auto rest = [&](i64 row, i64 done) {
    resample_places<kChannels>(reinterpret_cast<const T*>(from + row * x_pitch),
                               reinterpret_cast<T*>(to + row * y_pitch), taps, done, taps.places, channels);
  };
  i64 row = 0;
#if defined(__AVX2__)
  if constexpr (sizeof(T) == 1 && kChannels >= 3) {
    const auto make = [&]<int kRows>() {
      const i64 done =
          resample_pixels<kChannels, kRows>(reinterpret_cast<const u8*>(from + row * x_pitch), x_pitch, pixels,
                                            reinterpret_cast<u8*>(to + row * y_pitch), y_pitch, taps);
      for (int i = 0; i < kRows; ++i) rest(row + i, done);
    };
    for (; row + 2 <= rows; row += 2) make.template operator()<2>();
    for (; row < rows; ++row) make.template operator()<1>();
  }
#endif
  for (; row < rows; ++row) rest(row, 0);
}

template <class T>
void resample_rows(const void* x, i64 x_pitch, i64 pixels, void* y, i64 y_pitch, i64 rows, const ResamplingTaps* taps,
                   i64 channels) {
  const char* const from = static_cast<const char*>(x);
  char* const to = static_cast<char*>(y);
  switch (channels) {
    case 1:
      return resample_rows_of<1, T>(from, x_pitch, pixels, to, y_pitch, rows, *taps, channels);
    case 3:
      return resample_rows_of<3, T>(from, x_pitch, pixels, to, y_pitch, rows, *taps, channels);
    case 4:
      return resample_rows_of<4, T>(from, x_pitch, pixels, to, y_pitch, rows, *taps, channels);
    default:
      return resample_rows_of<0, T>(from, x_pitch, pixels, to, y_pitch, rows, *taps, channels);
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

/// A column of at least one block of elements, of which the last overlaps the one before; false for a shorter one.
[[maybe_unused]] bool resample_blocks([[maybe_unused]] const u8* from, [[maybe_unused]] i64 pitch,
                                      [[maybe_unused]] const int* weight, [[maybe_unused]] i64 used,
                                      [[maybe_unused]] u8* to, [[maybe_unused]] i64 n) {
#if defined(__AVX2__)
  typedef int Ints __attribute__((vector_size(4 * kLanes)));
  constexpr i64 kElements = kVectors * kLanes;
  if (n < kElements) return false;
  for (i64 block = 0; block < n; block += kElements) {
    const i64 x = block < n - kElements ? block : n - kElements;
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
  return true;
#else
  return false;
#endif
}

template <class T>
void resample_column(const void* x, i64 pitch, const void* weight, i64 used, void* y, i64 n) {
  constexpr int kSome = 64;
  const Weight<T>* const weights = static_cast<const Weight<T>*>(weight);
  T* const to = static_cast<T*>(y);
  if constexpr (sizeof(T) == 1) {
    if (resample_blocks(static_cast<const u8*>(x), pitch, weights, used, to, n)) return;
  }
  for (i64 done = 0; done < n; done += kSome) {
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

constexpr ResamplingLoops kTable = {{&resample_rows<u8>, &resample_column<u8>},
                                    {&resample_rows<float>, &resample_column<float>}};

}  // namespace

namespace KUSARI_ISA {
const ResamplingLoops* resampling_loops() { return &kTable; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
