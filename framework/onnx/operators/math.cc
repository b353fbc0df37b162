#include <optional>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/comparison.h"
#include "kusari/framework/functions/math/cumprod.h"
#include "kusari/framework/functions/math/cumsum.h"
#include "kusari/framework/functions/math/det.h"
#include "kusari/framework/functions/math/erf.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/hyperbolic.h"
#include "kusari/framework/functions/math/maximum.h"
#include "kusari/framework/functions/math/minimum.h"
#include "kusari/framework/functions/math/modulo.h"
#include "kusari/framework/functions/math/reciprocal.h"
#include "kusari/framework/functions/math/rounding.h"
#include "kusari/framework/functions/math/sign.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/trigonometric.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

/// The only number of input i if it is known on the host and stands beside an array that it does not widen.
std::optional<double> known_number(const Call& call, size_t i, const Variable& other) {
  const Value& value = call.value(i);
  if (!other.is_defined() || !value.is_on_host() || value.host.size() != 1 || value.host.ndim() > other.ndim() ||
      !is_floating(other)) {
    return std::nullopt;
  }
  return call.real(i, "a number");
}

/// What is left of the result in a type that a wider dtype holds.
Variable narrowed(const Variable& y, DataType type) {
  const bool is_wide = type == DataType::int16 || type == DataType::uint16 || type == DataType::uint32;
  return is_wide ? Variable(wrapped(y.array(), type).astype(y.dtype()), false) : y;
}

/// An operation of two arrays, or of one and a number that is known. Before opset 7 the second array lay along axes of
/// the first from `axis` on.
template <class Arrays, class First, class Second>
Operation arithmetic(const NodeReader& node, Arrays arrays, First number_first, Second number_second) {
  if (node.opset() < 7 && node.has("axis")) {
    return [=, axis = node.integer("axis")](const Call& call) -> Values {
      const Variable a = call[0], b = call[1];
      Shape shape = b.shape();
      for (int i = normalize_axis(axis, a.ndim(), "axis") + b.ndim(); i < a.ndim(); ++i) shape.push_back(1);
      return {arrays(a, F::reshape(b, shape))};
    };
  }
  return [=, type = result_type(node)](const Call& call) -> Values {
    if (const auto number = known_number(call, 1, call[0]); number && call.value(0).is_given()) {
      return {number_second(call[0], *number)};
    }
    if (const auto number = known_number(call, 0, call[1])) return {number_first(*number, call[1])};
    return {narrowed(arrays(call[0], call[1]), type)};
  };
}

Variable divide(const Variable& a, const Variable& b) {
  if (is_floating(a)) return a / b;
  // Integers: towards zero.
  const Variable remainder = F::modulo(a, b, F::ModuloSign::dividend);
  return Variable(xp::floor_divide((a - remainder).array(), b.array()).astype(a.dtype()), false);
}

Variable power(const Variable& base, const Variable& exponent) {
  if (is_floating(base)) return F::pow(base, F::cast(exponent, base.dtype()));
  // Integers, whose powers are exact in float64 as far as tests of equality go.
  const Variable wide = F::pow(F::cast(base, Dtype::float64), F::cast(exponent, Dtype::float64));
  return F::cast(is_floating(exponent) ? wide : F::round(wide), base.dtype());
}

template <class Both>
Operation variadic(Both both) {
  return [=](const Call& call) -> Values {
    Variable result = call[0];
    for (size_t i = 1; i < call.size(); ++i) {
      const Variable next = call[i];
      const Shape shape = broadcast_shapes(result.shape(), next.shape());
      result = both(F::broadcast_to(result, shape), F::broadcast_to(next, shape));
    }
    return {result};
  };
}

Operation modulo(const NodeReader& node) {
  const auto sign = node.flag("fmod", false) ? F::ModuloSign::dividend : F::ModuloSign::divisor;
  return binary([sign](const Variable& a, const Variable& b) { return F::modulo(a, b, sign); });
}

Operation cumulative(const NodeReader& node,
                     Variable (*function)(const Variable&, std::optional<int64_t>, const F::ScanOptions&)) {
  const F::ScanOptions options{.exclusive = node.flag("exclusive", false), .reverse = node.flag("reverse", false)};
  return [=](const Call& call) -> Values {
    const int64_t axis = normalize_axis(call.integer(1, "axis"), call.ndim(0), "axis");
    const Variable x = call[0];
    if (is_floating(x)) return {function(x, axis, options)};
    return {F::cast(function(F::cast(x, Dtype::float64), axis, options), x.dtype())};
  };
}

