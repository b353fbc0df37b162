#include "kusari/framework/cpu/isa/bfloat16_packed_convolution.h"

#include "kusari/framework/cpu/isa/bfloat16_block.h"
#include "kusari/framework/cpu/isa/packed_block.h"

namespace kusari::cpu {
namespace {

static_assert(kLanes == kFloats);

struct Brains {  // pairs of bfloat16
  using Element = int;
  using Sum = float;
  static constexpr bool kIsMasked = true, kFetchesRows = true;
  [[gnu::always_inline]] static Vector<float> add(Vector<int> left, Vector<int> right, Vector<float> sum) {
    return dot(sum, reinterpret_cast<__m512i>(left), reinterpret_cast<__m512i>(right));
  }
};

/// The columns of a strip that each vector of a tile has.
template <int kVectors>
struct Columns {
  [[gnu::always_inline]] explicit Columns(i64 columns) : is_whole{columns >= kVectors * kLanes} {
    for (int v = 0; v < kVectors; ++v) {
      const i64 left = columns - v * kLanes;
      mask[v] = static_cast<__mmask16>(left >= kLanes ? 0xffff : left > 0 ? (1u << left) - 1 : 0);
    }
  }
  [[gnu::always_inline]] Vector<float> load_part(const float* from, int v) const {
    return _mm512_maskz_loadu_ps(mask[v], from + v * kLanes);
  }
  [[gnu::always_inline]] Vector<float> load_part(const u16* from, int v) const {
    const __m256i halves = _mm256_maskz_loadu_epi16(mask[v], from + v * kLanes);
    return __builtin_bit_cast(Vector<float>, __builtin_convertvector(__builtin_bit_cast(Halves, halves), Words) << 16);
  }
  bool is_whole;
  __mmask16 mask[kVectors];
};

template <int kRows, int kVectors>
[[gnu::always_inline]] inline void begin_tile(const Strip<Brains>& strip, i64 row,
                                              Vector<float> (&sum)[kRows][kVectors]) {
  const Columns<kVectors> columns(strip.columns);
  const float* const y = strip.y + row * strip.y_step;
  if (!strip.is_first) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) sum[r][v] = columns.load_part(y + r * strip.y_step, v);
    }
    return;
  }
  for (int v = 0; v < kVectors; ++v) {
    const Vector<float> bias = strip.bias != nullptr ? columns.load_part(strip.bias, v) : Vector<float>{};
    for (int r = 0; r < kRows; ++r) sum[r][v] = bias;
  }
}

/// Rounds the tile to bfloat16.
template <int kRows, int kVectors>
[[gnu::always_inline]] inline void store_halves(u16* y, i64 step, const Columns<kVectors>& columns,
                                                const Vector<float> (&value)[kRows][kVectors]) {
  for (int r = 0; r < kRows; ++r, y += step) {
    if constexpr (kVectors == 2) {
      const auto halves = __builtin_bit_cast(__m512i, _mm512_cvtne2ps_pbh(value[r][1], value[r][0]));
      if (columns.is_whole) {
        store_words(y, __builtin_bit_cast(Words, halves));
      } else {
        _mm512_mask_storeu_epi16(y, columns.mask[0] | static_cast<__mmask32>(columns.mask[1]) << kLanes, halves);
      }
    } else {
      static_assert(kVectors == 1);
      const auto halves = __builtin_bit_cast(__m256i, _mm512_cvtneps_pbh(value[r][0]));
      if (columns.is_whole) {
        *reinterpret_cast<UnalignedHalves*>(y) = __builtin_bit_cast(Halves, halves);
      } else {
        _mm256_mask_storeu_epi16(y, columns.mask[0], halves);
      }
    }
  }
}

template <int kRows, int kVectors>
[[gnu::always_inline]] inline void end_tile(const Strip<Brains>& strip, i64 row,
                                            Vector<float> (&sum)[kRows][kVectors]) {
  const Columns<kVectors> columns(strip.columns);
  const i64 step = strip.y_step, place = strip.place + row * step;
  if (strip.is_last) {
    if (strip.bfloat16->z != nullptr) {
      for (int r = 0; r < kRows; ++r) {
        const u16* const z = strip.bfloat16->z + place + r * step;
        for (int v = 0; v < kVectors; ++v) sum[r][v] += columns.load_part(z, v);
      }
    }
    cut_results<kRows, kVectors>(strip.range, sum);
    if (strip.bfloat16->y != nullptr) return store_halves(strip.bfloat16->y + place, step, columns, sum);
  }
  float* const y = strip.y + row * step;
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) _mm512_mask_storeu_ps(y + r * step + v * kLanes, columns.mask[v], sum[r][v]);
  }
}

void fill_up(const u16* from, i64 n, i64 channels, i64 filled, u16* to) {
  constexpr i64 kHalves = 2 * kFloats;
  i64 i = 0;
  if (channels < filled && filled <= kHalves) {  // some rows at a time, by a permutation
    const i64 rows = kHalves / filled;
    const __mmask32 read = static_cast<__mmask32>((km::u64{1} << (rows * channels)) - 1);
    const __mmask32 written = static_cast<__mmask32>((km::u64{1} << (rows * filled)) - 1);
    u16 places[kHalves] = {};
    __mmask32 kept = 0;
    for (i64 k = 0; k < rows * filled; ++k) {
      if (k % filled >= channels) continue;
      places[k] = static_cast<u16>(k / filled * channels + k % filled);
      kept |= __mmask32{1} << k;
    }
    const __m512i order = _mm512_loadu_si512(places);
    for (; i + rows <= n; i += rows) {
      const __m512i row = _mm512_maskz_loadu_epi16(read, from + i * channels);
      _mm512_mask_storeu_epi16(to + i * filled, written, _mm512_maskz_permutexvar_epi16(kept, order, row));
    }
  }
  for (; i < n; ++i) {
    for (i64 c = 0; c < filled; ++c) to[i * filled + c] = c < channels ? from[i * channels + c] : u16{0};
  }
}

constexpr Bfloat16PackedLoops kLoops = {run<Brains>, fill_up};

}  // namespace

namespace v4_bf16 {
const Bfloat16PackedLoops* bfloat16_packed_loops() { return &kLoops; }
}  // namespace v4_bf16

}  // namespace kusari::cpu
