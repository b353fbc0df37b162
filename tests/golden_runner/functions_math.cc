#include <limits>

#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/batch_l2_norm_squared.h"
#include "kusari/framework/functions/math/bias.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/digamma.h"
#include "kusari/framework/functions/math/erf.h"
#include "kusari/framework/functions/math/erfcinv.h"
#include "kusari/framework/functions/math/erfcx.h"
#include "kusari/framework/functions/math/erfinv.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/exponential_m1.h"
#include "kusari/framework/functions/math/fmod.h"
#include "kusari/framework/functions/math/hyperbolic.h"
#include "kusari/framework/functions/math/identity.h"
#include "kusari/framework/functions/math/lgamma.h"
#include "kusari/framework/functions/math/linear_interpolate.h"
#include "kusari/framework/functions/math/log_ndtr.h"
#include "kusari/framework/functions/math/logarithm_1p.h"
#include "kusari/framework/functions/math/logsumexp.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/maximum.h"
#include "kusari/framework/functions/math/minimum.h"
#include "kusari/framework/functions/math/minmax.h"
#include "kusari/framework/functions/math/ndtr.h"
#include "kusari/framework/functions/math/ndtri.h"
#include "kusari/framework/functions/math/polygamma.h"
#include "kusari/framework/functions/math/prod.h"
#include "kusari/framework/functions/math/rounding.h"
#include "kusari/framework/functions/math/scale.h"
#include "kusari/framework/functions/math/sign.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/math/trigonometric.h"
#include "kusari/framework/functions/math/zeta.h"
#include "kusari/framework/kernels/axes.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {
namespace {

Axes axes(Args& a) {
  const Json& value = a.raw("axis");
  if (value.is_null()) return std::nullopt;
  const std::vector<int64_t> given = a.integers("axis");
  return Axes(std::span<const int64_t>(given));
}

// Overloads have to be named through a call.
using One = Variable (*)(const Variable&);
using Two = Variable (*)(const Variable&, const Variable&);

// max, min, sum, prod: F::name(x, {.axis, .keepdims}).
template <class Function>
Adapter reduction(Function function) {
  return call([function](Args& a) { return function(a.var("x"), ReductionOptions{axes(a), a.flag("keepdims")}); });
}

Scalar scalar(const Json& value) {
  return value.is_number_integer() ? Scalar(value.get<int64_t>()) : Scalar(value.get<double>());
}

// An operator with a constant: `x + c`.
template <class Function>
Adapter with_constant(Function function) {
  return call([function](Args& a) { return function(a.var("x"), scalar(a.raw("c"))); });
}

void add_operators(FunctionTable& table) {
  using V = const Variable&;
  table.insert({
      {"absolute", unary(F::absolute)},
      {"add", call([](Args& a) { return F::add(a.more_vars()); })},
      {"op_add_const", with_constant([](V x, Scalar c) { return x + c; })},
      {"op_div", binary([](V x, V y) { return x / y; })},
      {"op_div_const", with_constant([](V x, Scalar c) { return x / c; })},
      {"op_matmul", binary([](V x, V y) { return F::matmul(x, y); })},
      {"op_mul", binary([](V x, V y) { return x * y; })},
      {"op_mul_const", with_constant([](V x, Scalar c) { return x * c; })},
      {"op_neg", unary([](V x) { return -x; })},
      {"op_pow", binary([](V x, V y) { return F::pow(x, y); })},
      {"op_pow_const", with_constant([](V x, Scalar c) { return F::pow(x, c); })},
      {"op_rdiv_const", with_constant([](V x, Scalar c) { return c / x; })},
      {"op_rpow_const", with_constant([](V x, Scalar c) { return F::pow(c, x); })},
      {"op_rsub_const", with_constant([](V x, Scalar c) { return c - x; })},
      {"op_sub", binary([](V x, V y) { return x - y; })},
      {"op_sub_const", with_constant([](V x, Scalar c) { return x - c; })},
  });
}

}  // namespace

