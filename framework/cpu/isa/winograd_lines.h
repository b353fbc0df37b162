#pragma once

#include "kusari/framework/cpu/isa/gemm_block.h"

// The one-dimensional transformations of Winograd's F(4x4, 3x3), on vectors of channels in float. Included only by the
// sources beside it, each of which has its own copy of everything here.
namespace kusari::cpu {
namespace {

using V = Vector<float>;
constexpr i64 kLanes = Simd<float>::kLanes;

// The points of the interpolation are 0, +-kA, +-kB and infinity. These have the smallest errors of those tried, a
// third of what 1 and 2 of the textbook give.
constexpr float kA2 = 0.5f, kB2 = 2, kA = 0.707106781f, kB = 1.414213562f;
constexpr float kA3 = kA2 * kA, kB3 = kB2 * kB, kBoth = kA2 * kB2;

[[gnu::always_inline]] inline V spread(float x) { return x - V{}; }
// factor * x + sum, rounded once.
[[gnu::always_inline]] inline V fused(float factor, V x, V sum) { return multiply_add<float>(spread(factor), x, sum); }

// What results are cut at, and the cut; NaN stays.
[[gnu::always_inline]] inline V least_result(bool relu) { return spread(relu ? 0.0f : -__builtin_inff()); }
[[gnu::always_inline]] inline V at_least(V least, V x) { return x < least ? least : x; }

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

// Columns first, then rows: kFrom x kFrom values, which load(place) gives, become kTo x kTo, which store(place, value)
// takes. What is between them does not fit the registers; all else stays there.
template <int kFrom, int kTo, class Load, class Line, class Store>
[[gnu::always_inline]] inline void transform(Load load_place, Line line, Store store_place) {
  V between[kTo * kFrom];
  for (int j = 0; j < kFrom; ++j) {
    V column[kFrom];
    for (int i = 0; i < kFrom; ++i) column[i] = load_place(i * kFrom + j);
    line(column, 1, between + j, kFrom);
  }
  for (int i = 0; i < kTo; ++i) {
    V row[kTo];
    line(between + i * kFrom, 1, row, 1);
    for (int j = 0; j < kTo; ++j) store_place(i * kTo + j, row[j]);
  }
}

}  // namespace
}  // namespace kusari::cpu
