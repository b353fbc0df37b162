#include "kusari/framework/functions/math/hyperbolic.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/functions/size_of.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Sinh final : public UnaryFunction<kernels::Sinh, Keep::input> {
  Variables backward(const Variables& gy) override { return {cosh(retained_input(0)) * gy[0]}; }
};

class Cosh final : public UnaryFunction<kernels::Cosh, Keep::input> {
  Variables backward(const Variables& gy) override { return {sinh(retained_input(0)) * gy[0]}; }
};

class Arcsinh final : public UnaryFunction<kernels::Arcsinh, Keep::input> {
  Variables backward(const Variables& gy) override {
    // 1 / sqrt(x^2 + 1) with x and 1 of the size of 1, whose squares the dtype holds.
    const Variable x = retained_input(0), size(size_of(x.array(), 1), false);
    return {gy[0] * rsqrt(square(x / size) + square(1 / size)) / size};
  }
};

// sqrt(x + 1) sqrt(x - 1) keeps what x^2 - 1 would lose near 1.
class Arccosh final : public UnaryFunction<kernels::Arccosh, Keep::input> {
  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0);
    return {gy[0] * rsqrt(x + 1) * rsqrt(x - 1)};
  }
};

class Arctanh final : public UnaryFunction<kernels::Arctanh, Keep::input> {
  Variables backward(const Variables& gy) override { return {gy[0] / (1 - square(retained_input(0)))}; }
};

}  // namespace

Variable sinh(const Variable& x) { return apply<Sinh>({x}); }
Variable cosh(const Variable& x) { return apply<Cosh>({x}); }
Variable arcsinh(const Variable& x) { return apply<Arcsinh>({x}); }
Variable arccosh(const Variable& x) { return apply<Arccosh>({x}); }
Variable arctanh(const Variable& x) { return apply<Arctanh>({x}); }

}  // namespace kusari::functions
