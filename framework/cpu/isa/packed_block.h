#pragma once

#include "kusari/framework/cpu/isa/gemm_block.h"
#include "kusari/framework/cpu/isa/packed_convolution.h"
#include "kusari/framework/cpu/isa/products.h"
#include "kusari/framework/cpu/isa/result_cut.h"
#include "kusari/framework/cpu/isa/rounding.h"

// The innermost loops of packed convolutions. Included only by the sources beside it, each of which has its own copy.
namespace kusari::cpu {
namespace {

constexpr i64 kLanes = Simd<float>::kLanes;
// Sums of a tile stay in registers, beside a row of a panel.
constexpr int kTileRows = kVectorBytes == 64 ? 12 : (kVectorBytes == 32 ? 6 : 4);
constexpr int kTileVectors = 2;
constexpr i64 kPanel = kTileVectors * kLanes;
constexpr i64 kDepth = 256;  // elements of a row at a time: their part of a panel stays in the first-level cache

/// Rows of y times the columns of a panel, over some of the sums' terms. Sums that are not complete are kept in y.
template <class Kind>
struct Strip {
  const void* const* addresses;  // of the rows, tile by tile: kTileRows for each position of the kernel
  i64 all_taps, taps;            // of which these are summed now
  i64 skip, depth;               // elements [skip, skip + depth) at each
  const void* outside;           // or null: positions that all rows of a tile meet there add nothing
  const typename Kind::Element* w;
  const typename Kind::Element* next;  // what will be read after w, or null
  i64 rows, tile;                      // of a tile: rows_of_tiles()
  i64 y_step;
  float* y;
  bool is_first, is_last;  // of the terms
  bool is_first_panel;     // whose rows of x may still be far away
  const int* start;        // or null: what sums of integers begin with
  const float* scale;
  const float* bias;
  const float* z;
  ResultRange range;
  const PackedRounding* rounding;  // or null
  unsigned char* q;                // where the rounded results go
  i64 columns;                     // of them
  const PackedBfloat16* bfloat16;  // of pairs of bfloat16
  i64 place;                       // of the first result behind the group's first one
};

/// The rows of all tiles but the last one, which has as many or less: all are long enough to hide how long a sum takes.
[[gnu::always_inline]] inline i64 rows_of_tiles(i64 rows) {
  const i64 tiles = (rows + kTileRows - 1) / kTileRows;
  return tiles > 0 ? (rows + tiles - 1) / tiles : 0;
}

template <class Kind, int kRows, int kVectors>
[[gnu::always_inline]] inline void finish_tile(const Strip<Kind>& strip, Vector<float> (&value)[kRows][kVectors],
                                               const float* z) {
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
  cut_results<kRows, kVectors>(strip.range, value);
}

/// Whether sums are not only scaled and moved before they are rounded.
template <class Kind>
[[gnu::always_inline]] inline bool needs_values(const Strip<Kind>& strip) {
  return strip.z != nullptr || strip.range.cut != ResultCut::none || strip.rounding->scale != 1;
}

/// Sums of integers become integers of 8 bits: a few vectors at a time, so that the others' registers are not needed.
template <class Kind, int kRows, int kVectors>
[[gnu::always_inline]] inline void round_tile(const Strip<Kind>& strip, i64 row,
                                              const Vector<int> (&sum)[kRows][kVectors]) {
  Vector<float> scale[kVectors], bias[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    scale[v] = load(strip.scale + v * kLanes);
    bias[v] = strip.bias != nullptr ? load(strip.bias + v * kLanes) : Vector<float>{};
  }
  const i64 step = strip.rounding->y_step;
  store_rounded<kRows, kVectors>(
      Rounding(*strip.rounding), strip.q + row * step, step,
      strip.columns, [&](int r, int v) __attribute__((always_inline)) {
        return __builtin_convertvector(sum[r][v], Vector<float>) * scale[v] + bias[v];
      });
}

/// What the sums of a tile begin with: those of the terms before, or zero or what integers begin with.
template <class Kind, int kRows, int kVectors>
[[gnu::always_inline]] inline void begin_tile(const Strip<Kind>& strip, i64 row,
                                              Vector<typename Kind::Sum> (&sum)[kRows][kVectors]) {
  using Sum = typename Kind::Sum;
  const float* const y = strip.y + row * strip.y_step;
  if (!strip.is_first) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        sum[r][v] = reinterpret_cast<Vector<Sum>>(load(y + r * strip.y_step + v * kLanes));
      }
    }
    return;
  }
  Vector<Sum> start[kVectors] = {};
  if constexpr (__is_same(Sum, int)) {
    if (strip.start != nullptr) {
      for (int v = 0; v < kVectors; ++v) start[v] = load(strip.start + v * kLanes);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = start[v];
  }
}

