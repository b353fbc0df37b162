#include "kusari/framework/functions/math/sqrt.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Sqrt final : public UnaryFunction<kernels::Sqrt, Keep::output> {
  Variables backward(const Variables& gy) override { return {gy[0] / (retained_output(0) * 2)}; }
};

class Rsqrt final : public UnaryFunction<kernels::Rsqrt, Keep::output> {
  Variables backward(const Variables& gy) override {
    const Variable y = retained_output(0);
    return {gy[0] * -0.5 * y * y * y};  // y^3 alone may be too small for the dtype
  }
};

}  // namespace

Variable sqrt(const Variable& x) { return apply<Sqrt>({x}); }
Variable rsqrt(const Variable& x) { return apply<Rsqrt>({x}); }

}  // namespace kusari::functions