/// Rounds to integers; integers stay.
template <class F>
Operation rounding(F function) {
  return unary([function](const Variable& x) { return is_floating(x) ? function(x) : x; });
}

}  // namespace

std::span<const Operator> math_operators() {
  static constexpr Operator kOperators[] = {
      {"Abs", [](const NodeReader&) { return unary(F::absolute); }},
      {"Neg",
       [](const NodeReader&) {
         return unary([](const Variable& x) { return is_floating(x) ? -x : Variable(-x.array(), false); });
       }},
      {"Sign",
       [](const NodeReader&) {
         return unary(
             [](const Variable& x) { return is_floating(x) ? F::sign(x) : Variable(xp::sign(x.array()), false); });
       }},
      {"Ceil", [](const NodeReader&) { return rounding(F::ceil); }},
      {"Floor", [](const NodeReader&) { return rounding(F::floor); }},
      {"Round", [](const NodeReader&) { return rounding(F::round); }},
      {"Reciprocal", [](const NodeReader&) { return unary(F::reciprocal); }},
      {"Sqrt", [](const NodeReader&) { return unary([](const Variable& x) { return F::sqrt(x); }); }},
      {"Exp", [](const NodeReader&) { return unary([](const Variable& x) { return F::exp(x); }); }},
      {"Log", [](const NodeReader&) { return unary([](const Variable& x) { return F::log(x); }); }},
      {"Erf", [](const NodeReader&) { return unary(F::erf); }},
      {"Sin", [](const NodeReader&) { return unary(F::sin); }},
      {"Cos", [](const NodeReader&) { return unary(F::cos); }},
      {"Tan", [](const NodeReader&) { return unary(F::tan); }},
      {"Asin", [](const NodeReader&) { return unary(F::arcsin); }},
      {"Acos", [](const NodeReader&) { return unary(F::arccos); }},
      {"Atan", [](const NodeReader&) { return unary(F::arctan); }},
      {"Sinh", [](const NodeReader&) { return unary(F::sinh); }},
      {"Cosh", [](const NodeReader&) { return unary(F::cosh); }},
      {"Asinh", [](const NodeReader&) { return unary(F::arcsinh); }},
      {"Acosh", [](const NodeReader&) { return unary(F::arccosh); }},
      {"Atanh", [](const NodeReader&) { return unary(F::arctanh); }},
      {"Det",
       [](const NodeReader&) {
         return unary([](const Variable& x) {
           expect_axes(x, 2, "X");
           return F::det(x);
         });
       }},
      {"Add",
       [](const NodeReader& node) {
         return arithmetic(
             node, [](const Variable& a, const Variable& b) { return a + b; },
             [](double a, const Variable& b) { return a + b; }, [](const Variable& a, double b) { return a + b; });
       }},
      {"Sub",
       [](const NodeReader& node) {
         return arithmetic(
             node, [](const Variable& a, const Variable& b) { return a - b; },
             [](double a, const Variable& b) { return a - b; }, [](const Variable& a, double b) { return a - b; });
       }},
      {"Mul",
       [](const NodeReader& node) {
         return arithmetic(
             node, [](const Variable& a, const Variable& b) { return a * b; },
             [](double a, const Variable& b) { return a * b; }, [](const Variable& a, double b) { return a * b; });
       }},
      {"Div",
       [](const NodeReader& node) {
         return arithmetic(
             node, divide, [](double a, const Variable& b) { return a / b; },
             [](const Variable& a, double b) { return a / b; });
       }},
      {"Pow",
       [](const NodeReader& node) {
         return arithmetic(
             node, power, [](double a, const Variable& b) { return F::pow(a, b); },
             [](const Variable& a, double b) { return F::pow(a, b); });
       }},
      {"Mod", modulo},
      {"Sum", [](const NodeReader&) { return variadic([](const Variable& a, const Variable& b) { return a + b; }); }},
      {"Max", [](const NodeReader&) { return variadic(F::maximum); }},
      {"Min", [](const NodeReader&) { return variadic(F::minimum); }},
      {"Mean",
       [](const NodeReader&) -> Operation {
         return [sum = variadic([](const Variable& a, const Variable& b) { return a + b; })](
                    const Call& call) -> Values { return {sum(call)[0].variable / static_cast<double>(call.size())}; };
       }},
      {"CumSum", [](const NodeReader& node) { return cumulative(node, F::cumsum); }},
      {"CumProd", [](const NodeReader& node) { return cumulative(node, F::cumprod); }},
  };
  return kOperators;
}

}  // namespace kusari::onnx
