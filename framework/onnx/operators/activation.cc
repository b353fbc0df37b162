#include "kusari/framework/onnx/operators/activation.h"

#include <limits>
#include <optional>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/celu.h"
#include "kusari/framework/functions/activation/clipped_relu.h"
#include "kusari/framework/functions/activation/elu.h"
#include "kusari/framework/functions/activation/gelu.h"
#include "kusari/framework/functions/activation/hard_sigmoid.h"
#include "kusari/framework/functions/activation/hard_swish.h"
#include "kusari/framework/functions/activation/leaky_relu.h"
#include "kusari/framework/functions/activation/log_softmax.h"
#include "kusari/framework/functions/activation/mish.h"
#include "kusari/framework/functions/activation/prelu.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/shrink.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/silu.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/activation/softplus.h"
#include "kusari/framework/functions/activation/softsign.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/activation/thresholded_relu.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/maximum.h"
#include "kusari/framework/functions/math/minimum.h"
#include "kusari/framework/functions/math/minmax.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

/// x cut at bounds that are doubles.
Variable cut(const Variable& x, std::optional<double> lower, std::optional<double> upper) {
  if (!lower && !upper) return x;
  if (x.array().is_floating()) {
    if (lower == 0 && !upper) return F::relu(x);
    return lower && upper && *lower > *upper ? F::minimum(F::maximum(x, number_like(x, *lower)), number_like(x, *upper))
                                             : F::clip(x, lower, upper);
  }
  Variable y = x;
  if (lower) y = F::maximum(y, number_like(x, *lower));
  if (upper) y = F::minimum(y, number_like(x, *upper));
  return y;
}

Operation clip(const NodeReader& node) {
  if (node.opset() < 11) {
    const std::optional<double> lower = node.has("min") ? std::optional(node.real("min")) : std::nullopt;
    const std::optional<double> upper = node.has("max") ? std::optional(node.real("max")) : std::nullopt;
    return unary([=](const Variable& x) { return cut(x, lower, upper); });
  }
  return [](const Call& call) -> Values {
    // Integers are not all doubles.
    const bool known = kusari::is_floating(call.dtype(0)) && (!call.has(1) || call.value(1).is_on_host()) &&
                       (!call.has(2) || call.value(2).is_on_host());
    if (known) {
      const std::optional<double> lower = call.has(1) ? std::optional(call.real(1, "min")) : std::nullopt;
      const std::optional<double> upper = call.has(2) ? std::optional(call.real(2, "max")) : std::nullopt;
      return {cut(call[0], lower, upper)};
    }
    Variable y = call[0];
    if (call.has(1)) y = F::maximum(y, F::broadcast_to(F::reshape(call[1], {}), y.shape()));
    if (call.has(2)) y = F::minimum(y, F::broadcast_to(F::reshape(call[2], {}), y.shape()));
    return {y};
  };
}

/// Softmax and its kin: below opset 13 all axes from `axis` on are one.
template <class F>
Operation along_axis(const NodeReader& node, F function) {
  const bool is_flattened = node.opset() < 13;
  const int64_t axis = node.integer("axis", is_flattened ? 1 : -1);
  return unary([=](const Variable& x) {
    const int at = normalize_axis(axis, x.ndim(), "axis");
    if (!is_flattened) return function(x, at);
    int64_t rows = 1;
    for (int i = 0; i < at; ++i) rows *= x.shape()[i];
    const Variable flat = functions::reshape(x, {rows, rows > 0 ? x.size() / rows : 0});
    return functions::reshape(function(flat, 1), x.shape());
  });
}

Variable hardmax(const Variable& x, int axis) {
  const Variable largest = F::argmax(x, axis);
  Shape shape = x.shape();
  for (int i = 0; i < shape.ndim(); ++i) shape[i] = i == axis ? shape[i] : 1;
  const Array places = arange(x.shape()[axis], Dtype::int64, x.device()).reshape(shape);
  const Array is_largest = places == largest.array().astype(Dtype::int64).expand_dims(axis);
  return Variable(is_largest.astype(x.dtype()), false);
}

Operation prelu(const NodeReader& node) {
  const bool by_channel = node.opset() < 7;
  return binary([by_channel](const Variable& x, const Variable& slope) {
    if (slope.size() == 1) return F::prelu(x, F::reshape(slope, {}));
    if (by_channel && slope.ndim() == 1) return F::prelu(x, slope);
    const Variable full = F::broadcast_to(slope, x.shape());
    return F::where(x.array() < 0, x * full, x);
  });
}

Operation dropout(const NodeReader& node) {
  const double ratio = node.real("ratio", 0.5);
  const bool has_mask = node.has_output(1);
  const bool asks_mode = node.opset() >= 12;
  return [=](const Call& call) -> Values {
    const double rate = call.has(1) ? call.real(1, "ratio") : ratio;
    // A model that says so itself, and one that is being trained.
    const bool trains =
        asks_mode && call.has(2) ? call.integer(2, "training_mode") != 0 : static_cast<bool>(config().train);
    if (!trains || rate == 0) {
      Values results{call[0]};
      if (has_mask) results.push_back(Variable(full(call.shape(0), 1, Dtype::bool_, call.device()), false));
      return results;
    }
    const auto train = using_config(&Config::train, true);
    Array mask;
    const Variable y = F::dropout(call[0], rate, {.return_mask = &mask});
    Values results{y};
    if (has_mask) results.push_back(Variable(mask != 0, false));
    return results;
  };
}

}  // namespace