/// Where the sums of a tile go: to y as they are, or after the last term what follows from them.
template <class Kind, int kRows, int kVectors>
[[gnu::always_inline]] inline void end_tile(const Strip<Kind>& strip, i64 row,
                                            const Vector<typename Kind::Sum> (&sum)[kRows][kVectors]) {
  constexpr bool kIsInteger = __is_same(typename Kind::Sum, int);
  float* const y = strip.y + row * strip.y_step;
  if constexpr (kIsInteger) {
    if (strip.is_last && strip.rounding != nullptr && !needs_values(strip)) return round_tile(strip, row, sum);
  }
  Vector<float> value[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) value[r][v] = reinterpret_cast<Vector<float>>(sum[r][v]);
  }
  if (strip.is_last) {
    if constexpr (kIsInteger) {
      for (int v = 0; v < kVectors; ++v) {
        const Vector<float> scale = load(strip.scale + v * kLanes);
        for (int r = 0; r < kRows; ++r) value[r][v] = __builtin_convertvector(sum[r][v], Vector<float>) * scale;
      }
    }
    finish_tile<Kind, kRows, kVectors>(strip, value, strip.z != nullptr ? strip.z + row * strip.y_step : nullptr);
    if constexpr (kIsInteger) {
      if (strip.rounding != nullptr) {
        alignas(64) float values[kRows * kVectors * kLanes];
        for (int r = 0; r < kRows; ++r) {
          for (int v = 0; v < kVectors; ++v) store(values + (r * kVectors + v) * kLanes, value[r][v]);
        }
        const i64 step = strip.rounding->y_step;
        return round_values<kVectors>(*strip.rounding, values, kRows, strip.q + row * step, step, strip.columns);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) store(y + r * strip.y_step + v * kLanes, value[r][v]);
  }
}

template <class Kind, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_tile(const Strip<Kind>& strip, i64 row, const void* const* addresses) {
  using T = typename Kind::Element;
  Vector<typename Kind::Sum> sum[kRows][kVectors];
  begin_tile(strip, row, sum);
  const T* w = strip.w;
  const T* next = row == 0 ? strip.next : nullptr;
  const i64 depth = strip.depth;
  [[maybe_unused]] const bool fetches = strip.is_first_panel && row + i64{2} * kRows <= strip.rows;
  for (i64 tap = 0; tap < strip.taps; ++tap, addresses += kTileRows) {
    bool is_idle = strip.outside != nullptr;
    for (int r = 0; r < kRows && is_idle; ++r) is_idle = addresses[r] == strip.outside;
    if (is_idle) {
      w += depth * kVectors * kLanes;
      continue;
    }
    const T* rows[kRows];
    for (int r = 0; r < kRows; ++r) rows[r] = static_cast<const T*>(addresses[r]) + strip.skip;
    for (i64 p = 0; p < depth; ++p, w += kVectors * kLanes) {
      if constexpr (Kind::kFetchesRows) {
        // The next tile's rows, which are too short for the processor to foresee.
        constexpr i64 kLine = 64 / static_cast<i64>(sizeof(T));
        if (fetches && p % kLine == 0) {
          for (int r = 0; r < kRows; ++r) {
            __builtin_prefetch(static_cast<const T*>(addresses[kTileRows * strip.all_taps + r]) + strip.skip + p);
          }
        }
      }
      if (next != nullptr) {  // into the second-level cache: the first has no room for both
        constexpr int kVectorsOfALine = kVectorBytes < 64 ? 64 / kVectorBytes : 1;
        for (int v = 0; v < kVectors; v += kVectorsOfALine) __builtin_prefetch(next + v * kLanes, 0, 2);
        next += kVectors * kLanes;
      }
      Vector<T> right[kVectors];
      for (int v = 0; v < kVectors; ++v) right[v] = load(w + v * kLanes);
      for (int r = 0; r < kRows; ++r) {
        const Vector<T> left = rows[r][p] - Vector<T>{};  // in every lane
        for (int v = 0; v < kVectors; ++v) sum[r][v] = Kind::add(left, right[v], sum[r][v]);
      }
    }
  }
  end_tile(strip, row, sum);
}

