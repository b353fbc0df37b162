#include "kusari/framework/functions/math/comparison.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/logical.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

Operation shift(const NodeReader& node) {
  const std::string direction = node.text("direction", "");
  expect_one_of("direction", direction, {"LEFT", "RIGHT"});
  if (direction == "RIGHT") return binary(F::right_shift);
  return binary([declared = node.input_type(0)](const Variable& x, const Variable& bits) {
    const Variable y = F::left_shift(x, bits);
    return Variable(wrapped(y.array(), declared).astype(y.dtype()), false);
  });
}

}  // namespace

std::span<const Operator> comparison_operators() {
  static constexpr Operator kOperators[] = {
      {"Equal", [](const NodeReader&) { return binary(F::equal); }},
      {"Less", [](const NodeReader&) { return binary(F::less); }},
      {"LessOrEqual", [](const NodeReader&) { return binary(F::less_equal); }},
      {"Greater", [](const NodeReader&) { return binary(F::greater); }},
      {"GreaterOrEqual", [](const NodeReader&) { return binary(F::greater_equal); }},
      {"And", [](const NodeReader&) { return binary(F::logical_and); }},
      {"Or", [](const NodeReader&) { return binary(F::logical_or); }},
      {"Xor", [](const NodeReader&) { return binary(F::logical_xor); }},
      {"Not", [](const NodeReader&) { return unary(F::logical_not); }},
      {"BitwiseAnd", [](const NodeReader&) { return binary(F::bitwise_and); }},
      {"BitwiseOr", [](const NodeReader&) { return binary(F::bitwise_or); }},
      {"BitwiseXor", [](const NodeReader&) { return binary(F::bitwise_xor); }},
      {"BitwiseNot",
       [](const NodeReader& node) {
         return unary([declared = node.input_type(0)](const Variable& x) {
           return Variable(wrapped(F::bitwise_not(x).array(), declared).astype(x.dtype()), false);
         });
       }},
      {"BitShift", shift},
      {"IsNaN", [](const NodeReader&) { return unary(F::isnan); }},
      {"IsInf",
       [](const NodeReader& node) {
         const F::IsinfOptions options{.positive = node.flag("detect_positive", true),
                                       .negative = node.flag("detect_negative", true)};
         return unary([options](const Variable& x) { return F::isinf(x, options); });
       }},
  };
  return kOperators;
}

}  // namespace kusari::onnx
