#include "kusari/framework/functions/math/erfcinv.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/error_function.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Erfcinv final : public UnaryFunction<kernels::Erfcinv, Keep::output> {
  Variables backward(const Variables& gy) override {
    return {-1 / kErfSlope * exp(square(retained_output(0))) * gy[0]};
  }
};

}  // namespace

Variable erfcinv(const Variable& x) { return apply<Erfcinv>({x}); }

}  // namespace kusari::functions
