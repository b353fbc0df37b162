#include "kusari/framework/cpu/isa/packed_convolution.h"

#include "kusari/framework/cpu/isa/gemm_block.h"
#include "kusari/framework/cpu/isa/result_cut.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace kusari::cpu {
namespace {

constexpr i64 kLanes = Simd<float>::kLanes;
// Sums of a tile stay in registers, beside a row of a panel.
constexpr int kTileRows = kVectorBytes == 64 ? 12 : (kVectorBytes == 32 ? 6 : 4);
constexpr int kTileVectors = 2;
constexpr i64 kPanel = kTileVectors * kLanes;
constexpr i64 kDepth = 256;  // elements of a row at a time: their part of a panel stays in the first-level cache

using Pair = int;  // two int16 numbers

// sum + left * right, of pairs the sum of both products.
[[gnu::always_inline]] inline Vector<float> add_products(Vector<float> left, Vector<float> right, Vector<float> sum) {
  return multiply_add<float>(left, right, sum);
}
[[gnu::always_inline]] inline Vector<Pair> add_products(Vector<Pair> left, Vector<Pair> right, Vector<Pair> sum) {
#if defined(__AVX512BW__)
  return sum + reinterpret_cast<Vector<Pair>>(
                   _mm512_madd_epi16(reinterpret_cast<__m512i>(left), reinterpret_cast<__m512i>(right)));
#elif defined(__AVX2__)
  return sum + reinterpret_cast<Vector<Pair>>(
                   _mm256_madd_epi16(reinterpret_cast<__m256i>(left), reinterpret_cast<__m256i>(right)));
#elif defined(__SSE2__)
  return sum + reinterpret_cast<Vector<Pair>>(
                   _mm_madd_epi16(reinterpret_cast<__m128i>(left), reinterpret_cast<__m128i>(right)));
#else
  // Little-endian: the first of a pair is its lower half.
  return sum + ((left << 16) >> 16) * ((right << 16) >> 16) + (left >> 16) * (right >> 16);
#endif
}

/// Rows of y times the columns of a panel, over some of the sums' terms. Sums that are not complete are kept in y.
template <class T>
struct Strip {
  const void* const* addresses;  // of the rows, tile by tile: kTileRows for each position of the kernel
  i64 all_taps, taps;            // of which these are summed now
  i64 skip, depth;               // elements [skip, skip + depth) at each
  const T* w;
  i64 rows, y_step;
  float* y;
  bool is_first, is_last;  // of the terms
  const float* scale;
  const float* bias;
  const float* z;
  ResultCut cut;
  float limit;
};

template <class T, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_tile(const Strip<T>& strip, const void* const* addresses, float* y,
                                                 const float* z) {
  Vector<T> sum[kRows][kVectors];
  if (strip.is_first) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) sum[r][v] = Vector<T>{};
    }
  } else {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        sum[r][v] = reinterpret_cast<Vector<T>>(load(y + r * strip.y_step + v * kLanes));
      }
    }
  }
  const T* w = strip.w;
  const i64 depth = strip.depth;
  for (i64 tap = 0; tap < strip.taps; ++tap, addresses += kTileRows) {
    const T* rows[kRows];
    for (int r = 0; r < kRows; ++r) rows[r] = static_cast<const T*>(addresses[r]) + strip.skip;
    for (i64 p = 0; p < depth; ++p, w += kVectors * kLanes) {
      Vector<T> right[kVectors];
      for (int v = 0; v < kVectors; ++v) right[v] = load(w + v * kLanes);
      for (int r = 0; r < kRows; ++r) {
        const Vector<T> left = rows[r][p] - Vector<T>{};  // in every lane
        for (int v = 0; v < kVectors; ++v) sum[r][v] = add_products(left, right[v], sum[r][v]);
      }
    }
  }
  Vector<float> value[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) value[r][v] = reinterpret_cast<Vector<float>>(sum[r][v]);
  }
  if (strip.is_last) {
    if constexpr (!__is_same(T, float)) {
      for (int v = 0; v < kVectors; ++v) {
        const Vector<float> scale = load(strip.scale + v * kLanes);
        for (int r = 0; r < kRows; ++r) value[r][v] = __builtin_convertvector(sum[r][v], Vector<float>) * scale;
      }
    }
    if (strip.bias != nullptr) {
      for (int v = 0; v < kVectors; ++v) {
        const Vector<float> bias = load(strip.bias + v * kLanes);
        for (int r = 0; r < kRows; ++r) value[r][v] += bias;
      }
    }
    if (z != nullptr) {
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v) value[r][v] += load(z + r * strip.y_step + v * kLanes);
      }
    }
    if (strip.cut == ResultCut::below_zero) {
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v)
          value[r][v] = cut_result(value[r][v], ResultCut::below_zero, Vector<float>{});
      }
    } else if (strip.cut == ResultCut::to_range) {
      const Vector<float> limit = strip.limit - Vector<float>{};
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v) value[r][v] = cut_result(value[r][v], ResultCut::to_range, limit);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) store(y + r * strip.y_step + v * kLanes, value[r][v]);
  }
}

