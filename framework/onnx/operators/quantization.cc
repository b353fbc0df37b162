#include <algorithm>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/convolution.h"
#include "kusari/framework/onnx/operators/families.h"
#include "kusari/framework/onnx/operators/quantized.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

/// Whether it is one negative number that the host knows.
bool is_negative(const Call& call, size_t i) {
  const Value& value = call.value(i);
  return value.is_on_host() && value.host.size() == 1 && call.reals(i)[0] < 0;
}

Operation quantize_linear(const NodeReader& node) {
  node.expect_inputs(2);
  const int64_t axis = node.integer("axis", 1), block = node.integer("block_size", 0);
  const DataType written = node.data_type("output_dtype", DataType::undefined);
  const DataType declared = node.input_type(2);
  const DataType known = written != DataType::undefined ? written : declared;
  if (known != DataType::undefined && !dtype_for(known))
    throw ValueError("its type is " + to_string(known) + ", of which Kusari has no dtype");
  return [=](const Call& call) -> Values {
    const Variable x = call[0], scale = beside(call[1], x, axis, block), zero = beside(call[2], x, axis, block);
    const DataType type = known != DataType::undefined ? known : type_of_zero(call, 2);
    // The same quotients: passes of sessions take the scale for positive.
    if (is_negative(call, 1) && is_floating(x.dtype())) return {quantized(-x, -scale, zero, type)};
    return {quantized(x, scale, zero, type)};
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

/// The largest |q - zero point| that input `q` may have.
int64_t largest(const Call& call, size_t q, size_t zero) {
  const int64_t low = call.dtype(q) == Dtype::int8 ? -128 : 0, high = low + 255;
  if (!call.has(zero)) return std::max(-low, high);
  if (!call.value(zero).is_on_host()) return 255;
  int64_t most = 1;
  for (const int64_t z : call.integers(zero)) most = std::max({most, z - low, high - z});
  return most;
}

/// How many products of the integers of two inputs float32 adds up exactly. Sums of so many are worked out in float32,
/// with scales of 1: a session makes products of integers of them.
int64_t exact_terms(const Call& call, size_t a, size_t a_zero, size_t b, size_t b_zero) {
  return ((int64_t{1} << 24) - 1) / (largest(call, a, a_zero) * largest(call, b, b_zero));
}
Variable unit_scale(const Device& device) {
  return Variable(host_constant([&] { return full({}, 1, Dtype::float32, device); }), false);
}

/// Elements first, first + 1, ... of an axis, dense.
Variable part_of(const Variable& x, int axis, int64_t first, int64_t count) {
  const int64_t length = x.shape()[axis], left = std::min(count, length - first);
  return left == length ? x : Variable(x.array().slice(axis, first, left).contiguous(), false);
}

/// A scale or a zero point of a product's first factor or its result: one number, or one for each row.
Variable by_row(const Variable& p) {
  if (!p.is_defined()) return p;
  if (p.size() == 1) return F::reshape(p, {});
  return p.ndim() == 1 ? F::reshape(p, {p.size(), 1}) : p;
}

Operation matmul_integer(const NodeReader&) {
  return [](const Call& call) -> Values {
    const Variable a = call[0], b = call[1], one = unit_scale(call.device());
    const Variable a_zero = by_row(call[2]), b_zero = call[3];
    if (a.ndim() < 2 || b.ndim() != 2 || a.shape()[a.ndim() - 1] != b.shape()[0]) {
      const auto centered = [](const Variable& q, const Variable& zero) {
        const Variable wide = F::cast(q, Dtype::int32);
        return zero.is_defined() ? wide - F::cast(zero, Dtype::int32) : wide;
      };
      return {F::matmul(centered(a, a_zero), centered(b, beside(b_zero, b, -1)))};
    }
    const int64_t terms = exact_terms(call, 0, 2, 1, 3), last = b.shape()[0];
    Variable sum;
    for (int64_t k = 0; k < std::max<int64_t>(last, 1); k += terms) {
      const Variable x = dequantized(part_of(a, a.ndim() - 1, k, terms), one, a_zero);
      const Variable w = dequantized_columns(part_of(b, 0, k, terms), one, b_zero);
      const Variable y = F::cast(F::linear(x, w, Variable(), {.n_batch_axes = a.ndim() - 1}), Dtype::int32);
      sum = k == 0 ? y : sum + y;
    }
    return {sum};
  };
}

Operation qlinear_matmul(const NodeReader& node) {
  node.expect_inputs(8);
  return [](const Call& call) -> Values {
    const Variable a = dequantized(call[0], by_row(call[1]), by_row(call[2]));
    const Variable b = dequantized(call[3], call[4], call[5]);
    return {quantized(F::matmul(a, b), by_row(call[6]), by_row(call[7]), type_of_zero(call, 7))};
  };
}

Operation conv_integer(const NodeReader& node) {
  node.expect_inputs(2);
  return [attributes = WindowAttributes(node), groups = node.integer("group", 1)](const Call& call) -> Values {
    const Variable x = call[0], w = call[1];
    const Variable x_zero = call.has(2) ? F::reshape(call[2], {}) : Variable(), w_zero = beside(call[3], w, 0);
    expect_axes(x, 3, "x");
    if (w.ndim() != x.ndim() || w.size() == 0) {
      throw TypeError("x has shape " + kusari::to_string(x.shape()) + ", w " + kusari::to_string(w.shape()) +
                      ": both must have as many axes, and w elements");
    }
    const int64_t channels = w.shape()[1], taps = w.size() / (w.shape()[0] * channels);
    const int64_t terms = exact_terms(call, 0, 2, 1, 3);
    // Where float32 does not do, float64 is exact up to 2^53.
    const bool is_narrow = taps <= terms && (groups == 1 || taps * channels <= terms);
    const Variable one = F::cast(unit_scale(call.device()), is_narrow ? Dtype::float32 : Dtype::float64);
    const bool is_split = is_narrow && groups == 1 && x.shape()[1] == channels;
    const int64_t step = is_split ? std::min(terms / taps, channels) : channels;
    Variable sum;
    for (int64_t c = 0; c < channels; c += step) {
      const Variable part = step < channels ? part_of(x, 1, c, step) : x;
      const Variable y =
          F::cast(convolve(dequantized(part, one, x_zero), dequantized(part_of(w, 1, c, step), one, w_zero), Variable(),
                           attributes, groups),
                  Dtype::int32);
      sum = c == 0 ? y : sum + y;
    }
    return {sum};
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
