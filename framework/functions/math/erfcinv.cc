#include "kusari/framework/functions/math/erfcinv.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

constexpr double kHalfSqrtPi = 0.88622692545275801365;

class Erfcinv final : public UnaryFunction<kernels::Erfcinv, Keep::output> {
  Variables backward(const Variables& gy) override { return {-kHalfSqrtPi * exp(square(retained_output(0))) * gy[0]}; }
};

}  // namespace

Variable erfcinv(const Variable& x) { return apply<Erfcinv>({x}); }

}  // namespace kusari::functions
