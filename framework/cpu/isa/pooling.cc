#include "kusari/framework/cpu/isa/pooling.h"

#include "kusari/framework/cpu/isa/half.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace kusari::cpu {
namespace {

using u8 = unsigned char;
using i8 = signed char;
using i32 = km::i32;

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T, int kLanes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kLanes * sizeof(T))));
  typedef T Unaligned __attribute__((vector_size(kLanes * sizeof(T)), aligned(sizeof(T)), may_alias));
};
template <class T, int kLanes>
using Vector = typename VectorOf<T, kLanes>::Type;

/// What a comparison of elements gives, and what indices are widened to.
template <int kBytes>
struct IntegerOf {
  using Type = i32;
};
template <>
struct IntegerOf<8> {
  using Type = i64;
};
template <class T>
using Integer = typename IntegerOf<sizeof(T)>::Type;

/// Elements in the widest vector.
template <class T>
constexpr int kFullLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <int kLanes, class T>
[[gnu::always_inline]] inline Vector<T, kLanes> load(const T* from) {
  return *reinterpret_cast<const typename VectorOf<T, kLanes>::Unaligned*>(from);
}
template <int kLanes, class T>
[[gnu::always_inline]] inline void store(T* to, Vector<T, kLanes> value) {
  *reinterpret_cast<typename VectorOf<T, kLanes>::Unaligned*>(to) = value;
}
/// What elements of the storage type S are computed in.
template <class S>
struct ComputeOf {
  using Type = S;
};
template <>
struct ComputeOf<Half> {
  using Type = float;
};
template <>
struct ComputeOf<Brain> {
  using Type = float;
};
template <class S>
using Compute = typename ComputeOf<S>::Type;

template <int kLanes, class S>
[[gnu::always_inline]] inline Vector<Compute<S>, kLanes> read(const S* from) {
  if constexpr (__is_same(S, Compute<S>)) {
    return load<kLanes>(from);
  } else {
    float wide[kLanes];
    widen_lanes<kLanes>(from, wide);
    return load<kLanes>(wide);
  }
}
template <int kLanes, class S>
[[gnu::always_inline]] inline void write(S* to, Vector<Compute<S>, kLanes> value) {
  if constexpr (__is_same(S, Compute<S>)) {
    store<kLanes>(to, value);
  } else {
    float wide[kLanes];
    store<kLanes>(wide, value);
    narrow_lanes<kLanes>(wide, to);
  }
}

// Indices are as wide as the elements while they are computed with. Compilers convert bytes one by one unless told how.