/// The tiles of kRows rows from the one with this number on: all but the last one, or the last one alone.
template <class Kind, int kRows, int kVectors>
void multiply_tiles(const Strip<Kind>& strip, i64 number) {
  const void* const* addresses = strip.addresses + number * kTileRows * strip.all_taps;
  for (i64 row = number * strip.tile; row + kRows <= strip.rows;
       row += kRows, addresses += kTileRows * strip.all_taps) {
    multiply_tile<Kind, kRows, kVectors>(strip, row, addresses);
  }
}

/// For 1 .. kCount rows.
template <class Kind, int kVectors, int kCount, int... kRows>
struct TileFunctions : TileFunctions<Kind, kVectors, kCount - 1, kCount, kRows...> {};
template <class Kind, int kVectors, int... kRows>
struct TileFunctions<Kind, kVectors, 0, kRows...> {
  using Function = void (*)(const Strip<Kind>& strip, i64 number);
  static constexpr Function kOfRows[] = {&multiply_tiles<Kind, kRows, kVectors>...};
};

template <class Kind, int kVectors>
void multiply_strip(const Strip<Kind>& strip) {
  using Functions = TileFunctions<Kind, kVectors, kTileRows>;
  const i64 whole = strip.rows / strip.tile, rest = strip.rows - whole * strip.tile;
  Functions::kOfRows[strip.tile - 1](strip, 0);
  if (rest > 0) Functions::kOfRows[rest - 1](strip, whole);
}

template <class T>
void copy_rows(const T* from, i64 from_step, i64 rows, i64 columns, T* to, i64 to_step) {
  for (i64 r = 0; r < rows; ++r) {
    for (i64 c = 0; c < columns; ++c) to[r * to_step + c] = from[r * from_step + c];
  }
}

/// Where fewer columns are left than the vectors hold: tile by tile through memory that has all of them, but for
/// integers of 8 bits.
template <class Kind, int kVectors>
void multiply_ragged_strip(const Strip<Kind>& strip, i64 columns) {
  constexpr i64 kRow = kVectors * kLanes;
  alignas(64) float y[kTileRows * kRow] = {}, z[kTileRows * kRow] = {}, bias[kRow] = {}, scale[kRow] = {};
  alignas(64) int start[kRow] = {};
  if (strip.start != nullptr) copy_rows(strip.start, 0, 1, columns, start, 0);
  if (strip.scale != nullptr) copy_rows(strip.scale, 0, 1, columns, scale, 0);
  if (strip.bias != nullptr) copy_rows(strip.bias, 0, 1, columns, bias, 0);
  Strip<Kind> part = strip;
  part.scale = scale;
  part.start = strip.start != nullptr ? start : nullptr;
  part.bias = strip.bias != nullptr ? bias : nullptr;
  const bool is_rounded = strip.is_last && strip.rounding != nullptr;
  if (is_rounded && strip.is_first && strip.z == nullptr) return multiply_strip<Kind, kVectors>(part);
  part.y = y;
  part.y_step = kRow;
  part.z = strip.z != nullptr ? z : nullptr;
  const i64 tile = strip.tile;
  for (i64 row = 0; row < strip.rows; row += tile, part.addresses += kTileRows * strip.all_taps, part.next = nullptr) {
    part.rows = strip.rows - row < tile ? strip.rows - row : tile;
    float* const result = strip.y + row * strip.y_step;
    if (!strip.is_first) copy_rows(result, strip.y_step, part.rows, columns, y, kRow);
    if (strip.z != nullptr) copy_rows(strip.z + row * strip.y_step, strip.y_step, part.rows, columns, z, kRow);
    if (is_rounded) part.q = strip.q + row * strip.rounding->y_step;
    multiply_strip<Kind, kVectors>(part);
    if (!is_rounded) copy_rows(y, kRow, part.rows, columns, result, strip.y_step);
  }
}

