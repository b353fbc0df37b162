#include "kusari/framework/functions/math/betainc.h"

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/digamma.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/logarithm_1p.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

/// A function of a, b and x with one shape and dtype; a subclass adds backward.
template <class Op>
class OfShapesAndNumber : public FunctionNode {
 public:
  const char* name() const override { return Op::kName; }

 protected:
  void check(const TypeCheck& c) const override {
    const auto [a, b, x] = c.args("a", "b", "x");
    c.expect(a.is_floating(), a.dtype() == b.dtype(), a.dtype() == x.dtype());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1, 2});
    return {pointwise(Op{}, in[0], in[1], in[2])};
  }
};

class BetaDensity final : public OfShapesAndNumber<kernels::BetaDensity> {
  Variables backward(const Variables& gy) override {
    const Variable a = retained_input(0), b = retained_input(1), x = retained_input(2);
    const Variable slope = gy[0] * apply<BetaDensity>({a, b, x});
    return {needs_grad(0) ? slope * (log(x) - digamma(a) + digamma(a + b)) : Variable(),
            needs_grad(1) ? slope * (log1p(-x) - digamma(b) + digamma(a + b)) : Variable(),
            needs_grad(2) ? slope * ((a - 1) / x - (b - 1) / (1 - x)) : Variable()};
  }
};

/// The derivative by a.
class BetaincSlope final : public OfShapesAndNumber<kernels::BetaincSlope> {
  Variables backward(const Variables& gy) override {
    if (needs_grad(0) || needs_grad(1)) throw StateError("F::betainc: there is no second derivative by a and b");
    const Variable a = retained_input(0), b = retained_input(1), x = retained_input(2);
    return {Variable(), Variable(), gy[0] * apply<BetaDensity>({a, b, x}) * (log(x) - digamma(a) + digamma(a + b))};
  }
};

class Betainc final : public OfShapesAndNumber<kernels::Betainc> {
  Variables backward(const Variables& gy) override {
    const Variable a = retained_input(0), b = retained_input(1), x = retained_input(2);
    return {needs_grad(0) ? gy[0] * apply<BetaincSlope>({a, b, x}) : Variable(),
            needs_grad(1) ? -gy[0] * apply<BetaincSlope>({b, a, 1 - x}) : Variable(),
            needs_grad(2) ? gy[0] * apply<BetaDensity>({a, b, x}) : Variable()};
  }
};

/// The x below which a share lies: by the derivatives of that share.
class Betaincinv final : public FunctionNode {
 public:
  const char* name() const override { return "betaincinv"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [a, b, p] = c.args("a", "b", "p");
    c.expect(a.is_floating(), a.dtype() == b.dtype(), a.dtype() == p.dtype());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    retain_outputs({0});
    return {pointwise(kernels::Betaincinv{}, in[0], in[1], in[2])};
  }
  Variables backward(const Variables& gy) override {
    const Variable a = retained_input(0), b = retained_input(1), x = retained_output(0);
    const Variable slope = gy[0] / apply<BetaDensity>({a, b, x});
    return {needs_grad(0) ? -slope * apply<BetaincSlope>({a, b, x}) : Variable(),
            needs_grad(1) ? slope * apply<BetaincSlope>({b, a, 1 - x}) : Variable(),
            needs_grad(2) ? slope : Variable()};
  }
};

template <class Node>
Variable of_shapes_and_number(const char* call, const Variable& a, const Variable& b, const Variable& x,
                              const char* name) {
  expect_given(a, call, "a");
  expect_given(b, call, "b");
  expect_given(x, call, name);

  const Shape shape = broadcast_shapes(broadcast_shapes(a.shape(), b.shape(), call), x.shape(), call);
  return apply<Node>({broadcast_to(a, shape), broadcast_to(b, shape), broadcast_to(x, shape)});
}

}  // namespace

Variable betainc(const Variable& a, const Variable& b, const Variable& x) {
  return of_shapes_and_number<Betainc>("F::betainc", a, b, x, "x");
}

Variable betaincinv(const Variable& a, const Variable& b, const Variable& p) {
  return of_shapes_and_number<Betaincinv>("F::betaincinv", a, b, p, "p");
}

}  // namespace kusari::functions
