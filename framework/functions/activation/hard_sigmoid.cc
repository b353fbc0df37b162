#include "kusari/framework/functions/activation/hard_sigmoid.h"

#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

class HardSigmoid final : public UnaryFunction<kernels::HardSigmoid, Keep::input> {
  Variables backward(const Variables& gy) override {
    return {apply<PiecewiseLinearGrad<kernels::HardSigmoidGrad>>({retained_input(0), gy[0]})};
  }
};

}  // namespace

Variable hard_sigmoid(const Variable& x) { return apply<HardSigmoid>({x}); }

}  // namespace kusari::functions