void add_math_functions(FunctionTable& table) {
  add_operators(table);
  table.insert({
      {"arccos", unary(F::arccos)},
      {"arcsin", unary(F::arcsin)},
      {"arctan", unary(F::arctan)},
      {"arctan2", binary(F::arctan2, "x1", "x2")},
      {"arctanh", unary(F::arctanh)},
      {"argmax", call([](Args& a) { return F::argmax(a.var("x"), a.optional_integer("axis")); })},
      {"argmin", call([](Args& a) { return F::argmin(a.var("x"), a.optional_integer("axis")); })},
      {"average", call([](Args& a) { return F::average(a.var("x"), axes(a), a.var("weights"), a.flag("keepdims")); })},
      {"batch_l2_norm_squared", unary(F::batch_l2_norm_squared)},
      {"bias", call([](Args& a) { return F::bias(a.var("x"), a.var("y"), a.integer("axis")); })},
      {"ceil", unary(F::ceil)},
      {"clip",
       call([](Args& a) { return F::clip(a.var("x"), a.optional_number("x_min"), a.optional_number("x_max")); })},
      {"cos", unary(F::cos)},
      {"cosh", unary(F::cosh)},
      {"digamma", unary(F::digamma)},
      {"erf", unary(F::erf)},
      {"erfc", unary(F::erfc)},
      {"erfcinv", unary(F::erfcinv)},
      {"erfcx", unary(F::erfcx)},
      {"erfinv", unary(F::erfinv)},
      {"exp", unary(F::exp)},
      {"expm1", unary(F::expm1)},
      {"fix", unary(F::fix)},
      {"floor", unary(F::floor)},
      {"fmod", binary(F::fmod, "x", "divisor")},
      {"identity", call([](Args& a) {
         Variables all;
         for (const Variable& x : a.more_vars()) all.push_back(F::identity(x));
         return all;
       })},
      {"lgamma", unary(F::lgamma)},
      {"linear_interpolate", call([](Args& a) { return F::linear_interpolate(a.var("p"), a.var("x"), a.var("y")); })},
      {"log", unary(F::log)},
      {"log10", unary(F::log10)},
      {"log1p", unary(F::log1p)},
      {"log2", unary(F::log2)},
      {"log_ndtr", unary(F::log_ndtr)},
      {"logsumexp", call([](Args& a) { return F::logsumexp(a.var("x"), axes(a)); })},
      {"matmul", call([](Args& a) {
         return F::matmul(a.var("a"), a.var("b"), {.transa = a.flag("transa"), .transb = a.flag("transb")});
       })},
      {"max", reduction([](const Variable& x, const ReductionOptions& o) { return F::max(x, o); })},
      {"maximum", binary(F::maximum, "x1", "x2")},
      {"mean", call([](Args& a) { return F::mean(a.var("x"), axes(a), a.var("weights"), a.flag("keepdims")); })},
      {"min", reduction([](const Variable& x, const ReductionOptions& o) { return F::min(x, o); })},
      {"minimum", binary(F::minimum, "x1", "x2")},
      {"ndtr", unary(F::ndtr)},
      {"ndtri", unary(F::ndtri)},
      {"polygamma", call([](Args& a) {
         const bool is_number = a.raw("n").is_number();
         return is_number ? F::polygamma(a.integer("n"), a.var("x")) : F::polygamma(a.var("n"), a.var("x"));
       })},
      {"prod", reduction([](const Variable& x, const ReductionOptions& o) { return F::prod(x, o); })},
      {"rsqrt", unary(F::rsqrt)},
      {"scale", call([](Args& a) { return F::scale(a.var("x"), a.var("y"), a.integer("axis")); })},
      {"sign", unary(F::sign)},
      {"sin", unary(F::sin)},
      {"sinh", unary(F::sinh)},
      {"sqrt", unary(F::sqrt)},
      {"square", unary(F::square)},
      {"sum", reduction([](const Variable& x, const ReductionOptions& o) { return F::sum(x, o); })},
      {"sum_to", call([](Args& a) { return F::sum_to(a.var("x"), a.shape("shape")); })},
      {"tan", unary(F::tan)},
      {"zeta", call([](Args& a) {
         const Json& x = a.raw("x");
         return x.is_number() ? F::zeta(scalar(x), a.var("q")) : F::zeta(a.var("x"), a.var("q"));
       })},
  });
}

}  // namespace kusari::golden
