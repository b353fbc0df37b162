#include "kusari/framework/functions/math/ndtr.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

constexpr double kDensityAtZero = 0.39894228040143267794;  // 1 / sqrt(2 pi)

class Ndtr final : public UnaryFunction<kernels::Ndtr, Keep::input> {
  Variables backward(const Variables& gy) override {
    return {kDensityAtZero * exp(-0.5 * square(retained_input(0))) * gy[0]};
  }
};

}  // namespace

Variable ndtr(const Variable& x) { return apply<Ndtr>({x}); }

}  // namespace kusari::functions
