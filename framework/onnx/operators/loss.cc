#include <optional>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/log_softmax.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/gather_elements.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/squeeze.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

struct LossAttributes {
  explicit LossAttributes(const NodeReader& node)
      : reduction{node.text("reduction", "mean")},
        ignored{node.has("ignore_index") ? std::optional(node.integer("ignore_index")) : std::nullopt} {
    expect_one_of("reduction", reduction, {"none", "mean", "sum"});
  }
  std::string reduction;
  std::optional<int64_t> ignored;
};

/// -log p of the labels: log_p (N, C, ...), labels (N, ...), weight (C) or undefined.
Variable negative_log_likelihood(const Variable& log_p, const Array& labels, const Variable& weight,
                                 const LossAttributes& a) {
  const Array t = labels.astype(Dtype::int64);
  // A label that does not count may be no class.
  const Array counts = a.ignored ? Array(t != *a.ignored) : full_like(t, 1).astype(Dtype::bool_);
  const Array safe = xp::where(counts, t, zeros_like(t));
  const Variable picked = F::squeeze(F::gather_elements(log_p, Variable(safe.expand_dims(1), false), 1), 1);
  const Variable zero = F::broadcast_to(number_like(log_p, 0), picked.shape());
  Variable factors = Variable(counts.astype(log_p.dtype()), false);
  if (weight.is_defined()) factors = factors * F::get_item(weight, {safe});
  const Variable loss = F::where(counts, -picked * factors, zero);
  if (a.reduction == "none") return loss;
  return a.reduction == "sum" ? F::sum(loss) : F::sum(loss) / F::sum(factors);
}

}  // namespace

std::span<const Operator> loss_operators() {
  static constexpr Operator kOperators[] = {
      {"NegativeLogLikelihoodLoss",
       [](const NodeReader& node) -> Operation {
         return [a = LossAttributes(node)](const Call& call) -> Values {
           return {negative_log_likelihood(call[0], call[1].array(), call[2], a)};
         };
       }},
      {"SoftmaxCrossEntropyLoss",
       [](const NodeReader& node) -> Operation {
         return [a = LossAttributes(node)](const Call& call) -> Values {
           const Variable log_p = F::log_softmax(call[0], 1);
           return {negative_log_likelihood(log_p, call[1].array(), call[2], a), log_p};
         };
       }},
  };
  return kOperators;
}

}  // namespace kusari::onnx
