#pragma once

#include "kusari/framework/cpu/isa/packed_convolution.h"
#include "kusari/framework/cpu/isa/simd.h"

// Included only by the sources beside it, each of which has its own copy.
namespace kusari::cpu {
namespace {

/// The bits that kernels::Relu and kernels::ClippedRelu give. NaN stays.
[[gnu::always_inline]] inline Vector<float> cut_result(Vector<float> x, ResultCut cut, Vector<float> limit) {
  const Vector<float> zero = {};
  if (cut == ResultCut::none) return x;
  if (cut == ResultCut::below_zero) return x < zero ? zero : x;
  const Vector<float> y = (zero > x ? zero : x) + zero;  // the sum makes -0 the 0 that a maximum gives
  return limit < y ? limit : y;
}
inline float cut_result(float x, ResultCut cut, float limit) {
  if (cut == ResultCut::none) return x;
  if (cut == ResultCut::below_zero) return x < 0 ? 0.0f : x;
  const float y = (0.0f > x ? 0.0f : x) + 0.0f;
  return limit < y ? limit : y;
}

}  // namespace
}  // namespace kusari::cpu
