#include "kusari/framework/functions/activation/shrink.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

class Shrink final : public UnaryFunction<kernels::Shrink, Keep::input> {
 public:
  explicit Shrink(const ShrinkOptions& options) : UnaryFunction(kernels::Shrink{options.lambd, options.bias}) {}
  void describe(Attributes& options) const override {
    options.set("lambd", op_.lambd);
    options.set("bias", op_.bias);
  }

 private:
  Variables backward(const Variables& gy) override {
    return {
        apply<PiecewiseLinearGrad<kernels::ShrinkGrad>>({retained_input(0), gy[0]}, kernels::ShrinkGrad{op_.lambd})};
  }
};

}  // namespace

Variable shrink(const Variable& x, const ShrinkOptions& options) {
  argument::not_nan("F::shrink", "lambd", options.lambd);
  argument::not_nan("F::shrink", "bias", options.bias);
  return apply<Shrink>({x}, options);
}

}  // namespace kusari::functions