template <class T, int kLanes, class Index>
[[gnu::always_inline]] inline Vector<Integer<T>, kLanes> load_index(const Index* from) {
  using Wide = Vector<Integer<T>, kLanes>;
  if constexpr (sizeof(Index) == 1 && sizeof(T) == 4 && kLanes == kFullLanes<T>) {
#if defined(__AVX512F__)
    // The variant without a mask makes g++ 12 warn of its own header.
    return reinterpret_cast<Wide>(
        _mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#elif defined(__AVX2__)
    return reinterpret_cast<Wide>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#elif defined(__SSE2__)
    i32 bytes;
    __builtin_memcpy(&bytes, from, sizeof(bytes));
    const __m128i zero = _mm_setzero_si128(), words = _mm_unpacklo_epi8(_mm_cvtsi32_si128(bytes), zero);
    return reinterpret_cast<Wide>(_mm_unpacklo_epi16(words, zero));
#endif
  }
  return __builtin_convertvector(load<kLanes>(from), Wide);
}

template <int kLanes, class Wide, class Index>
[[gnu::always_inline]] inline void store_index(Index* to, Vector<Wide, kLanes> index) {
  if constexpr (sizeof(Index) == 1 && sizeof(Wide) == 4 && kLanes == kFullLanes<Wide>) {
#if defined(__AVX2__) && !defined(__AVX512F__)
    const __m256i all = reinterpret_cast<__m256i>(index);
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    return _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
#elif defined(__SSE2__) && !defined(__AVX512F__)
    const __m128i all = reinterpret_cast<__m128i>(index), words = _mm_packs_epi32(all, all);
    const i32 bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
    __builtin_memcpy(to, &bytes, sizeof(bytes));
    return;
#endif
  }
  store<kLanes>(to, __builtin_convertvector(index, Vector<Index, kLanes>));
}

/// Asks for what the next pixels read or write, for caches that do not foresee it: rows of windows are many streams.
template <int kLanes, int kVectors, int kWrite = 0, class T>
[[gnu::always_inline]] inline void prefetch(const T* at) {
  constexpr i64 kAhead = 2048 / static_cast<i64>(sizeof(T));
  if constexpr (kVectors == 4) {
    for (int v = 0; v < kVectors; ++v) __builtin_prefetch(at + v * kLanes + kAhead, kWrite);
  }
}

/// The largest of elements that come one after the other: the first of equal ones, and the first NaN for good.
template <class T, int kLanes>
struct Largest {
  using Mask = Vector<Integer<T>, kLanes>;
  Vector<T, kLanes> best;
  Mask at;
  Mask alive;  // best is not NaN

  [[gnu::always_inline]] void start(Vector<T, kLanes> value, Mask here) {
    best = value;
    at = here;
    alive = value == value;
  }
  [[gnu::always_inline]] void take(Vector<T, kLanes> value, Mask here) {
    const Mask better = ~(value <= best) & alive;
    alive &= value == value;
    best = better ? value : best;
    at = better ? here : at;
  }
};

#if defined(__AVX512F__)
// Kept in mask registers, `alive` stays off the path from one element to the next.
template <>
struct Largest<float, 16> {
  using Mask = Vector<i32, 16>;
  Vector<float, 16> best;
  Mask at;
  __mmask16 alive;

  [[gnu::always_inline]] void start(Vector<float, 16> value, Mask here) {
    best = value;
    at = here;
    alive = _mm512_cmp_ps_mask(value, value, _CMP_ORD_Q);
  }
  [[gnu::always_inline]] void take(Vector<float, 16> value, Mask here) {
    const __mmask16 better = _mm512_mask_cmp_ps_mask(alive, value, best, _CMP_NLE_UQ);
    alive = _mm512_mask_cmp_ps_mask(alive, value, value, _CMP_ORD_Q);
    best = _mm512_mask_mov_ps(best, better, value);
    at = reinterpret_cast<Mask>(
        _mm512_mask_mov_epi32(reinterpret_cast<__m512i>(at), better, reinterpret_cast<__m512i>(here)));
  }
};
#endif

// Each operation computes one pixel's results for kVectors * kLanes channels, from where its source and target start.

template <class S, class Index>
struct Max {
  const i64* offset;
  const i64* place;
  i64 count;
  const S* x;
  S* y;
  Index* index;

  template <int kLanes, int kVectors>
  [[gnu::always_inline]] void run(i64 source, i64 target) const {
    using T = Compute<S>;
    using Wide = Integer<T>;
    Largest<T, kLanes> largest[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      largest[v].start(read<kLanes>(x + source + offset[0] + v * kLanes),
                       Vector<Wide, kLanes>{} + static_cast<Wide>(place[0]));
    }
    for (i64 i = 1; i < count; ++i) {
      const S* const from = x + source + offset[i];
      prefetch<kLanes, kVectors>(from);
      const Vector<Wide, kLanes> here = Vector<Wide, kLanes>{} + static_cast<Wide>(place[i]);
      for (int v = 0; v < kVectors; ++v) largest[v].take(read<kLanes>(from + v * kLanes), here);
    }
    for (int v = 0; v < kVectors; ++v) {
      write<kLanes>(y + target + v * kLanes, largest[v].best);
      store_index<kLanes, Wide>(index + target + v * kLanes, largest[v].at);
    }
  }
};

template <class S>
struct MaxAlone {
  const i64* offset;
  i64 count;
  const S* x;
  S* y;

  template <int kLanes, int kVectors>
  [[gnu::always_inline]] void run(i64 source, i64 target) const {
    using T = Compute<S>;
    const Vector<Integer<T>, kLanes> nowhere = {};
    Largest<T, kLanes> largest[kVectors];
    for (int v = 0; v < kVectors; ++v) largest[v].start(read<kLanes>(x + source + offset[0] + v * kLanes), nowhere);
    for (i64 i = 1; i < count; ++i) {
      const S* const from = x + source + offset[i];
      prefetch<kLanes, kVectors>(from);
      for (int v = 0; v < kVectors; ++v) largest[v].take(read<kLanes>(from + v * kLanes), nowhere);
    }
    for (int v = 0; v < kVectors; ++v) write<kLanes>(y + target + v * kLanes, largest[v].best);
  }
};

template <class T>
struct MaxOfIntegers {
  const i64* offset;
  i64 count;
  const T* x;
  T* y;

  template <int kLanes, int kVectors>
  [[gnu::always_inline]] void run(i64 source, i64 target) const {
    Vector<T, kLanes> best[kVectors];
    for (int v = 0; v < kVectors; ++v) best[v] = load<kLanes>(x + source + offset[0] + v * kLanes);
    for (i64 i = 1; i < count; ++i) {
      const T* const from = x + source + offset[i];
      for (int v = 0; v < kVectors; ++v) {
        const Vector<T, kLanes> value = load<kLanes>(from + v * kLanes);
        best[v] = value > best[v] ? value : best[v];
      }
    }
    for (int v = 0; v < kVectors; ++v) store<kLanes>(y + target + v * kLanes, best[v]);
  }
};

template <class S, class Index>
struct Pick {
  const i64* offset;
  const i64* place;
  i64 count;
  const S* x;
  const Index* index;
  S* y;

  template <int kLanes, int kVectors>
  [[gnu::always_inline]] void run(i64 source, i64 target) const {
    using T = Compute<S>;
    using Wide = Integer<T>;
    for (int v = 0; v < kVectors; ++v) {
      const auto at = load_index<T, kLanes>(index + target + v * kLanes);
      Vector<T, kLanes> picked = {};
      for (i64 i = 0; i < count; ++i) {
        const Vector<T, kLanes> value = read<kLanes>(x + source + offset[i] + v * kLanes);
        picked = at == static_cast<Wide>(place[i]) ? value : picked;
      }
      write<kLanes>(y + target + v * kLanes, picked);
    }
  }
};

template <class S, class Index>
struct Grad {
  const i64* offset;
  const i64* place;
  i64 count;
  const S* gy;
  const Index* index;
  S* gx;

  template <int kLanes, int kVectors>
  [[gnu::always_inline]] void run(i64 source, i64 target) const {
    using T = Compute<S>;
    using Wide = Integer<T>;
    const Vector<T, kLanes> zero = {};
    Vector<T, kLanes> sum[kVectors];
    for (int v = 0; v < kVectors; ++v) sum[v] = zero;
    prefetch<kLanes, kVectors, 1>(gx + target);
    for (i64 i = 0; i < count; ++i) {
      const i64 from = source + offset[i];
      for (int v = 0; v < kVectors; ++v) {
        const auto at = load_index<T, kLanes>(index + from + v * kLanes);
        sum[v] += at == static_cast<Wide>(place[i]) ? read<kLanes>(gy + from + v * kLanes) : zero;
      }
    }
    for (int v = 0; v < kVectors; ++v) write<kLanes>(gx + target + v * kLanes, sum[v]);
  }
};

template <class S>
struct Sum {
  /// Terms that are added one after the other before they join the total, which keeps long sums accurate.
  static constexpr i64 kTerms = 16;

  const i64* offset;
  i64 count;
  const S* x;
  Compute<S> divisor;
  S* y;

  template <int kLanes, int kVectors>
  [[gnu::always_inline]] void run(i64 source, i64 target) const {
    using T = Compute<S>;
    Vector<T, kLanes> total[kVectors];
    for (int v = 0; v < kVectors; ++v) total[v] = Vector<T, kLanes>{};
    for (i64 begin = 0; begin < count; begin += kTerms) {
      const i64 end = begin + kTerms < count ? begin + kTerms : count;
      Vector<T, kLanes> sum[kVectors];
      for (int v = 0; v < kVectors; ++v) sum[v] = read<kLanes>(x + source + offset[begin] + v * kLanes);
      for (i64 i = begin + 1; i < end; ++i) {
        prefetch<kLanes, kVectors>(x + source + offset[i]);
        for (int v = 0; v < kVectors; ++v) sum[v] += read<kLanes>(x + source + offset[i] + v * kLanes);
      }
      for (int v = 0; v < kVectors; ++v) total[v] += sum[v];
    }
    for (int v = 0; v < kVectors; ++v) write<kLanes>(y + target + v * kLanes, total[v] / divisor);
  }
};

/// All channels of each pixel, of which there are at least kLanes: the last vector may overlap the one before.
template <int kLanes, class Op>
[[gnu::noinline]] void run_lanes(const PoolingRun& run, const Op& given) {
  const Op op = given;
  const i64 channels = run.channels, pixels = run.pixels, source_step = run.source_step, target_step = run.target_step;
  i64 source = 0, target = run.target;
  for (i64 pixel = 0; pixel < pixels; ++pixel, source += source_step, target += target_step) {
    i64 c = 0;
    for (; c + 4 * kLanes <= channels; c += 4 * kLanes) op.template run<kLanes, 4>(source + c, target + c);
    for (; c + kLanes <= channels; c += kLanes) op.template run<kLanes, 1>(source + c, target + c);
    if (c < channels) op.template run<kLanes, 1>(source + channels - kLanes, target + channels - kLanes);
  }
}

template <class S, class Op>
void run_pixels(const PoolingRun& run, const Op& op) {
  using T = Compute<S>;
  constexpr int kLanes = kFullLanes<T>, kFewLanes = 16 / static_cast<int>(sizeof(T));
  if (run.channels >= kLanes) {
    run_lanes<kLanes>(run, op);
  } else if (run.channels >= kFewLanes) {
    run_lanes<kFewLanes>(run, op);
  } else {
    run_lanes<1>(run, op);
  }
}

/// The results of windows without places.
template <class T>
void fill(const PoolingRun& run, T value, T* to) {
  for (i64 pixel = 0; pixel < run.pixels; ++pixel) {
    T* const at = to + run.target + pixel * run.target_step;
    for (i64 c = 0; c < run.channels; ++c) at[c] = value;
  }
}

/// -inf.
template <class S>
S lowest() {
  const Vector<Compute<S>, 1> value = {static_cast<Compute<S>>(-__builtin_inf())};
  S result;
  write<1>(&result, value);
  return result;
}

template <class S, class Index>
void max(const PoolingRun& run, const void* x, void* y, void* index) {
  if (run.count == 0) {
    fill(run, lowest<S>(), static_cast<S*>(y));
    return fill(run, Index{}, static_cast<Index*>(index));
  }
  run_pixels<S>(run, Max<S, Index>{run.offset, run.place, run.count, static_cast<const S*>(x), static_cast<S*>(y),
                                   static_cast<Index*>(index)});
}

template <class S>
void max_alone(const PoolingRun& run, const void* x, void* y) {
  if (run.count == 0) return fill(run, lowest<S>(), static_cast<S*>(y));
  run_pixels<S>(run, MaxAlone<S>{run.offset, run.count, static_cast<const S*>(x), static_cast<S*>(y)});
}

template <class T, T kLowest>
void max_of_integers(const PoolingRun& run, const void* x, void* y) {
  if (run.count == 0) return fill(run, kLowest, static_cast<T*>(y));
  run_pixels<T>(run, MaxOfIntegers<T>{run.offset, run.count, static_cast<const T*>(x), static_cast<T*>(y)});
}

template <class S, class Index>
void pick(const PoolingRun& run, const void* x, const void* index, void* y) {
  run_pixels<S>(run, Pick<S, Index>{run.offset, run.place, run.count, static_cast<const S*>(x),
                                    static_cast<const Index*>(index), static_cast<S*>(y)});
}

template <class S, class Index>
void grad(const PoolingRun& run, const void* gy, const void* index, void* gx) {
  run_pixels<S>(run, Grad<S, Index>{run.offset, run.place, run.count, static_cast<const S*>(gy),
                                    static_cast<const Index*>(index), static_cast<S*>(gx)});
}

template <class S>
void sum(const PoolingRun& run, const void* x, double divisor, void* y) {
  run_pixels<S>(run, Sum<S>{run.offset, run.count, static_cast<const S*>(x), static_cast<Compute<S>>(divisor),
                            static_cast<S*>(y)});
}

template <class S>
constexpr PoolingLoop loop_of() {
  return {{&max<S, u8>, &max<S, i32>},
          &max_alone<S>,
          {&pick<S, u8>, &pick<S, i32>},
          {&grad<S, u8>, &grad<S, i32>},
          &sum<S>};
}
constexpr PoolingLoops kTable = {loop_of<Half>(),   loop_of<Brain>(),        loop_of<float>(),
                                 loop_of<double>(), &max_of_integers<u8, 0>, &max_of_integers<i8, -128>};

}  // namespace

namespace KUSARI_ISA {
const PoolingLoops* pooling_loops() { return &kTable; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
