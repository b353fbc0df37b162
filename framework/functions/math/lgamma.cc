#include "kusari/framework/functions/math/lgamma.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/digamma.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Lgamma final : public UnaryFunction<kernels::Lgamma, Keep::input> {
  Variables backward(const Variables& gy) override { return {digamma(retained_input(0)) * gy[0]}; }
};

}  // namespace

Variable lgamma(const Variable& x) { return apply<Lgamma>({x}); }

}  // namespace kusari::functions
