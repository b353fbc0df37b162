#include "kusari/framework/cpu/isa/bfloat16_winograd.h"

#include "kusari/framework/cpu/isa/bfloat16_block.h"
#include "kusari/framework/cpu/isa/winograd_lines.h"

namespace kusari::cpu {
namespace {

constexpr i64 kPanel = kBfloat16Panel;
static_assert(kLanes == kFloats && kPanel == kWinogradChannels);

[[gnu::always_inline]] inline V widen(const u16* from) { return __builtin_bit_cast(V, load_halves(from) << 16); }
[[gnu::always_inline]] inline V widen(const float* from) { return load(from); }

[[gnu::always_inline]] inline void narrow(u16* to, V x) {
  *reinterpret_cast<UnalignedHalves*>(to) = __builtin_bit_cast(Halves, _mm512_cvtneps_pbh(x));
}
// x[0], y[0], x[1], y[1], ...
[[gnu::always_inline]] inline void narrow_pairs(u16* to, V x, V y) {
  const auto first = __builtin_convertvector(__builtin_bit_cast(Halves, _mm512_cvtneps_pbh(x)), Words);
  const auto second = __builtin_convertvector(__builtin_bit_cast(Halves, _mm512_cvtneps_pbh(y)), Words);
  store_words(to, first | second << 16);
}

void input(const u16* const* d, i64 channels, u16* v, i64 place_stride) {
  for (i64 c = 0; c < channels; c += kLanes) {
    transform<6, 6>([&](int i) { return widen(d[i] + c); }, input_line,
                    [&](int i, V value) { narrow(v + i * place_stride + c, value); });
  }
}

void output(const float* m, i64 place_stride, i64 channels, const float* bias, const u16* const* z, bool relu,
            u16* const* y, i64 first) {
  const V least = least_result(relu);
  for (i64 c = 0; c < channels; c += kLanes) {
    const V offset = bias != nullptr ? load(bias + first + c) : V{};
    transform<6, 4>([&](int i) { return load(m + i * place_stride + c); }, output_line,
                    [&](int i, V value) {
                      if (y[i] == nullptr) return;
                      value += offset;
                      if (z != nullptr) value += widen(z[i] + first + c);
                      narrow(y[i] + first + c, at_least(least, value));
                    });
  }
}

void finish(const void* z, bool relu, void* y, i64 n) {
  const u16* const addend = static_cast<const u16*>(z);
  u16* const result = static_cast<u16*>(y);
  const V least = least_result(relu);
  const auto finished = [&](const u16* from, const u16* added) {
    return at_least(least, added != nullptr ? widen(from) + widen(added) : widen(from));
  };
  i64 i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    narrow(result + i, finished(result + i, addend != nullptr ? addend + i : nullptr));
  }
  if (i == n) return;
  const size_t rest = static_cast<size_t>(n - i) * sizeof(u16);
  u16 last[kLanes] = {}, last_addend[kLanes] = {};
  __builtin_memcpy(last, result + i, rest);
  if (addend != nullptr) __builtin_memcpy(last_addend, addend + i, rest);
  narrow(last, finished(last, addend != nullptr ? last_addend : nullptr));
  __builtin_memcpy(result + i, last, rest);
}

template <int kFrom, class Line>
[[gnu::always_inline]] inline void transform_pair(const u16* const* from, i64 channels, u16* to, i64 place_stride,
                                                  i64 panel_stride, Line line) {
  for (i64 c = 0; c < channels; c += kLanes) {
    V first[36];
    transform<kFrom, 6>([&](int i) { return widen(from[i] + c); }, line, [&](int i, V value) { first[i] = value; });
    u16* const panel = to + c / kPanel * panel_stride + 2 * (c % kPanel);
    transform<kFrom, 6>([&](int i) { return widen(from[kFrom * kFrom + i] + c); }, line,
                        [&](int i, V value) { narrow_pairs(panel + i * place_stride, first[i], value); });
  }
}
void input_pair(const u16* const* d, i64 channels, u16* v, i64 place_stride, i64 panel_stride) {
  transform_pair<6>(d, channels, v, place_stride, panel_stride, input_line);
}
void gradient_pair(const u16* const* g, i64 channels, u16* n, i64 place_stride, i64 panel_stride) {
  transform_pair<4>(g, channels, n, place_stride, panel_stride, gradient_line);
}

void filter(const float* u, i64 place_stride, i64 channels, u16* w, i64 tap_stride) {
  for (i64 c = 0; c < channels; c += kLanes) {
    transform<6, 3>([&](int i) { return load(u + i * place_stride + c); }, filter_line,
                    [&](int i, V value) { narrow(w + i * tap_stride + c, value); });
  }
}

// Weights whose rows are contiguous: transformed along the rows, then squares of pairs of rows are turned.
template <class T>
void panel_from_rows(const T* w, i64 rows, i64 first_column, u16* u, i64 place_stride) {
  constexpr i64 kRows = 2 * kLanes;
  alignas(64) u16 transformed[36][kLanes][kRows];
  for (i64 row = 0; row < rows; row += kRows) {
    for (i64 column = 0; column < kPanel; column += kLanes) {
      for (i64 j = 0; j < kLanes; ++j) {
        const T* const source = w + (first_column + column + j) * 9 * rows + row;
        for (i64 half = 0; half < kRows; half += kLanes) {
          transform<3, 6>([&](int i) { return widen(source + i * rows + half); }, weight_line,
                          [&](int i, V value) { narrow(transformed[i][j] + half, value); });
        }
      }
      for (int i = 0; i < 36; ++i) {
        V square[kLanes], other[kLanes];  // pairs, only moved
        for (i64 j = 0; j < kLanes; ++j) square[j] = load(reinterpret_cast<const float*>(transformed[i][j]));
        for (i64 width = 1; width < kLanes; width *= 2) {
          shuffle_square<float>(square, other);
          for (i64 j = 0; j < kLanes; ++j) square[j] = other[j];
        }
        u16* const to = u + i * place_stride + row * kPanel + 2 * column;
        for (i64 j = 0; j < kLanes; ++j) store(reinterpret_cast<float*>(to + j * kPairsRow), square[j]);
      }
    }
  }
}

template <class T>
void panel_from_columns(const T* w, i64 rows, i64 columns, i64 first_column, u16* u, i64 place_stride) {
  for (i64 row = 0; row < rows; row += 2) {
    for (i64 column = 0; column < kPanel; column += kLanes) {
      const T* const source = w + row * 9 * columns + first_column + column;
      V first[36];
      transform<3, 6>([&](int i) { return widen(source + (8 - i) * columns); }, weight_line,
                      [&](int i, V value) { first[i] = value; });
      u16* const to = u + row * kPanel + 2 * column;
      transform<3, 6>([&](int i) { return widen(source + (17 - i) * columns); }, weight_line,
                      [&](int i, V value) { narrow_pairs(to + i * place_stride, first[i], value); });
    }
  }
}

template <class T>
void weights(const T* w, i64 rows, i64 columns, bool from_rows, i64 first, i64 last, u16* u, i64 place_stride) {
  for (i64 panel = first; panel < last; ++panel) {
    u16* const to = u + panel * kWinogradPlaces * place_stride;
    if (from_rows) {
      panel_from_rows(w, rows, panel * kPanel, to, place_stride);
    } else {
      panel_from_columns(w, rows, columns, panel * kPanel, to, place_stride);
    }
  }
}

constexpr Bfloat16WinogradLoops kLoops = {weights<u16>, weights<float>, input,         output,
                                          finish,       input_pair,     gradient_pair, filter};

}  // namespace

namespace v4_bf16 {
const Bfloat16WinogradLoops* bfloat16_winograd_loops() { return &kLoops; }
}  // namespace v4_bf16

}  // namespace kusari::cpu
