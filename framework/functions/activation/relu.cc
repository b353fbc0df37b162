#include "kusari/framework/functions/activation/relu.h"

#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

class Relu final : public UnaryFunction<kernels::Relu, Keep::output> {
  Variables backward(const Variables& gy) override {
    return {apply<PiecewiseLinearGrad<kernels::ReluGrad>>({retained_output(0), gy[0]})};
  }
};

}  // namespace

Variable relu(const Variable& x) { return apply<Relu>({x}); }

}  // namespace kusari::functions
