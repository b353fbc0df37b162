#include "kusari/framework/functions/activation/thresholded_relu.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

class ThresholdedRelu final : public UnaryFunction<kernels::ThresholdedRelu, Keep::input> {
 public:
  explicit ThresholdedRelu(double alpha) : UnaryFunction(kernels::ThresholdedRelu{alpha}) {}
  void describe(Attributes& options) const override { options.set("alpha", op_.alpha); }

 private:
  Variables backward(const Variables& gy) override {
    return {apply<PiecewiseLinearGrad<kernels::ThresholdedReluGrad>>({retained_input(0), gy[0]},
                                                                     kernels::ThresholdedReluGrad{op_.alpha})};
  }
};

}  // namespace

Variable thresholded_relu(const Variable& x, double alpha) {
  argument::not_nan("F::thresholded_relu", "alpha", alpha);
  return apply<ThresholdedRelu>({x}, alpha);
}

}  // namespace kusari::functions
