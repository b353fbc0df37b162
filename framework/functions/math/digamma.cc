#include "kusari/framework/functions/math/digamma.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/polygamma.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Digamma final : public UnaryFunction<kernels::Digamma, Keep::input> {
  Variables backward(const Variables& gy) override { return {polygamma(1, retained_input(0)) * gy[0]}; }
};

}  // namespace

Variable digamma(const Variable& x) { return apply<Digamma>({x}); }

}  // namespace kusari::functions
