#include "kusari/framework/functions/math/fmod.h"

#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/rounding.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Fmod final : public FunctionNode {
 public:
  const char* name() const override { return "fmod"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x, divisor] = c.args("x", "divisor");
    c.expect(x.is_floating(), x.dtype() == divisor.dtype());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    retain_outputs({0});
    return {pointwise(kernels::Fmod{}, in[0], in[1])};
  }
  Variables backward(const Variables& gy) override {
    Variables gradients(2);
    if (needs_grad(0)) gradients[0] = sum_to(gy[0], input_shape(0));
    if (needs_grad(1)) {
      // The whole number beside the remainder: x / divisor may be rounded up to the next one.
      const Variable quotient = round((retained_input(0) - retained_output(0)) / retained_input(1));
      gradients[1] = sum_to(-(quotient * gy[0]), input_shape(1));
    }
    return gradients;
  }
};

}  // namespace

Variable fmod(const Variable& x, const Variable& divisor) {
  expect_given(x, "F::fmod", "x");
  expect_given(divisor, "F::fmod", "divisor");
  broadcast_shapes(x.shape(), divisor.shape(), "F::fmod");
  return apply<Fmod>({x, divisor});
}

}  // namespace kusari::functions
