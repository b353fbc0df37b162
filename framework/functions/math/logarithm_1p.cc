#include "kusari/framework/functions/math/logarithm_1p.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Log1p final : public UnaryFunction<kernels::Log1p, Keep::input> {
  Variables backward(const Variables& gy) override { return {gy[0] / (retained_input(0) + 1)}; }
};

}  // namespace

Variable log1p(const Variable& x) { return apply<Log1p>({x}); }

}  // namespace kusari::functions
