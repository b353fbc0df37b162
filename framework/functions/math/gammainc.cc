#include "kusari/framework/functions/math/gammainc.h"

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/digamma.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

/// A function of a and x with one shape and dtype; a subclass adds backward.
template <class Op>
class OfShapeAndNumber : public FunctionNode {
 public:
  const char* name() const override { return Op::kName; }

 protected:
  void check(const TypeCheck& c) const override {
    const auto [a, x] = c.args("a", "x");
    c.expect(a.is_floating(), a.dtype() == x.dtype());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {pointwise(Op{}, in[0], in[1])};
  }
};

class GammaDensity final : public OfShapeAndNumber<kernels::GammaDensity> {
  Variables backward(const Variables& gy) override {
    const Variable a = retained_input(0), x = retained_input(1), slope = gy[0] * apply<GammaDensity>({a, x});
    return {needs_grad(0) ? slope * (log(x) - digamma(a)) : Variable(),
            needs_grad(1) ? slope * ((a - 1) / x - 1) : Variable()};
  }
};

class GammaincCurvature final : public OfShapeAndNumber<kernels::GammaincCurvature> {
  Variables backward(const Variables&) override { throw StateError("F::gammainc: there is no third derivative by a"); }
};

class GammaincSlope final : public OfShapeAndNumber<kernels::GammaincSlope> {
  Variables backward(const Variables& gy) override {
    const Variable a = retained_input(0), x = retained_input(1);
    return {needs_grad(0) ? gy[0] * apply<GammaincCurvature>({a, x}) : Variable(),
            needs_grad(1) ? gy[0] * apply<GammaDensity>({a, x}) * (log(x) - digamma(a)) : Variable()};
  }
};

class Gammainc final : public OfShapeAndNumber<kernels::Gammainc> {
  Variables backward(const Variables& gy) override {
    const Variable a = retained_input(0), x = retained_input(1);
    return {needs_grad(0) ? gy[0] * apply<GammaincSlope>({a, x}) : Variable(),
            needs_grad(1) ? gy[0] * apply<GammaDensity>({a, x}) : Variable()};
  }
};

class Gammaincc final : public OfShapeAndNumber<kernels::Gammaincc> {
  Variables backward(const Variables& gy) override {
    const Variable a = retained_input(0), x = retained_input(1);
    return {needs_grad(0) ? -gy[0] * apply<GammaincSlope>({a, x}) : Variable(),
            needs_grad(1) ? -gy[0] * apply<GammaDensity>({a, x}) : Variable()};
  }
};

/// The x below which a share lies: by the derivatives of that share.
class Gammaincinv final : public FunctionNode {
 public:
  const char* name() const override { return "gammaincinv"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [a, p] = c.args("a", "p");
    c.expect(a.is_floating(), a.dtype() == p.dtype());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    retain_outputs({0});
    return {pointwise(kernels::Gammaincinv{}, in[0], in[1])};
  }
  Variables backward(const Variables& gy) override {
    const Variable a = retained_input(0), x = retained_output(0), slope = gy[0] / apply<GammaDensity>({a, x});
    return {needs_grad(0) ? -slope * apply<GammaincSlope>({a, x}) : Variable(), needs_grad(1) ? slope : Variable()};
  }
};

template <class Node>
Variable of_shape_and_number(const char* call, const Variable& a, const Variable& x, const char* name = "x") {
  expect_given(a, call, "a");
  expect_given(x, call, name);

  const Shape shape = broadcast_shapes(a.shape(), x.shape(), call);
  return apply<Node>({broadcast_to(a, shape), broadcast_to(x, shape)});
}

}  // namespace

Variable gammainc(const Variable& a, const Variable& x) { return of_shape_and_number<Gammainc>("F::gammainc", a, x); }

Variable gammaincc(const Variable& a, const Variable& x) {
  return of_shape_and_number<Gammaincc>("F::gammaincc", a, x);
}

Variable gammaincinv(const Variable& a, const Variable& p) {
  return of_shape_and_number<Gammaincinv>("F::gammaincinv", a, p, "p");
}

}  // namespace kusari::functions
