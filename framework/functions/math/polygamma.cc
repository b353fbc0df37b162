#include "kusari/framework/functions/math/polygamma.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Polygamma final : public FunctionNode {
 public:
  const char* name() const override { return "polygamma"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [n, x] = c.args("n", "x");
    c.expect(n.is_integral(), x.is_floating());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {pointwise_as(in[1].dtype(), kernels::Polygamma{}, in[0], in[1])};
  }
  Variables backward(const Variables& gy) override {
    const Variable n(retained_input(0).array().astype(Dtype::int64), false);
    return {Variable(), sum_to(polygamma(n + 1, retained_input(1)) * gy[0], input_shape(1))};
  }
};

}  // namespace

Variable polygamma(const Variable& n, const Variable& x) {
  expect_given(n, "F::polygamma", "n");
  expect_given(x, "F::polygamma", "x");
  broadcast_shapes(n.shape(), x.shape(), "F::polygamma");
  return apply<Polygamma>({n, x});
}

Variable polygamma(int64_t n, const Variable& x) {
  expect_given(x, "F::polygamma", "x");

  argument::not_negative("F::polygamma", "n", n);
  return polygamma(Variable(full(Shape{}, n, Dtype::int64, x.device()), false), x);
}

}  // namespace kusari::functions