/// All whole tiles of the strip for kRows = kTileRows, else what is left after them.
template <class T, int kRows, int kVectors>
void multiply_tiles(const Strip<T>& strip) {
  const i64 whole = strip.rows / kTileRows * kTileRows;
  for (i64 row = kRows == kTileRows ? 0 : whole; row + kRows <= strip.rows; row += kTileRows) {
    multiply_tile<T, kRows, kVectors>(strip, strip.addresses + row * strip.all_taps, strip.y + row * strip.y_step,
                                      strip.z != nullptr ? strip.z + row * strip.y_step : nullptr);
  }
}

/// For 1 .. kCount rows.
template <class T, int kVectors, int kCount, int... kRows>
struct TileFunctions : TileFunctions<T, kVectors, kCount - 1, kCount, kRows...> {};
template <class T, int kVectors, int... kRows>
struct TileFunctions<T, kVectors, 0, kRows...> {
  using Function = void (*)(const Strip<T>& strip);
  static constexpr Function kOfRows[] = {&multiply_tiles<T, kRows, kVectors>...};
};

template <class T, int kVectors>
void multiply_strip(const Strip<T>& strip) {
  using Functions = TileFunctions<T, kVectors, kTileRows>;
  if (strip.rows >= kTileRows) Functions::kOfRows[kTileRows - 1](strip);
  if (const i64 rest = strip.rows % kTileRows; rest > 0) Functions::kOfRows[rest - 1](strip);
}

void copy_rows(const float* from, i64 from_step, i64 rows, i64 columns, float* to, i64 to_step) {
  for (i64 r = 0; r < rows; ++r) {
    for (i64 c = 0; c < columns; ++c) to[r * to_step + c] = from[r * from_step + c];
  }
}

/// Where fewer columns are left than the vectors hold: tile by tile through memory that has all of them.
template <class T, int kVectors>
void multiply_ragged_strip(const Strip<T>& strip, i64 columns) {
  constexpr i64 kRow = kVectors * kLanes;
  alignas(64) float y[kTileRows * kRow] = {}, z[kTileRows * kRow] = {}, bias[kRow] = {}, scale[kRow] = {};
  if (strip.scale != nullptr) copy_rows(strip.scale, 0, 1, columns, scale, 0);
  if (strip.bias != nullptr) copy_rows(strip.bias, 0, 1, columns, bias, 0);
  Strip<T> tile = strip;
  tile.scale = scale;
  tile.y = y;
  tile.y_step = kRow;
  tile.bias = strip.bias != nullptr ? bias : nullptr;
  tile.z = strip.z != nullptr ? z : nullptr;
  for (i64 row = 0; row < strip.rows; row += kTileRows) {
    tile.rows = strip.rows - row < kTileRows ? strip.rows - row : kTileRows;
    tile.addresses = strip.addresses + row * strip.all_taps;
    float* const result = strip.y + row * strip.y_step;
    if (!strip.is_first) copy_rows(result, strip.y_step, tile.rows, columns, y, kRow);
    if (strip.z != nullptr) copy_rows(strip.z + row * strip.y_step, strip.y_step, tile.rows, columns, z, kRow);
    multiply_strip<T, kVectors>(tile);
    copy_rows(y, kRow, tile.rows, columns, result, strip.y_step);
  }
}

template <class T, int kVectors>
void multiply_columns(const Strip<T>& strip, i64 columns) {
  columns >= kVectors* kLanes ? multiply_strip<T, kVectors>(strip) : multiply_ragged_strip<T, kVectors>(strip, columns);
}

