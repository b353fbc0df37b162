#include <algorithm>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/einsum.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

Operation gemm(const NodeReader& node) {
  const double alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  const bool transa = node.flag("transA", false), transb = node.flag("transB", false);
  return [=](const Call& call) -> Values {
    const Variable a = call[0], b = call[1];
    if (a.ndim() != 2 || b.ndim() != 2) {
      throw TypeError("A has shape " + kusari::to_string(a.shape()) + ", B " + kusari::to_string(b.shape()) +
                      ": both must have 2 axes");
    }
    const bool has_c = call.has(2) && beta != 0;
    if (alpha == 1 && beta == 1 && is_floating(a)) {
      const Variable x = transa ? F::transpose(a) : a;
      const Variable w = transb ? b : F::transpose(b);
      if (!has_c) return {F::linear(x, w)};
      const Variable c = call[2];
      const bool is_bias = c.ndim() >= 1 && c.shape()[c.ndim() - 1] == w.shape()[0] && c.size() == w.shape()[0];
      if (is_bias && c.ndim() == 1) return {F::linear(x, w, c)};
      return {F::linear(x, w) + c};
    }
    Variable y = F::matmul(a, b, {.transa = transa, .transb = transb});
    if (alpha != 1) y = F::cast(y * alpha, a.dtype());
    if (has_c) y = y + (beta == 1 ? call[2] : F::cast(call[2] * beta, a.dtype()));
    return {y};
  };
}

Operation einsum(const NodeReader& node) {
  std::string equation = node.text("equation", "");
  std::erase(equation, ' ');
  return [equation](const Call& call) -> Values { return {F::einsum(equation, call.from(0))}; };
}

}  // namespace

std::span<const Operator> product_operators() {
  static constexpr Operator kOperators[] = {
      {"MatMul",
       [](const NodeReader&) { return binary([](const Variable& a, const Variable& b) { return F::matmul(a, b); }); }},
      {"Gemm", gemm},
      {"Einsum", einsum},
  };
  return kOperators;
}

}  // namespace kusari::onnx