Activation named_activation(const std::string& name, std::optional<double> alpha, std::optional<double> beta) {
  if (name == "Sigmoid") return F::sigmoid;
  if (name == "Tanh") return F::tanh;
  if (name == "Relu") return F::relu;
  if (name == "Affine") return [a = alpha.value_or(1), b = beta.value_or(0)](const Variable& x) { return x * a + b; };
  if (name == "LeakyRelu") return [slope = alpha.value_or(0.01)](const Variable& x) { return F::leaky_relu(x, slope); };
  if (name == "ThresholdedRelu")
    return [least = alpha.value_or(1)](const Variable& x) { return F::thresholded_relu(x, least); };
  if (name == "ScaledTanh")
    return [a = alpha.value_or(1), b = beta.value_or(1)](const Variable& x) { return F::tanh(x * b) * a; };
  if (name == "HardSigmoid") {
    const F::HardSigmoidOptions options{.alpha = alpha.value_or(0.2), .beta = beta.value_or(0.5)};
    return [options](const Variable& x) { return F::hard_sigmoid(x, options); };
  }
  if (name == "Elu") return [a = alpha.value_or(1)](const Variable& x) { return F::elu(x, a); };
  if (name == "Softsign") return F::softsign;
  if (name == "Softplus") return [](const Variable& x) { return F::softplus(x); };
  throw ValueError("its activation '" + name + "' is not known");
}

std::span<const Operator> activation_operators() {
  static constexpr Operator kOperators[] = {
      {"Relu", [](const NodeReader&) { return unary([](const Variable& x) { return cut(x, 0.0, std::nullopt); }); }},
      {"LeakyRelu",
       [](const NodeReader& node) {
         return unary([slope = node.real("alpha", 0.01)](const Variable& x) { return F::leaky_relu(x, slope); });
       }},
      {"Elu",
       [](const NodeReader& node) {
         return unary([alpha = node.real("alpha", 1)](const Variable& x) { return F::elu(x, alpha); });
       }},
      {"Selu",
       [](const NodeReader& node) {
         const double alpha = node.real("alpha", 1.67326319217681884765625);
         const double gamma = node.real("gamma", 1.05070102214813232421875);
         return unary([=](const Variable& x) { return F::selu(x, alpha, gamma); });
       }},
      {"Celu",
       [](const NodeReader& node) {
         return unary([alpha = node.real("alpha", 1)](const Variable& x) { return F::celu(x, alpha); });
       }},
      {"ThresholdedRelu",
       [](const NodeReader& node) {
         return unary([alpha = node.real("alpha", 1)](const Variable& x) { return F::thresholded_relu(x, alpha); });
       }},
      {"Shrink",
       [](const NodeReader& node) {
         const F::ShrinkOptions options{.lambd = node.real("lambd", 0.5), .bias = node.real("bias", 0)};
         return unary([options](const Variable& x) { return F::shrink(x, options); });
       }},
      {"Sigmoid", [](const NodeReader&) { return unary(F::sigmoid); }},
      {"HardSigmoid",
       [](const NodeReader& node) {
         const F::HardSigmoidOptions options{.alpha = node.real("alpha", 0.2), .beta = node.real("beta", 0.5)};
         return unary([options](const Variable& x) { return F::hard_sigmoid(x, options); });
       }},
      {"HardSwish", [](const NodeReader&) { return unary(F::hard_swish); }},
      {"Swish",
       [](const NodeReader& node) {
         const double alpha = node.real("alpha", 1);
         return unary([=](const Variable& x) { return alpha == 1 ? F::silu(x) : x * F::sigmoid(x * alpha); });
       }},
      {"Tanh", [](const NodeReader&) { return unary(F::tanh); }},
      {"Softplus", [](const NodeReader&) { return unary([](const Variable& x) { return F::softplus(x); }); }},
      {"Softsign", [](const NodeReader&) { return unary(F::softsign); }},
      {"Mish", [](const NodeReader&) { return unary(F::mish); }},
      {"Gelu",
       [](const NodeReader& node) {
         const std::string form = node.text("approximate", "none");
         expect_one_of("approximate", form, {"none", "tanh"});
         return unary([form = form == "tanh" ? F::GeluForm::tanh : F::GeluForm::exact](const Variable& x) {
           return F::gelu(x, form);
         });
       }},
      {"PRelu", prelu},
      {"Clip", clip},
      {"Softmax",
       [](const NodeReader& node) {
         return along_axis(node, [](const Variable& x, int axis) { return F::softmax(x, axis); });
       }},
      {"LogSoftmax",
       [](const NodeReader& node) {
         return along_axis(node, [](const Variable& x, int axis) { return F::log_softmax(x, axis); });
       }},
      {"Hardmax", [](const NodeReader& node) { return along_axis(node, hardmax); }},
      {"Dropout", dropout},
      {"Identity",
       [](const NodeReader&) -> Operation { return [](const Call& call) -> Values { return {call.value(0)}; }; }},
  };
  return kOperators;
}

}  // namespace kusari::onnx
