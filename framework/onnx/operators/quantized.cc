#include "kusari/framework/onnx/operators/quantized.h"

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/repeat.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/maximum.h"
#include "kusari/framework/functions/math/minimum.h"
#include "kusari/framework/functions/math/minmax.h"
#include "kusari/framework/functions/math/rounding.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/onnx/operators/common.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

/// The numbers of a quantized type.
struct Range {
  double least, most;
};

Range range_of(DataType type) {
  switch (type) {
    case DataType::int8:
      return {-128, 127};
    case DataType::uint16:
      return {0, 65535};
    case DataType::int16:
      return {-32768, 32767};
    case DataType::uint4:
      return {0, 15};
    case DataType::int4:
      return {-8, 7};
    case DataType::uint2:
      return {0, 3};
    case DataType::int2:
      return {-2, 1};
    case DataType::int32:
      return {-2147483648.0, 2147483647.0};
    default:
      return {0, 255};
  }
}

/// Whether one kernel of float32 numbers does: nobody asks for gradients, which integers do not pass on to x, but a
/// scale may want.
bool is_one_kernel(const Variable& x, const Variable& scale, Dtype q) {
  return !config().enable_backprop && x.dtype() == Dtype::float32 && scale.dtype() == Dtype::float32 &&
         (q == Dtype::uint8 || q == Dtype::int8);
}
Array zero_or_none(const Variable& zero, const Array& x) {
  return zero.is_defined() ? zero.array() : zeros({}, Dtype::float32, x.device());
}

}  // namespace

Variable beside(const Variable& p, const Variable& x, int64_t axis, int64_t block) {
  if (!p.is_defined()) return p;
  if (p.size() == 1) return F::reshape(p, {});
  const int at = normalize_axis(axis, x.ndim(), "axis");
  if (block > 0) {
    if (p.ndim() != x.ndim()) {
      throw TypeError("a scale has shape " + kusari::to_string(p.shape()) + ", x " + kusari::to_string(x.shape()) +
                      ": both must have as many axes");
    }
    Variable wide = F::repeat(p, block, at);
    // The last block may be shorter.
    const int64_t missing = p.shape()[at] * block - x.shape()[at];
    if (missing > 0 && missing < block) wide = F::split_axis(wide, {x.shape()[at]}, at)[0];
    if (wide.shape() == x.shape()) return wide;
    throw TypeError("a scale has shape " + kusari::to_string(p.shape()) + ", x " + kusari::to_string(x.shape()) +
                    ": there must be one for each block of " + std::to_string(block));
  }
  if (p.ndim() == x.ndim() && p.ndim() > 1) return p;
  if (p.size() != x.shape()[at]) {
    throw TypeError("a scale or zero point has shape " + kusari::to_string(p.shape()) + ", x " +
                    kusari::to_string(x.shape()) + ": there must be one number, or one for each place of axis " +
                    std::to_string(at));
  }
  Shape shape = Shape::filled(x.ndim(), 1);
  shape[at] = p.size();
  return F::reshape(p, shape);
}

Variable quantized(const Variable& x, const Variable& scale, const Variable& zero, DataType type) {
  const Dtype stored = *dtype_for(type);
  if (is_one_kernel(x, scale, stored)) {
    const kernels::Quantize op = {range_of(type).least, range_of(type).most};
    return Variable(pointwise_as(stored, op, x.array(), scale.array(), zero_or_none(zero, x.array())), false);
  }
  const Dtype wide = promote(x.dtype(), Dtype::float32);
  Variable q = F::round(F::cast(x, wide) / F::cast(scale, wide));
  if (zero.is_defined()) q = q + F::cast(zero, wide);
  const Range range = range_of(type);
  return F::cast(F::clip(q, range.least, range.most), stored);
}

Variable dequantized(const Variable& q, const Variable& scale, const Variable& zero) {
  if (is_one_kernel(scale, scale, q.dtype())) {
    return Variable(
        pointwise_as(Dtype::float32, kernels::Dequantize{}, q.array(), scale.array(), zero_or_none(zero, q.array())),
        false);
  }
  const Dtype wide = promote(scale.dtype(), Dtype::float32);
  Variable x = F::cast(q, wide);
  if (zero.is_defined()) x = x - F::cast(zero, wide);
  return x * F::cast(scale, wide);
}

Variable dequantized_columns(const Variable& q, const Variable& scale, const Variable& zero) {
  const Variable rows(F::transpose(q).array().contiguous(), false);
  const auto by_row = [&](const Variable& p) {
    return beside(p.is_defined() ? F::reshape(p, {p.size()}) : p, rows, 0);
  };
  return dequantized(rows, by_row(scale), by_row(zero));
}

DataType type_of_zero(const Call& call, size_t i) { return call.has(i) ? type_of(call.dtype(i)) : DataType::uint8; }

QuantizedArray dynamically_quantized(const Variable& x) {
  const Variable none = number_like(x, 0);
  const Variable least = F::minimum(F::min(x), none), range = F::maximum(F::max(x), none) - least;
  // Zeros alone have a scale as well.
  const Variable is_empty((range.array() == 0).astype(x.dtype()), false);
  const Variable scale = (range + is_empty * 255) / 255;
  const Variable zero = F::cast(F::clip(F::round(-least / scale), 0.0, 255.0), Dtype::uint8);
  return {quantized(x, scale, zero, DataType::uint8), scale, zero};
}

Variable rounded_to_8_bits(const Variable& x) {
  const QuantizedArray rounded = dynamically_quantized(x);
  return F::cast(dequantized(rounded.q, rounded.scale, rounded.zero), x.dtype());
}

}  // namespace kusari::onnx
