#include "kusari/framework/functions/math/ndtri.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

constexpr double kSqrtTwoPi = 2.50662827463100050242;

class Ndtri final : public UnaryFunction<kernels::Ndtri, Keep::output> {
  Variables backward(const Variables& gy) override {
    return {kSqrtTwoPi * exp(0.5 * square(retained_output(0))) * gy[0]};
  }
};

}  // namespace

Variable ndtri(const Variable& x) { return apply<Ndtri>({x}); }

}  // namespace kusari::functions
