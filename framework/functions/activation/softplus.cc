#include "kusari/framework/functions/activation/softplus.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

class Softplus final : public UnaryFunction<kernels::Softplus, Keep::input> {
 public:
  explicit Softplus(double beta) : UnaryFunction(kernels::Softplus{beta}) {}
  void describe(Attributes& options) const override { options.set("beta", op_.beta); }

 private:
  Variables backward(const Variables& gy) override { return {gy[0] * sigmoid(op_.beta * retained_input(0))}; }
};

}  // namespace

Variable softplus(const Variable& x, double beta) {
  argument::not_nan("F::softplus", "beta", beta);
  if (beta == 0) throw ValueError("F::softplus: beta is 0: it must not be 0");
  return apply<Softplus>({x}, beta);
}

}  // namespace kusari::functions
