#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/activation/gelu.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/array/unique.h"
#include "kusari/framework/functions/connection/embed_id.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/inv.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/normalization/layer_normalization.h"
#include "kusari/framework/functions/normalization/rms_normalization.h"
#include "kusari/framework/onnx/operators/activation.h"
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
  const bool batch_a = node.flag("transBatchA", false), batch_b = node.flag("transBatchB", false);
  // The rows stand before the axes of the batch.
  const auto turned = [](const Variable& x, bool rows_first) {
    return rows_first && x.ndim() > 2 ? F::moveaxis(x, 0, -2) : x;
  };
  return binary([=](const Variable& a, const Variable& b) {
    const Variable y = F::matmul(turned(a, batch_a), turned(b, batch_b), options);
    return alpha == 1 ? y : y * alpha;
  });
}

/// The sum of both inputs and a bias, normalized; the sum itself is the last output.
Operation skip_normalization(const NodeReader& node, bool by_power) {
  node.expect_inputs(3);
  const double eps = node.real("epsilon", 1e-12);
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

/// The function that an optimizer has moved into the operator before it; "": none.
Activation fused_activation(const std::string& name, std::optional<double> alpha, std::optional<double> beta) {
  if (name.empty()) return [](const Variable& x) { return x; };
  if (name == "Clip")
    return [low = alpha.value_or(0), high = beta.value_or(6)](const Variable& x) { return F::clip(x, low, high); };
  return named_activation(name, alpha, beta);
}
std::optional<double> given_real(const NodeReader& node, const char* name) {
  return node.has(name) ? std::optional(node.real(name)) : std::nullopt;
}

Operation fused_conv(const NodeReader& node) {
  node.expect_inputs(2);
  const std::vector<double> numbers = node.reals("activation_params").value_or(std::vector<double>{});
  const auto number = [&](size_t i) { return i < numbers.size() ? std::optional(numbers[i]) : std::nullopt; };
  return [activation = fused_activation(node.text("activation", ""), number(0), number(1)),
          attributes = WindowAttributes(node), groups = node.integer("group", 1)](const Call& call) -> Values {
    const Variable y = convolve(call[0], call[1], call[2], attributes, groups);
    return {activation(call.has(3) ? y + call[3] : y)};
  };
}

/// Another operation, and the function that the attributes activation, ... name.
Operation activated(const NodeReader& node, const Operation& operation) {
  const Activation activation = fused_activation(node.text("activation", ""), given_real(node, "activation_alpha"),
                                                 given_real(node, "activation_beta"));
  return [=](const Call& call) -> Values {
    const Values y = operation(call);
    return {activation(call.with(y)[0])};
  };
}

/// ONNX's softmax of version 12, along all axes from one on, of a sum.
Operation bias_softmax(const NodeReader& node) {
  node.expect_inputs(2);
  const Operation softmax = find_operator("", "Softmax")->build(node.as_of(12));
  return [softmax](const Call& call) -> Values { return softmax(call.with(Values{call.inner(call[0] + call[1])})); };
}

/// The first half of x + bias times the GELU of the second.
Variable bias_split_gelu(const Variable& x, const Variable& bias) {
  const Variables halves = F::split_axis(x + bias, 2, -1);
  return halves[0] * F::gelu(halves[1], F::GeluForm::exact);
}

/// Sums of rows of three tables, normalized, and how many words of each sequence there are.
Operation embed_layer_normalization(const NodeReader& node) {
  node.expect_inputs(7);
  const double eps = node.real("epsilon", 1e-12);
  return [eps](const Call& call) -> Values {
    expect_axes(call[0], 2, "input_ids");
    const int64_t batch = call.shape(0)[0], length = call.shape(0)[1];
    Variable sum = F::embed_id(call[0].array(), call[2]);
    sum = sum + (call.has(8) ? F::embed_id(call[8].array(), call[3]) : F::get_item(call[3], {Slice{0, length}}));
    if (call.has(1) && call.has(4)) sum = sum + F::embed_id(call[1].array(), call[4]);
    const Variable words =
        call.has(7) ? F::sum(F::cast(call[7], Dtype::int32), ReductionOptions{Axes(1)})
                    : Variable(host_constant([&] { return zeros({batch}, Dtype::int32, call.device()); }), false);
    return {F::layer_normalization(sum, call[5], call[6], eps), F::cast(words, Dtype::int32), sum};
  };
}

Operation expand_dims(const NodeReader& node) {
  node.expect_inputs(2);
  return [](const Call& call) -> Values { return {F::expand_dims(call[0], call.integer(1, "axis"))}; };
}

Operation inverse(const NodeReader&) { return unary(F::inv); }

Operation first_unique(const NodeReader&) {
  return [](const Call& call) -> Values {
    const F::UniqueResult result = F::unique(call[0], {.sorted = false});
    return {result.values, result.inverse, result.counts};
  };
}

/// Squared distances of the rows of two matrices as |a|^2 + |b|^2 - 2 a b, or their roots.
Operation cdist(const NodeReader& node) {
  const std::string metric = node.text("metric", "sqeuclidean");
  expect_one_of("metric", metric, {"sqeuclidean", "euclidean"});
  return binary([is_root = metric == "euclidean"](const Variable& a, const Variable& b) {
    const auto lengths = [](const Variable& x) { return F::sum(F::square(x), ReductionOptions{Axes(1), true}); };
    const Variable squares = lengths(a) + F::transpose(lengths(b)) - 2 * F::matmul(a, b, {.transb = true});
    const Variable distances = F::relu(squares);  // rounding may leave less than 0
    return is_root ? F::sqrt(distances) : distances;
  });
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
      {"TransposeMatMul", fused_matmul},
      {"FusedMatMulActivation", [](const NodeReader& node) { return activated(node, fused_matmul(node)); }},
      {"FusedGemm", [](const NodeReader& node) { return activated(node, onnx_operation("Gemm", node)); }},
      {"GemmFastGelu",
       [](const NodeReader&) -> Operation {
         return [](const Call& call) -> Values {
           const Variable y = F::matmul(call[0], call[1]);
           return {F::gelu(call.has(2) ? y + call[2] : y, F::GeluForm::tanh)};
         };
       }},
      {"BiasAdd",
       [](const NodeReader&) -> Operation {
         return [](const Call& call) -> Values { return {call[0] + call[1] + call[2]}; };
       }},
      {"BiasSplitGelu", [](const NodeReader&) { return binary(bias_split_gelu); }},
      {"BiasSoftmax", bias_softmax},
      {"EmbedLayerNormalization", embed_layer_normalization},
      {"ExpandDims", expand_dims},
      {"Inverse", inverse},
      {"Unique", first_unique},
      {"CDist", cdist},
      {"FusedConv", fused_conv},
      {"SkipLayerNormalization", [](const NodeReader& node) { return skip_normalization(node, false); }},
      {"SkipSimplifiedLayerNormalization", [](const NodeReader& node) { return skip_normalization(node, true); }},
  };
  return kOperators;
}

}  // namespace kusari::onnx
