#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Which axes tensordot sums over: a number, the last ones of a and the first ones of b in order; or pairs of axes,
/// TensordotAxes({0, 2}, {1, 0}): axis 0 of a with axis 1 of b, and axis 2 of a with axis 0 of b.
struct TensordotAxes {
  /// Throws ValueError for a negative number.
  KUSARI_API TensordotAxes(int64_t number);
  TensordotAxes(std::vector<int64_t> a_axes, std::vector<int64_t> b_axes)
      : count{-1}, a{std::move(a_axes)}, b{std::move(b_axes)} {}

  int64_t count;  ///< negative: the pairs
  std::vector<int64_t> a, b;
};

/// Product of two arrays, summed over axes of both; the result has the other axes of a, then those of b.
/// a, b: floating. axes: negative ones count from the end. Returns NumPy's promotion of their dtypes; half types are
/// summed in float32. Throws TypeError when the sizes of two axes differ or an array is not floating, IndexError for an
/// axis out of range, ValueError when axes repeat, do not come in pairs or are more than an array has. Differentiable
/// to any order. chainer.functions.tensordot.
KUSARI_API Variable tensordot(const Variable& a, const Variable& b, const TensordotAxes& axes = 2);

}  // namespace kusari::functions