template <class Kind, int kVectors>
void multiply_columns(const Strip<Kind>& strip, i64 columns) {
  if constexpr (Kind::kIsMasked) {
    multiply_strip<Kind, kVectors>(strip);
  } else {
    columns >= kVectors* kLanes ? multiply_strip<Kind, kVectors>(strip)
                                : multiply_ragged_strip<Kind, kVectors>(strip, columns);
  }
}

/// Where the rows [begin, end) of the product lie in x, tile by tile. Rows of a tile that are neighbours in a line of y
/// are written together, as many as a tile may have: what is too much is overwritten by what follows.
template <class T>
void find_addresses(const PackedConvolution& call, i64 begin, i64 end, const void** addresses) {
  using Address = km::u64;
  struct Neighbours {
    i64 row, top, left;  // the first of them; where its patch begins
    Address corner;
  };
  const i64 taps = call.kernel[0] * call.kernel[1], image_size = call.out_height * call.out_width;
  const i64 tile = rows_of_tiles(end - begin);
  const auto bytes = [](i64 elements) { return static_cast<Address>(elements) * sizeof(T); };
  const auto all = reinterpret_cast<Address>(call.x), outside = reinterpret_cast<Address>(call.zeros);
  Address apart[kTileRows];
  i64 along[kTileRows];
  for (int r = 0; r < kTileRows; ++r) {
    along[r] = r * call.stride[1];
    apart[r] = bytes(along[r] * call.x_step);
  }
  const bool is_plain = taps == 1 && call.stride[0] == 1 && call.stride[1] == 1 && call.pad[0] == 0 && call.pad[1] == 0;
  if (is_plain && call.x_line == call.out_width * call.x_step && call.x_image == call.out_height * call.x_line) {
    for (i64 first = begin; first < end; first += tile, addresses += kTileRows) {
      const Address from = all + bytes(first * call.x_step);
      for (int r = 0; r < kTileRows; ++r) addresses[r] = reinterpret_cast<const void*>(from + apart[r]);
    }
    return;
  }
  i64 image = begin / image_size, line = begin % image_size / call.out_width, column = begin % call.out_width;
  const i64 down = call.dilate[0] * call.x_line, across = call.dilate[1] * call.x_step;
  for (i64 first = begin; first < end; first += tile) {
    Neighbours neighbours[kTileRows];
    int count = 0;
    const i64 rows = end - first < tile ? end - first : tile;
    for (i64 row = 0; row < rows;) {
      const i64 top = line * call.stride[0] - call.pad[0], left = column * call.stride[1] - call.pad[1];
      const Address corner = all + bytes(image * call.x_image + top * call.x_line + left * call.x_step);
      neighbours[count++] = {row, top, left, corner};
      const i64 in_line = call.out_width - column, n = rows - row < in_line ? rows - row : in_line;
      row += n;
      column += n;
      if (column < call.out_width) continue;
      column = 0;
      if (++line < call.out_height) continue;
      line = 0;
      ++image;
    }
    for (i64 i = 0; i < call.kernel[0]; ++i) {
      for (i64 j = 0; j < call.kernel[1]; ++j, addresses += kTileRows) {
        for (int k = 0; k < count; ++k) {
          const i64 y = neighbours[k].top + i * call.dilate[0], x = neighbours[k].left + j * call.dilate[1];
          const Address from = neighbours[k].corner + bytes(i * down + j * across);
          const auto width = static_cast<km::u64>(y >= 0 && y < call.height ? call.width : 0);
          const void** const to = addresses + neighbours[k].row;
#pragma omp simd
          for (int r = 0; r < kTileRows; ++r) {
            const bool is_inside = static_cast<km::u64>(x + along[r]) < width;
            to[r] = reinterpret_cast<const void*>(is_inside ? from + apart[r] : outside);
          }
        }
      }
    }
  }
}

