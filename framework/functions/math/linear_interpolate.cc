#include "kusari/framework/functions/math/linear_interpolate.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class LinearInterpolate final : public FunctionNode {
 public:
  const char* name() const override { return "linear_interpolate"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [p, x, y] = c.args("p", "x", "y");
    c.expect(p.is_floating(), x.dtype() == p.dtype(), y.dtype() == p.dtype(), x.shape() == p.shape(),
             y.shape() == p.shape());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1, 2});
    return {pointwise(kernels::LinearInterpolate{}, in[0], in[1], in[2])};
  }
  Variables backward(const Variables& gz) override {
    const Variable gx = retained_input(0) * gz[0];
    return {needs_grad(0) ? (retained_input(1) - retained_input(2)) * gz[0] : Variable(), gx,
            needs_grad(2) ? gz[0] - gx : Variable()};
  }
};

}  // namespace

Variable linear_interpolate(const Variable& p, const Variable& x, const Variable& y) {
  return apply<LinearInterpolate>({p, x, y});
}

}  // namespace kusari::functions
