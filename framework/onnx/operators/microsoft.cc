#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/gelu.h"
#include "kusari/framework/functions/activation/leaky_relu.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/normalization/layer_normalization.h"
#include "kusari/framework/functions/normalization/rms_normalization.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/convolution.h"
#include "kusari/framework/onnx/operators/families.h"

// Operators that ONNX Runtime's optimizer leaves in files (domain com.microsoft).
namespace kusari::onnx {

namespace F = functions;

namespace {

Operation gelu(F::GeluForm form) {
  return [form](const Call& call) -> Values { return {F::gelu(call.has(1) ? call[0] + call[1] : call[0], form)}; };
}

Operation fused_matmul(const NodeReader& node) {
  const double alpha = node.real("alpha", 1);
  const F::MatmulOptions options{.transa = node.flag("transA", false), .transb = node.flag("transB", false)};
  if (node.flag("transBatchA", false) || node.flag("transBatchB", false))
    throw ValueError("transBatchA and transBatchB are not supported");
  return binary([=](const Variable& a, const Variable& b) {
    const Variable y = F::matmul(a, b, options);
    return alpha == 1 ? y : y * alpha;
  });
}

/// The sum of both inputs and a bias, normalized; the sum itself is the last output.
Operation skip_normalization(const NodeReader& node, bool by_power) {
  node.expect_inputs(3);
  const double eps = node.real("epsilon", by_power ? 1e-5 : 1e-12);
  return [=](const Call& call) -> Values {
    const size_t bias = by_power ? 3 : 4;
    Variable sum = call[0] + call[1];
    if (call.has(bias)) sum = sum + call[bias];
    Variable y;
    if (by_power) {
      y = F::rms_normalization(sum, call[2], eps);
    } else {
      const Variable beta = call.has(3) ? call[3] : Variable(zeros(call.shape(2), call.dtype(2), call.device()), false);
      y = F::layer_normalization(sum, call[2], beta, eps);
    }
    return {y, Value(), Value(), sum};
  };
}

Operation fused_conv(const NodeReader& node) {
  node.expect_inputs(2);
  const std::string activation = node.text("activation", "");
  expect_one_of("activation", activation, {"", "Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSigmoid"});
  const std::vector<double> numbers = node.reals("activation_params").value_or(std::vector<double>{});
  const auto number = [numbers](size_t i, double otherwise) { return i < numbers.size() ? numbers[i] : otherwise; };
  return [=, attributes = WindowAttributes(node), groups = node.integer("group", 1)](const Call& call) -> Values {
    Variable y = convolve(call[0], call[1], call[2], attributes, groups);
    if (call.has(3)) y = y + call[3];
    if (activation == "Relu") y = F::relu(y);
    if (activation == "Sigmoid") y = F::sigmoid(y);
    if (activation == "Tanh") y = F::tanh(y);
    if (activation == "LeakyRelu") y = F::leaky_relu(y, number(0, 0.01));
    if (activation == "Clip") y = F::clip(y, number(0, 0), number(1, 6));
    if (activation == "HardSigmoid") y = F::clip(y * number(0, 0.2) + number(1, 0.5), 0.0, 1.0);
    return {y};
  };
}

}  // namespace

std::span<const Operator> microsoft_operators() {
  static constexpr Operator kOperators[] = {
      {"Gelu", [](const NodeReader&) { return gelu(F::GeluForm::exact); }},
      {"BiasGelu", [](const NodeReader&) { return gelu(F::GeluForm::exact); }},
      {"FastGelu", [](const NodeReader&) { return gelu(F::GeluForm::tanh); }},
      {"QuickGelu",
       [](const NodeReader& node) {
         return unary([alpha = node.real("alpha", 1.702)](const Variable& x) { return x * F::sigmoid(x * alpha); });
       }},
      {"FusedMatMul", fused_matmul},
      {"FusedConv", fused_conv},
      {"SkipLayerNormalization", [](const NodeReader& node) { return skip_normalization(node, false); }},
      {"SkipSimplifiedLayerNormalization", [](const NodeReader& node) { return skip_normalization(node, true); }},
  };
  return kOperators;
}

}  // namespace kusari::onnx