template <class Kind>
void run(const PackedConvolution& call, i64 begin, i64 end, i64 first, i64 last, const void** addresses) {
  using T = typename Kind::Element;
  const i64 taps = call.kernel[0] * call.kernel[1], whole = taps * call.depth;
  find_addresses<T>(call, begin, end, addresses);
  // Some positions of the kernel, or a part of one.
  const i64 parts = (call.depth + kDepth - 1) / kDepth, part = (call.depth + parts - 1) / parts;
  const i64 at_once = parts > 1 ? 1 : kDepth / call.depth;
  const auto weights = [&](i64 panel, i64 tap, i64 skip) {
    const i64 column = panel * kPanel, row = call.outs - column <= kLanes ? kLanes : kPanel;
    return static_cast<const T*>(call.w) + column * whole + (tap * call.depth + skip) * row;
  };
  Strip<Kind> strip;
  strip.all_taps = taps;
  strip.rows = end - begin;
  strip.tile = rows_of_tiles(strip.rows);
  // Kernels of large dilations reach beyond x at many places. What integers meet there may count.
  const bool is_dilated = call.dilate[0] > 1 || call.dilate[1] > 1;
  strip.outside = is_dilated && !__is_same(typename Kind::Sum, int) ? call.zeros : nullptr;
  strip.y_step = call.y_step;
  strip.range = call.range;
  strip.rounding = call.rounding;
  strip.bfloat16 = call.bfloat16;
  for (i64 tap = 0; tap < taps; tap += at_once) {
    strip.addresses = addresses + tap * kTileRows;
    strip.taps = taps - tap < at_once ? taps - tap : at_once;
    for (strip.skip = 0; strip.skip < call.depth; strip.skip += part) {
      strip.depth = call.depth - strip.skip < part ? call.depth - strip.skip : part;
      strip.is_first = tap == 0 && strip.skip == 0;
      strip.is_last = tap + strip.taps == taps && strip.skip + strip.depth == call.depth;
      const bool is_whole = strip.is_last;
      if constexpr (__is_same(typename Kind::Sum, int)) strip.is_last = strip.is_last && call.scale != nullptr;
      for (i64 panel = first; panel < last; ++panel) {
        const i64 column = panel * kPanel, columns = call.outs - column, place = begin * call.y_step + column;
        strip.is_first_panel = panel == first;
        strip.w = weights(panel, tap, strip.skip);
        // The part after this one is read anew, from its beginning, by the first panel.
        strip.next = panel + 1 < last                        ? weights(panel + 1, tap, strip.skip)
                     : is_whole                              ? nullptr
                     : strip.skip + strip.depth < call.depth ? weights(first, tap, strip.skip + part)
                                                             : weights(first, tap + at_once, 0);
        strip.start = call.start != nullptr ? call.start + column : nullptr;
        strip.scale = call.scale != nullptr ? call.scale + column : nullptr;
        strip.bias = call.bias != nullptr ? call.bias + column : nullptr;
        strip.y = call.y + place - call.y_first * call.y_step;
        strip.z = call.z != nullptr ? call.z + place : nullptr;
        strip.q = call.rounding != nullptr ? call.rounding->y + begin * call.rounding->y_step + column : nullptr;
        strip.columns = columns;
        strip.place = place;
        columns <= kLanes ? multiply_columns<Kind, 1>(strip, columns)
                          : multiply_columns<Kind, kTileVectors>(strip, columns);
      }
    }
  }
}

}  // namespace
}  // namespace kusari::cpu
