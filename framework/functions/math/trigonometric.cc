#include "kusari/framework/functions/math/trigonometric.h"

#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/functions/size_of.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Sin final : public UnaryFunction<kernels::Sin, Keep::input> {
  Variables backward(const Variables& gy) override { return {cos(retained_input(0)) * gy[0]}; }
};

class Cos final : public UnaryFunction<kernels::Cos, Keep::input> {
  Variables backward(const Variables& gy) override { return {-(sin(retained_input(0)) * gy[0])}; }
};

class Tan final : public UnaryFunction<kernels::Tan, Keep::output> {
  Variables backward(const Variables& gy) override { return {(square(retained_output(0)) + 1) * gy[0]}; }
};

class Arcsin final : public UnaryFunction<kernels::Arcsin, Keep::input> {
  Variables backward(const Variables& gy) override { return {gy[0] * rsqrt(1 - square(retained_input(0)))}; }
};

class Arccos final : public UnaryFunction<kernels::Arccos, Keep::input> {
  Variables backward(const Variables& gy) override { return {-(gy[0] * rsqrt(1 - square(retained_input(0))))}; }
};

class Arctan final : public UnaryFunction<kernels::Arctan, Keep::input> {
  Variables backward(const Variables& gy) override {
    // 1 / (x^2 + 1) with x and 1 of the size of 1, whose squares the dtype holds.
    const Variable x = retained_input(0), size(size_of(x.array(), 1), false);
    return {gy[0] / size / (square(x / size) + square(1 / size)) / size};
  }
};

class Arctan2 final : public FunctionNode {
 public:
  const char* name() const override { return "arctan2"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x1, x2] = c.args("x1", "x2");
    c.expect(x1.is_floating(), x1.dtype() == x2.dtype());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {pointwise(kernels::Arctan2{}, in[0], in[1])};
  }
  Variables backward(const Variables& gy) override {
    // Of the size of 1, whose squares the dtype holds.
    const Array a = retained_input(0).array(), b = retained_input(1).array();
    const Variable size(pointwise(kernels::Maximum{}, size_of(a), size_of(b)), false);
    const Variable x1 = retained_input(0) / size, x2 = retained_input(1) / size;
    const Variable g = gy[0] / ((square(x1) + square(x2)) * size);
    return {needs_grad(0) ? x2 * g : Variable(), needs_grad(1) ? -(x1 * g) : Variable()};
  }
};

}  // namespace

Variable sin(const Variable& x) { return apply<Sin>({x}); }
Variable cos(const Variable& x) { return apply<Cos>({x}); }
Variable tan(const Variable& x) { return apply<Tan>({x}); }
Variable arcsin(const Variable& x) { return apply<Arcsin>({x}); }
Variable arccos(const Variable& x) { return apply<Arccos>({x}); }
Variable arctan(const Variable& x) { return apply<Arctan>({x}); }

Variable arctan2(const Variable& x1, const Variable& x2) {
  expect_given(x1, "F::arctan2", "x1");
  expect_given(x2, "F::arctan2", "x2");

  const Shape shape = broadcast_shapes(x1.shape(), x2.shape(), "F::arctan2");
  return apply<Arctan2>({broadcast_to(x1, shape), broadcast_to(x2, shape)});
}

}  // namespace kusari::functions
