#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/onnx/operators/channels_last.h"
#include "kusari/framework/onnx/operators/families.h"
#include "kusari/framework/onnx/operators/quantized.h"

// Operators of 8-bit integers that ONNX Runtime's quantizer and optimizer leave in files.
namespace kusari::onnx {

namespace F = functions;

namespace {

/// A number for a whole array: 0 axes, or undefined.
Variable whole(const Call& call, size_t i) { return call.has(i) ? F::reshape(call[i], {}) : Variable(); }

/// What input x stands for: its scale and zero point are the inputs behind it.
Variable real(const Call& call, size_t x) { return dequantized(call[x], whole(call, x + 1), whole(call, x + 2)); }

/// y in the integers whose scale and zero point are the inputs from `scale` on.
Value integers(const Call& call, const Variable& y, size_t scale, DataType type) {
  return quantized(y, whole(call, scale), whole(call, scale + 1), type);
}

/// An operation of ONNX's of the real numbers that x stands for: inputs x, its scale and zero point, those of y.
Operation of_real_numbers(const Operation& operation) {
  return [operation](const Call& call) -> Values {
    const Values x{call.inner(real(call, 0))};
    const Values y = operation(call.with(x));
    return {integers(call, call.with(y)[0], 3, type_of(call.dtype(0)))};
  };
}

Operation unary_of_integers(const char* name, const NodeReader& node, bool has_layouts = false) {
  node.expect_inputs(4);
  if (has_layouts && node.flag("channels_last", false)) {
    return on_channels_last(of_real_numbers(onnx_operation(name, node)), {0});
  }
  return of_real_numbers(onnx_operation(name, node));
}

Operation qlinear_softmax(const NodeReader& node) {
  node.expect_inputs(4);
  // Without an axis it is the last one in every version, as it is in ONNX from 13 on.
  const int64_t opset = node.integer("opset");
  return of_real_numbers(find_operator("", "Softmax")->build(node.as_of(node.has("axis") ? opset : 13)));
}

/// EmbedLayerNormalization of the tables and vectors that inputs 2 to 6 stand for: their scales are inputs 8 to 12,
/// their zero points the five behind.
Operation qembed_layer_normalization(const NodeReader& node) {
  node.expect_inputs(18);
  const Operation embed = find_operator("com.microsoft", "EmbedLayerNormalization")->build(node);
  return [embed](const Call& call) -> Values {
    Values inputs{call.value(0), call.value(1)};
    for (size_t i = 2; i <= 6; ++i) {
      if (call.has(i)) {
        inputs.push_back(call.inner(dequantized(call[i], whole(call, i + 6), whole(call, i + 11))));
      } else {
        inputs.emplace_back();
      }
    }
    inputs.push_back(call.value(7));
    return embed(call.with(inputs));
  };
}

template <class Both>
Operation binary_of_integers(const NodeReader& node, Both both) {
  node.expect_inputs(7);
  return [both](const Call& call) -> Values {
    return {integers(call, both(real(call, 0), real(call, 3)), 6, type_of(call.dtype(0)))};
  };
}

Operation qlinear_concat(const NodeReader& node) {
  node.expect_inputs(5);
  const int64_t axis = node.integer("axis");
  if (node.input_count() % 3 != 2) {
    throw ValueError("it has " + std::to_string(node.input_count()) +
                     " inputs: there must be two, and three for each array");
  }
  return [axis](const Call& call) -> Values {
    Variables parts;
    for (size_t i = 2; i < call.size(); i += 3) parts.push_back(real(call, i));
    return {integers(call, F::concat(std::span<const Variable>(parts), axis), 0, type_of_zero(call, 1))};
  };
}

Operation qlinear_where(const NodeReader& node) {
  node.expect_inputs(9);
  return [](const Call& call) -> Values {
    return {integers(call, F::where(call[0], real(call, 1), real(call, 4)), 7, type_of(call.dtype(1)))};
  };
}

/// x w + the bias of input `bias`, where it is given. w: the integers of input `w`, the inputs `scale` and `zero` one
/// for all or one for each column.
struct IntegerMatrix {
  size_t w, scale, zero, bias;
};
Variable product(const Call& call, const Variable& x, const IntegerMatrix& m) {
  const Variable q = call[m.w], scale = call[m.scale], zero = call[m.zero], bias = call[m.bias];
  if (q.ndim() == 2) {
    return F::linear(x, dequantized_columns(q, scale, zero), bias, {.n_batch_axes = x.ndim() - 1});
  }
  const Variable y = F::matmul(x, dequantized(q, beside(scale, q, -1), beside(zero, q, -1)));
  return bias.is_defined() ? y + bias : y;
}

Operation dynamic_quantize_matmul(const NodeReader& node) {
  node.expect_inputs(3);
  return [](const Call& call) -> Values {
    return {product(call, rounded_to_8_bits(call[0]), {.w = 1, .scale = 2, .zero = 3, .bias = 4})};
  };
}

Operation matmul_integer_to_float(const NodeReader& node) {
  node.expect_inputs(4);
  return [](const Call& call) -> Values {
    const Variable a = call[0];
    const Variable x = dequantized(a, beside(call[2], a, -1), beside(call[4], a, -1));
    return {product(call, x, {.w = 1, .scale = 3, .zero = 5, .bias = 6})};
  };
}

Operation qgemm(const NodeReader& node) {
  node.expect_inputs(6);
  const double alpha = node.real("alpha", 1);
  const bool transa = node.flag("transA", false), transb = node.flag("transB", false);
  return [=](const Call& call) -> Values {
    if (call.ndim(0) != 2 || call.ndim(3) != 2) {
      throw TypeError("A has shape " + kusari::to_string(call.shape(0)) + ", B " + kusari::to_string(call.shape(3)) +
                      ": both must have 2 axes");
    }
    const Variable q = call[3];
    const int64_t out = transb ? 0 : 1;  // the axis of B that scales are for
    const Variable w = dequantized(q, beside(call[4], q, out), beside(call[5], q, out));
    const Variable a = real(call, 0);
    Variable y = F::linear(transa ? F::transpose(a) : a, transb ? w : F::transpose(w));
    // C has the scale of the products.
    if (call.has(6)) y = y + F::cast(call[6], y.dtype()) * (whole(call, 1) * call[4]);
    if (alpha != 1) y = y * alpha;
    return {call.has(7) ? integers(call, y, 7, call.has(8) ? type_of(call.dtype(8)) : type_of(call.dtype(0))) : y};
  };
}

}  // namespace

std::span<const Operator> microsoft_quantization_operators() {
  static constexpr Operator kOperators[] = {
      {"QLinearSigmoid", [](const NodeReader& node) { return unary_of_integers("Sigmoid", node); }},
      {"QLinearLeakyRelu", [](const NodeReader& node) { return unary_of_integers("LeakyRelu", node); }},
      {"QLinearAveragePool", [](const NodeReader& node) { return unary_of_integers("AveragePool", node, true); }},
      {"QLinearGlobalAveragePool",
       [](const NodeReader& node) { return unary_of_integers("GlobalAveragePool", node, true); }},
      {"QLinearReduceMean", [](const NodeReader& node) { return unary_of_integers("ReduceMean", node); }},
      {"QLinearSoftmax", qlinear_softmax},
      {"QEmbedLayerNormalization", qembed_layer_normalization},
      {"QLinearAdd",
       [](const NodeReader& node) {
         return binary_of_integers(node, [](const Variable& a, const Variable& b) { return a + b; });
       }},
      {"QLinearMul",
       [](const NodeReader& node) {
         return binary_of_integers(node, [](const Variable& a, const Variable& b) { return a * b; });
       }},
      {"QLinearConcat", qlinear_concat},
      {"QLinearWhere", qlinear_where},
      {"QLinearConv",
       [](const NodeReader& node) {
         const Operation operation = onnx_operation("QLinearConv", node);
         return node.flag("channels_last", false) ? on_channels_last(operation, {0}) : operation;
       }},
      {"DynamicQuantizeMatMul", dynamic_quantize_matmul},
      {"MatMulIntegerToFloat", matmul_integer_to_float},
      {"QGemm", qgemm},
  };
  return kOperators;
}

}  // namespace kusari::onnx
