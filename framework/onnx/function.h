#pragma once

#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::onnx {

namespace detail {
KUSARI_API Variables call_as_node(const std::string& op, std::span<const Variable> inputs, const Attributes& attributes,
                                  const std::function<Variables(std::span<const Variable>)>& f);
}  // namespace detail

/// f(inputs), which an exported model has as one node: `onnx::function("my.domain.Op", {x}, {{"alpha", 0.5}}, f)` is
/// the operator Op of domain "my.domain" with that attribute; without a dot in the name, of ONNX's own domain. `f`
/// takes a span of variables and gives a Variable, or Variables. Elsewhere it is a call of f, with all its gradients.
/// onnx_chainer.replace_func.
template <class F>
auto function(const std::string& op, const std::vector<Variable>& inputs, const Attributes& attributes, F&& f) {
  using Result = std::invoke_result_t<F&, std::span<const Variable>>;
  const auto call = [&](std::span<const Variable> xs) { return Variables(f(xs)); };
  Variables ys = detail::call_as_node(op, inputs, attributes, call);
  if constexpr (std::is_convertible_v<Result, Variable>) {
    return Variable(ys[0]);
  } else {
    return ys;
  }
}

}  // namespace kusari::onnx