void pack(const float* w, i64 depth, i64 outs, i64 first, i64 last, float* packed) {
  for (i64 panel = first; panel < last; ++panel) {
    const i64 columns = outs - panel * kPanel, row = columns > kLanes ? kPanel : kLanes;
    for (i64 v = 0; v * kLanes < row; ++v) {
      pack_transposed(w + (panel * kPanel + v * kLanes) * depth, depth, depth, columns - v * kLanes,
                      packed + panel * kPanel * depth + v * kLanes, row);
    }
  }
}

/// Where the rows [begin, end) of the product lie in x, tile by tile.
template <class T>
void find_addresses(const PackedConvolution& call, i64 begin, i64 end, const void** addresses) {
  const i64 taps = call.kernel[0] * call.kernel[1], image_size = call.out_height * call.out_width;
  i64 image = begin / image_size, line = begin % image_size / call.out_width, column = begin % call.out_width;
  const T* const outside = static_cast<const T*>(call.zeros);
  for (i64 first = begin; first < end; first += kTileRows, addresses += taps * kTileRows) {
    for (i64 r = 0; r < kTileRows; ++r) {
      const i64 top = line * call.stride[0] - call.pad[0], left = column * call.stride[1] - call.pad[1];
      const T* const x = static_cast<const T*>(call.x) + image * call.x_image;
      for (i64 i = 0; i < call.kernel[0]; ++i) {
        const i64 y = top + i * call.dilate[0];
        const bool is_line = y >= 0 && y < call.height;
        for (i64 j = 0; j < call.kernel[1]; ++j) {
          const i64 at = left + j * call.dilate[1];
          const bool is_inside = is_line && at >= 0 && at < call.width;
          addresses[(i * call.kernel[1] + j) * kTileRows + r] =
              is_inside ? x + y * call.x_line + at * call.x_step : outside;
        }
      }
      if (first + r + 1 >= end) continue;  // the last row again
      if (++column < call.out_width) continue;
      column = 0;
      if (++line < call.out_height) continue;
      line = 0;
      ++image;
    }
  }
}

template <class T>
void run(const PackedConvolution& call, i64 begin, i64 end, i64 first, i64 last, const void** addresses) {
  const i64 taps = call.kernel[0] * call.kernel[1], whole = taps * call.depth;
  find_addresses<T>(call, begin, end, addresses);
  // Some positions of the kernel, or a part of one.
  const i64 parts = (call.depth + kDepth - 1) / kDepth, part = (call.depth + parts - 1) / parts;
  const i64 at_once = parts > 1 ? 1 : kDepth / call.depth;
  Strip<T> strip;
  strip.all_taps = taps;
  strip.rows = end - begin;
  strip.y_step = call.y_step;
  strip.cut = call.cut;
  strip.limit = call.limit;
  for (i64 tap = 0; tap < taps; tap += at_once) {
    strip.addresses = addresses + tap * kTileRows;
    strip.taps = taps - tap < at_once ? taps - tap : at_once;
    for (strip.skip = 0; strip.skip < call.depth; strip.skip += part) {
      strip.depth = call.depth - strip.skip < part ? call.depth - strip.skip : part;
      strip.is_first = tap == 0 && strip.skip == 0;
      strip.is_last = tap + strip.taps == taps && strip.skip + strip.depth == call.depth;
      for (i64 panel = first; panel < last; ++panel) {
        const i64 column = panel * kPanel, columns = call.outs - column;
        const i64 row = columns <= kLanes ? kLanes : kPanel, place = begin * call.y_step + column;
        strip.w = static_cast<const T*>(call.w) + column * whole + (tap * call.depth + strip.skip) * row;
        strip.scale = call.scale != nullptr ? call.scale + column : nullptr;
        strip.bias = call.bias != nullptr ? call.bias + column : nullptr;
        strip.y = call.y + place - call.y_first * call.y_step;
        strip.z = call.z != nullptr ? call.z + place : nullptr;
        columns <= kLanes ? multiply_columns<T, 1>(strip, columns) : multiply_columns<T, kTileVectors>(strip, columns);
      }
    }
  }
}

constexpr PackedConvolutionLoops kLoops = {kTileRows, kPanel, kLanes, pack, run<float>, run<Pair>};

}  // namespace

namespace KUSARI_ISA {
const PackedConvolutionLoops* packed_convolution_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
