#include "kusari/framework/functions/math/hyperbolic.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Sinh final : public UnaryFunction<kernels::Sinh, Keep::input> {
  Variables backward(const Variables& gy) override { return {cosh(retained_input(0)) * gy[0]}; }
};

class Cosh final : public UnaryFunction<kernels::Cosh, Keep::input> {
  Variables backward(const Variables& gy) override { return {sinh(retained_input(0)) * gy[0]}; }
};

class Arctanh final : public UnaryFunction<kernels::Arctanh, Keep::input> {
  Variables backward(const Variables& gy) override { return {gy[0] / (1 - square(retained_input(0)))}; }
};

}  // namespace

Variable sinh(const Variable& x) { return apply<Sinh>({x}); }
Variable cosh(const Variable& x) { return apply<Cosh>({x}); }
Variable arctanh(const Variable& x) { return apply<Arctanh>({x}); }

}  // namespace kusari::functions
