#include "kusari/framework/functions/math/zeta.h"

#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Zeta final : public FunctionNode {
 public:
  const char* name() const override { return "zeta"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x, q] = c.args("x", "q");
    c.expect(q.is_floating());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {pointwise_as(in[1].dtype(), kernels::Zeta{}, in[0], in[1])};
  }
  Variables backward(const Variables& gy) override {
    const Variable q = retained_input(1), x(retained_input(0).array().astype(q.dtype()), false);
    return {Variable(), sum_to(-(x * zeta(x + 1, q) * gy[0]), q.shape())};
  }
};

}  // namespace

Variable zeta(const Variable& x, const Variable& q) {
  expect_given(x, "F::zeta", "x");
  expect_given(q, "F::zeta", "q");
  broadcast_shapes(x.shape(), q.shape(), "F::zeta");
  return apply<Zeta>({x, q});
}

Variable zeta(Scalar x, const Variable& q) {
  expect_given(q, "F::zeta", "q");

  return zeta(Variable(full(Shape{}, x, Dtype::float64, q.device()).astype(q.dtype()), false), q);
}

}  // namespace kusari::functions
