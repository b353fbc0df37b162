#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/convolution.h"
#include "kusari/framework/onnx/operators/families.h"
#include "kusari/framework/onnx/operators/quantized.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

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
    const Variable zero = beside(call[2], x, axis, block);
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
    const Variable zero = beside(call[2], q, axis, block);
    return {F::cast(dequantized(q, beside(call[1], q, axis, block), zero), dtype_for(written).value_or(call.dtype(1)))};
  };
}

Operation dynamic_quantize_linear(const NodeReader&) {
  return [](const Call& call) -> Values {
    const QuantizedArray y = dynamically_quantized(call[0]);
    return {y.q, y.scale, y.zero};
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
    if (call.has(3)) w = w - beside(exact(call[3]), w, 0);
    return {F::cast(convolve(x, w, Variable(), attributes, groups), Dtype::int32)};
  };
}

Operation qlinear_conv(const NodeReader& node) {
  node.expect_inputs(8);
  return [attributes = WindowAttributes(node), groups = node.integer("group", 1)](const Call& call) -> Values {
    const Variable x = dequantized(call[0], F::reshape(call[1], {}), F::reshape(call[2], {}));
    const Variable w = dequantized(call[3], beside(call[4], call[3], 0), beside(call[5], call[3], 0));
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
