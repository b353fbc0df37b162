#include "kusari/framework/functions/math/modulo.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/rounding.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

// Operands of one shape.
class Modulo final : public FunctionNode {
 public:
  explicit Modulo(ModuloSign sign) : sign_{sign} {}
  const char* name() const override { return "modulo"; }
  void describe(Attributes& options) const override { options.set("fmod", sign_ == ModuloSign::dividend); }

 private:
  void check(const TypeCheck& c) const override {
    const auto [a, b] = c.args("a", "b");
    c.expect(a.dtype() == b.dtype());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    if (sign_ == ModuloSign::dividend) retain_outputs({0});
    return {sign_ == ModuloSign::divisor ? pointwise(kernels::Mod{}, in[0], in[1])
                                         : pointwise(kernels::Fmod{}, in[0], in[1])};
  }
  Variables backward(const Variables& gy) override {
    Variables gradients(2);
    gradients[0] = gy[0];
    if (needs_grad(1)) {
      // The whole number beside the remainder: a / b may be rounded up to the next one.
      const Variable a = retained_input(0), b = retained_input(1);
      const Variable quotient = sign_ == ModuloSign::divisor
                                    ? Variable(pointwise(kernels::FloorDiv{}, a.array(), b.array()), false)
                                    : round((a - retained_output(0)) / b);
      gradients[1] = -(quotient * gy[0]);
    }
    return gradients;
  }

  ModuloSign sign_;
};

}  // namespace

Variable modulo(const Variable& a, const Variable& b, ModuloSign sign) {
  expect_given(a, "F::modulo", "a");
  expect_given(b, "F::modulo", "b");
  if (a.dtype() == Dtype::bool_) throw TypeError("F::modulo: a has dtype bool: a.dtype must be a number's");
  const Shape shape = broadcast_shapes(a.shape(), b.shape(), "F::modulo");
  return apply<Modulo>({broadcast_to(a, shape), broadcast_to(b, shape)}, sign);
}

}  // namespace kusari::functions
