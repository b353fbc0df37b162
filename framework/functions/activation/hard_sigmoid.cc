#include "kusari/framework/functions/activation/hard_sigmoid.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

class HardSigmoid final : public UnaryFunction<kernels::HardSigmoid, Keep::input> {
 public:
  explicit HardSigmoid(const HardSigmoidOptions& options)
      : UnaryFunction(kernels::HardSigmoid{options.alpha, options.beta}) {}
  void describe(Attributes& options) const override {
    options.set("alpha", op_.alpha);
    options.set("beta", op_.beta);
  }

 private:
  Variables backward(const Variables& gy) override {
    return {apply<PiecewiseLinearGrad<kernels::HardSigmoidGrad>>({retained_input(0), gy[0]},
                                                                 kernels::HardSigmoidGrad{op_.alpha, op_.beta})};
  }
};

}  // namespace

Variable hard_sigmoid(const Variable& x, const HardSigmoidOptions& options) {
  argument::not_nan("F::hard_sigmoid", "alpha", options.alpha);
  argument::not_nan("F::hard_sigmoid", "beta", options.beta);
  return apply<HardSigmoid>({x}, options);
}

}  // namespace kusari::functions
