#include "kusari/framework/functions/math/log_ndtr.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

/// y = h(x), the density of the normal distribution over ndtr; h' = -h (x + h).
class LogNdtrGrad final : public UnaryFunction<kernels::LogNdtrGrad, Keep::input> {
  Arrays forward(const ArrayRefs& in) override {
    retain_outputs({0});
    return UnaryFunction::forward(in);
  }
  Variables backward(const Variables& gy) override {
    const Variable h = retained_output(0);
    return {-(h * (retained_input(0) + h) * gy[0])};
  }
};

class LogNdtr final : public UnaryFunction<kernels::LogNdtr, Keep::input> {
  Variables backward(const Variables& gy) override { return {apply<LogNdtrGrad>({retained_input(0)}) * gy[0]}; }
};

}  // namespace

Variable log_ndtr(const Variable& x) { return apply<LogNdtr>({x}); }

}  // namespace kusari::functions
