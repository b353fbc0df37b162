#pragma once

#include "kusari/framework/cpu/isa/packed_convolution.h"
#include "kusari/framework/cpu/isa/simd.h"

// Included only by the sources beside it, each of which has its own copy.
namespace kusari::cpu {
namespace {

/// Cuts some vectors of results. NaN stays.
template <int kRows, int kVectors>
[[gnu::always_inline]] inline void cut_results(const ResultRange& range, Vector<float> (&x)[kRows][kVectors]) {
  const Vector<float> zero = {};
  const auto each = [&](auto op) __attribute__((always_inline)) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) x[r][v] = op(x[r][v]);
    }
  };
  if (range.cut == ResultCut::none) return;
  if (range.cut == ResultCut::below_zero) return each([&](Vector<float> y) { return y < zero ? zero : y; });
  const Vector<float> low = range.low - zero, high = range.high - zero;
  if (range.cut == ResultCut::clip) {
    return each([&](Vector<float> y) {
      const Vector<float> above = y < low ? low : y;
      return above > high ? high : above;
    });
  }
  each([&](Vector<float> y) {
    const Vector<float> above = (zero > y ? zero : y) + zero;  // the sum makes -0 the 0 that a maximum gives
    return high < above ? high : above;
  });
}

}  // namespace
}  // namespace kusari::cpu
