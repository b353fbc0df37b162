#include "kusari/framework/cpu/isa/winograd.h"

#include "kusari/framework/cpu/isa/gemm_block.h"

namespace kusari::cpu {
namespace {

using V = Vector<float>;
constexpr i64 kLanes = Simd<float>::kLanes;
constexpr i64 kPanel = kWinogradChannels;
constexpr i64 kPanelVectors = kPanel / kLanes;
constexpr i64 kDepth = 256;  // rows of a panel of weights that stay in the first-level cache

// The points of the interpolation are 0, +-kA, +-kB and infinity. These have the smallest errors of those tried, a
// third of what 1 and 2 of the textbook give.
constexpr float kA2 = 0.5f, kB2 = 2, kA = 0.707106781f, kB = 1.414213562f;
constexpr float kA3 = kA2 * kA, kB3 = kB2 * kB, kBoth = kA2 * kB2;

[[gnu::always_inline]] inline V spread(float x) { return x - V{}; }
// factor * x + sum, rounded once.
[[gnu::always_inline]] inline V fused(float factor, V x, V sum) { return multiply_add<float>(spread(factor), x, sum); }

// One dimension of each transformation, on values `step` apart.
[[gnu::always_inline]] inline void input_line(const V* d, i64 step, V* v, i64 to_step) {
  const V d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step], d5 = d[5 * step];
  const V even_a = fused(-kB2, d2, d4), odd_a = fused(-kB2, d1, d3);
  const V even_b = fused(-kA2, d2, d4), odd_b = fused(-kA2, d1, d3);
  v[0] = fused(kBoth, d0, fused(-(kA2 + kB2), d2, d4));
  v[to_step] = fused(kA, odd_a, even_a);
  v[2 * to_step] = fused(-kA, odd_a, even_a);
  v[3 * to_step] = fused(kB, odd_b, even_b);
  v[4 * to_step] = fused(-kB, odd_b, even_b);
  v[5 * to_step] = fused(kBoth, d1, fused(-(kA2 + kB2), d3, d5));
}

[[gnu::always_inline]] inline void output_line(const V* m, i64 step, V* y, i64 to_step) {
  const V sum_a = m[step] + m[2 * step], difference_a = m[step] - m[2 * step];
  const V sum_b = m[3 * step] + m[4 * step], difference_b = m[3 * step] - m[4 * step];
  y[0] = m[0] + sum_a + sum_b;
  y[to_step] = fused(kB, difference_b, kA * difference_a);
  y[2 * to_step] = fused(kB2, sum_b, kA2 * sum_a);
  y[3 * to_step] = fused(kB3, difference_b, fused(kA3, difference_a, m[5 * step]));
}

[[gnu::always_inline]] inline void gradient_line(const V* g, i64 step, V* n, i64 to_step) {
  const V even_a = fused(kA2, g[2 * step], g[0]), odd_a = fused(kA2, g[3 * step], g[step]);
  const V even_b = fused(kB2, g[2 * step], g[0]), odd_b = fused(kB2, g[3 * step], g[step]);
  n[0] = g[0];
  n[to_step] = fused(kA, odd_a, even_a);
  n[2 * to_step] = fused(-kA, odd_a, even_a);
  n[3 * to_step] = fused(kB, odd_b, even_b);
  n[4 * to_step] = fused(-kB, odd_b, even_b);
  n[5 * to_step] = g[3 * step];
}

constexpr float kFactor0 = 1 / kBoth;
constexpr float kFactorA = 1 / (2 * kA2 * (kA2 - kB2)), kFactorB = 1 / (2 * kB2 * (kB2 - kA2));

[[gnu::always_inline]] inline void weight_line(const V* w, i64 step, V* u, i64 to_step) {
  const V even_a = kFactorA * fused(kA2, w[2 * step], w[0]), odd_a = kFactorA * w[step];
  const V even_b = kFactorB * fused(kB2, w[2 * step], w[0]), odd_b = kFactorB * w[step];
  u[0] = kFactor0 * w[0];
  u[to_step] = fused(kA, odd_a, even_a);
  u[2 * to_step] = fused(-kA, odd_a, even_a);
  u[3 * to_step] = fused(kB, odd_b, even_b);
  u[4 * to_step] = fused(-kB, odd_b, even_b);
  u[5 * to_step] = w[2 * step];
}

[[gnu::always_inline]] inline void filter_line(const V* u, i64 step, V* w, i64 to_step) {
  const V sum_a = kFactorA * (u[step] + u[2 * step]), difference_a = kFactorA * (u[step] - u[2 * step]);
  const V sum_b = kFactorB * (u[3 * step] + u[4 * step]), difference_b = kFactorB * (u[3 * step] - u[4 * step]);
  w[0] = fused(kFactor0, u[0], sum_a + sum_b);
  w[to_step] = fused(kB, difference_b, kA * difference_a);
  w[2 * to_step] = fused(kA2, sum_a, fused(kB2, sum_b, u[5 * step]));
}

// Columns first, then rows: kFrom x kFrom values become kTo x kTo.
template <int kFrom, int kTo, class Line>
[[gnu::always_inline]] inline void transform(const V* from, V* to, Line line) {
  V between[kTo * kFrom];
  for (int j = 0; j < kFrom; ++j) line(from + j, kFrom, between + j, kFrom);
  for (int i = 0; i < kTo; ++i) line(between + i * kFrom, 1, to + i * kTo, 1);
}

void input(const float* const* d, i64 channels, float* v, i64 place_stride) {
  for (i64 c = 0; c < channels; c += kLanes) {
    V from[36], to[36];
    for (int i = 0; i < 36; ++i) from[i] = load(d[i] + c);
    transform<6, 6>(from, to, input_line);
    for (int i = 0; i < 36; ++i) store(v + i * place_stride + c, to[i]);
  }
}

void output(const float* m, i64 place_stride, i64 channels, const float* bias, float* const* y) {
  for (i64 c = 0; c < channels; c += kLanes) {
    V from[36], to[16];
    for (int i = 0; i < 36; ++i) from[i] = load(m + i * place_stride + c);
    transform<6, 4>(from, to, output_line);
    const V offset = bias != nullptr ? load(bias + c) : V{};
    for (int i = 0; i < 16; ++i) {
      if (y[i] != nullptr) store(y[i] + c, to[i] + offset);
    }
  }
}

void gradient(const float* const* g, i64 channels, float* n, i64 place_stride) {
  for (i64 c = 0; c < channels; c += kLanes) {
    V from[16], to[36];
    for (int i = 0; i < 16; ++i) from[i] = load(g[i] + c);
    transform<4, 6>(from, to, gradient_line);
    for (int i = 0; i < 36; ++i) store(n + i * place_stride + c, to[i]);
  }
}

void filter(const float* u, i64 place_stride, i64 channels, float* w, i64 tap_stride) {
  for (i64 c = 0; c < channels; c += kLanes) {
    V from[36], to[9];
    for (int i = 0; i < 36; ++i) from[i] = load(u + i * place_stride + c);
    transform<6, 3>(from, to, filter_line);
    for (int i = 0; i < 9; ++i) store(w + i * tap_stride + c, to[i]);
  }
}

// Weights whose rows are contiguous: transformed along the rows, then turned in squares of vectors.
void panel_from_rows(const float* w, i64 rows, i64 first_column, float* u, i64 place_stride) {
  alignas(64) float transformed[36][kLanes][kLanes];
  for (i64 row = 0; row < rows; row += kLanes) {
    for (i64 part = 0; part < kPanelVectors; ++part) {
      for (i64 j = 0; j < kLanes; ++j) {
        const float* const source = w + (first_column + part * kLanes + j) * 9 * rows + row;
        V taps[9], to[36];
        for (int i = 0; i < 9; ++i) taps[i] = load(source + i * rows);
        transform<3, 6>(taps, to, weight_line);
        for (int i = 0; i < 36; ++i) store(transformed[i][j], to[i]);
      }
      for (int i = 0; i < 36; ++i) {
        V square[kLanes], other[kLanes];
        for (i64 j = 0; j < kLanes; ++j) square[j] = load(transformed[i][j]);
        for (i64 width = 1; width < kLanes; width *= 2) {
          shuffle_square<float>(square, other);
          for (i64 j = 0; j < kLanes; ++j) square[j] = other[j];
        }
        for (i64 j = 0; j < kLanes; ++j) store(u + i * place_stride + (row + j) * kPanel + part * kLanes, square[j]);
      }
    }
  }
}

void panel_from_columns(const float* w, i64 rows, i64 columns, i64 first_column, float* u, i64 place_stride) {
  for (i64 row = 0; row < rows; ++row) {
    const float* const source = w + row * 9 * columns + first_column;
    for (i64 part = 0; part < kPanelVectors; ++part) {
      V taps[9], to[36];
      for (int i = 0; i < 9; ++i) taps[i] = load(source + (8 - i) * columns + part * kLanes);
      transform<3, 6>(taps, to, weight_line);
      for (int i = 0; i < 36; ++i) store(u + i * place_stride + row * kPanel + part * kLanes, to[i]);
    }
  }
}

void weights(const float* w, i64 rows, i64 columns, bool from_rows, i64 first, i64 last, float* u) {
  for (i64 panel = first; panel < last; ++panel) {
    float* const to = u + panel * rows * kPanel;
    if (from_rows) {
      panel_from_rows(w, rows, panel * kPanel, to, rows * columns);
    } else {
      panel_from_columns(w, rows, columns, panel * kPanel, to, rows * columns);
    }
  }
}

void multiply_panel(const float* v, i64 v_stride, i64 tiles, i64 rows, const float* u, float* m, i64 m_stride) {
  for (i64 depth = 0; depth < rows; depth += kDepth) {
    for (i64 column = 0; column < kPanel; column += kBlockVectors * kLanes) {
      Block<float> block;
      block.depth = rows - depth < kDepth ? rows - depth : kDepth;
      block.a = v + depth;
      block.a_row = v_stride;
      block.a_column = 1;
      block.b = u + depth * kPanel + column;
      block.b_row = kPanel;
      block.c = m + column;
      block.c_row = m_stride;
      block.columns = kPanel;
      block.accumulate = depth > 0;
      block.bias = nullptr;
      multiply_rows<float, kBlockVectors, true>(block, tiles);
    }
  }
}

void accumulate(const float* n, i64 n_stride, i64 outs, const float* v, i64 v_stride, i64 ins, i64 tiles, float* sum,
                i64 sum_stride, bool add) {
  for (i64 column = 0; column < ins; column += kBlockVectors * kLanes) {
    Block<float> block;
    block.depth = tiles;
    block.a = n;
    block.a_row = 1;
    block.a_column = n_stride;
    block.b = v + column;
    block.b_row = v_stride;
    block.c = sum + column;
    block.c_row = sum_stride;
    block.columns = kBlockVectors * kLanes;
    block.accumulate = add;
    block.bias = nullptr;
    multiply_rows<float, kBlockVectors, false>(block, outs);
  }
}

constexpr WinogradLoops kLoops = {weights, input, output, gradient, filter, multiply_panel, accumulate};

}  // namespace

namespace KUSARI_ISA {
const WinogradLoops* winograd_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
