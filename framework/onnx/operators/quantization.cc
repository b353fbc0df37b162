#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/repeat.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/maximum.h"
#include "kusari/framework/functions/math/minimum.h"
#include "kusari/framework/functions/math/minmax.h"
#include "kusari/framework/functions/math/rounding.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/convolution.h"
#include "kusari/framework/onnx/operators/families.h"

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

/// A scale or a zero point beside x: one number, one for each place of an axis, or one for each block along it.
Variable beside(const Variable& p, const Variable& x, int64_t axis, int64_t block) {
  if (p.size() == 1) return F::reshape(p, {});
  const int at = normalize_axis(axis, x.ndim(), "axis");
  if (block > 0) {
    if (p.ndim() != x.ndim())
      throw TypeError("a scale has shape " + kusari::to_string(p.shape()) + ", x " + kusari::to_string(x.shape()) +
                      ": both must have as many axes");
    const Variable wide = F::repeat(p, block, at);
    if (wide.shape() == x.shape()) return wide;
    throw TypeError("a scale has shape " + kusari::to_string(p.shape()) + ", x " + kusari::to_string(x.shape()) +
                    ", which blocks of " + std::to_string(block) + " do not divide");
  }
  if (p.ndim() == x.ndim()) return p;
  Shape shape = Shape::filled(x.ndim(), 1);
  shape[at] = p.size();
  return F::reshape(p, shape);
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

/// round(x / scale) + zero point, cut at the type's range.
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

/// The type of a zero point of which only the dtype is left.
DataType type_of_zero(const Call& call, size_t i) { return call.has(i) ? type_of(call.dtype(i)) : DataType::uint8; }

Operation quantize_linear(const NodeReader& node) {
  node.expect_inputs(2);
  const int64_t axis = node.integer("axis", 1), block = node.integer("block_size", 0);
  const DataType written = node.data_type("output_dtype", DataType::undefined);
  const DataType declared = node.input_type(2);
  const DataType known = written != DataType::undefined ? written : declared;
  if (known != DataType::undefined && !dtype_for(known))
    throw ValueError("its type is " + to_string(known) + ", of which Kusari has no dtype");
  return [=](const Call& call) -> Values {
    const Variable x = call[0];
    const Variable zero = call.has(2) ? beside(call[2], x, axis, block) : Variable();
    const DataType type = known != DataType::undefined ? known : type_of_zero(call, 2);
    return {quantized(x, beside(call[1], x, axis, block), zero, type)};
  };
}

Operation dequantize_linear(const NodeReader& node) {
  node.expect_inputs(2);
  const int64_t axis = node.integer("axis", 1), block = node.integer("block_size", 0);
  const DataType written = node.wanted_type("output_dtype");
  return [=](const Call& call) -> Values {
    const Variable q = call[0];
    const Variable zero = call.has(2) ? beside(call[2], q, axis, block) : Variable();
    return {F::cast(dequantized(q, beside(call[1], q, axis, block), zero), dtype_for(written).value_or(call.dtype(1)))};
  };
}

/// uint8 over the range of x, in which 0 is a number.
Operation dynamic_quantize_linear(const NodeReader&) {
  return [](const Call& call) -> Values {
    const Variable x = call[0];
    const Variable none = number_like(x, 0);
    const Variable least = F::minimum(F::min(x), none), most = F::maximum(F::max(x), none);
    const Variable scale = (most - least) / 255;
    const Variable zero = F::clip(F::round(-least / scale), 0.0, 255.0);
    return {F::cast(F::clip(F::round(x / scale) + zero, 0.0, 255.0), Dtype::uint8), scale, F::cast(zero, Dtype::uint8)};
  };
}

/// A matrix of integers whose zero point is taken off: one number, or one for each row or column.
Variable centered(const Call& call, size_t x, size_t zero, bool by_row) {
  const Variable wide = F::cast(call[x], Dtype::int32);
  if (!call.has(zero)) return wide;
  Variable offset = F::cast(call[zero], Dtype::int32);
  if (offset.size() == 1) return wide - F::reshape(offset, {});
  if (by_row && offset.ndim() == 1) offset = F::reshape(offset, {offset.size(), 1});
  return wide - offset;
}

Operation matmul_integer(const NodeReader&) {
  return
      [](const Call& call) -> Values { return {F::matmul(centered(call, 0, 2, true), centered(call, 1, 3, false))}; };
}

Operation qlinear_matmul(const NodeReader& node) {
  node.expect_inputs(8);
  return [](const Call& call) -> Values {
    const Variable a = dequantized(call[0], call[1], call[2]), b = dequantized(call[3], call[4], call[5]);
    return {quantized(F::matmul(a, b), call[6], call[7], type_of_zero(call, 7))};
  };
}

/// Integers as floating numbers, which are exact up to 2^53.
Variable exact(const Variable& x) { return F::cast(x, Dtype::float64); }

Operation conv_integer(const NodeReader& node) {
  node.expect_inputs(2);
  return [attributes = WindowAttributes(node), groups = node.integer("group", 1)](const Call& call) -> Values {
    const Variable x = call.has(2) ? exact(call[0]) - exact(F::reshape(call[2], {})) : exact(call[0]);
    Variable w = exact(call[1]);
    if (call.has(3)) w = w - beside(exact(call[3]), w, 0, 0);
    return {F::cast(convolve(x, w, Variable(), attributes, groups), Dtype::int32)};
  };
}

Operation qlinear_conv(const NodeReader& node) {
  node.expect_inputs(8);
  return [attributes = WindowAttributes(node), groups = node.integer("group", 1)](const Call& call) -> Values {
    const Variable x = dequantized(call[0], F::reshape(call[1], {}), F::reshape(call[2], {}));
    const Variable w = dequantized(call[3], beside(call[4], call[3], 0, 0), beside(call[5], call[3], 0, 0));
    Variable b;
    if (call.has(8))
      b = F::cast(call[8], x.dtype()) * F::reshape(call[1], {}) * F::broadcast_to(call[4], call.shape(8));
    const Variable y = convolve(x, w, b, attributes, groups);
    return {quantized(y, F::reshape(call[6], {}), F::reshape(call[7], {}), type_of_zero(call, 7))};
  };
}

}  // namespace

std::span<const Operator> quantization_operators() {
  static constexpr Operator kOperators[] = {
      {"QuantizeLinear", quantize_linear},
      {.name = "DequantizeLinear", .build = dequantize_linear, .stays = true},
      {"DynamicQuantizeLinear", dynamic_quantize_linear},
      {"MatMulInteger", matmul_integer},
      {"QLinearMatMul", qlinear_matmul},
      {"ConvInteger", conv_integer},
      {"QLinearConv", qlinear_conv},
  };
  return kOperators;
}

}  // namespace kusari::onnx
