#include "kusari/framework/functions/math/exponential_m1.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Expm1 final : public UnaryFunction<kernels::Expm1, Keep::output> {
  Variables backward(const Variables& gy) override { return {(retained_output(0) + 1) * gy[0]}; }
};

}  // namespace

Variable expm1(const Variable& x) { return apply<Expm1>({x}); }

}  // namespace kusari::functions
