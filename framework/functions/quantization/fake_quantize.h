#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

struct FakeQuantizeOptions {
  Array zero_point = {};  ///< the integer of dtype that stands for 0, of scale's shape; default: 0
  std::optional<int64_t> axis =
      std::nullopt;           ///< of x, that scale has a number for each place of; default: one for all
  Dtype dtype = Dtype::int8;  ///< int8: -128 to 127; uint8: 0 to 255
  bool narrow_range = false;  ///< without the least integer: -127 to 127, 1 to 255
};

/// What is left of x when it is stored in 8 bits: y = (clip(round(x / scale) + zero_point, low, high) - zero_point) *
/// scale, where halves round to the even integer: ONNX's QuantizeLinear and DequantizeLinear.
/// x: any shape, floating. scale: without axes, or (x.shape[axis],) when options.axis is given; floating, its numbers
/// positive, which is not checked. zero_point: integers of scale's shape. Returns y like x.
/// Throws TypeError for other dtypes and shapes, ValueError when options.dtype is neither int8 nor uint8 and for a zero
/// point in the host's memory that options.dtype does not hold, IndexError for an axis that x lacks. Differentiable in
/// x to any order, straight through: the gradient is that of y where x is not cut off, else 0. Scale and zero point get
/// none. Jacob et al. 2018 (Chainer has none).
KUSARI_API Variable fake_quantize(const Variable& x, const Array& scale, const FakeQuantizeOptions& options = {});

}  // namespace kusari::functions
