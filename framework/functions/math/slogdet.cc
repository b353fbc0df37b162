#include "kusari/framework/functions/math/slogdet.h"

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matrix_gradients.h"
#include "kusari/framework/kernels/decompositions.h"

namespace kusari::functions {
namespace {

class Slogdet final : public FunctionNode {
 public:
  const char* name() const override { return "slogdet"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [a] = c.args("a");
    c.expect(a.is_floating(), a.ndim() >= 2, a.shape(-2) == a.shape(-1));
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    const Array sign = empty(Shape(in[0].shape().begin(), in[0].shape().end() - 2), in[0].dtype(), in[0].device());
    const Array log = empty_like(sign);
    launch<kernels::LogDeterminant>(sign.device(), in[0], sign, log);
    return {sign, log};
  }
  Variables backward(const Variables& gy) override {
    if (!gy[1].is_defined()) return Variables(1);
    const Variable a = retained_input(0);
    const Variable identity(diagonal_mask(a.shape(-1), a.device()).astype(a.dtype()), false);
    return {solve_in_gradient("F::slogdet", transposed(a), identity * expand_dims(expand_dims(gy[1], -1), -1))};
  }
};

}  // namespace

SignedLog slogdet(const Variable& a) {
  const Variables y = apply_all<Slogdet>({a});
  return {Variable(y[0].array(), false), y[1]};
}

}  // namespace kusari::functions
