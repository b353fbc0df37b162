#include "kusari/framework/functions/math/batch_l2_norm_squared.h"

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

class BatchL2NormSquared final : public FunctionNode {
 public:
  const char* name() const override { return "batch_l2_norm_squared"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating(), x.ndim() >= 2);
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    AxisMask axes = AxisMask::all(in[0].ndim());
    axes.bits &= ~AxisMask::of(0).bits;
    return {reduce(kernels::SquareSum{}, in[0], axes)};
  }
  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0);
    Shape shape = Shape::filled(x.ndim(), 1);
    shape[0] = x.shape()[0];
    return {2 * x * reshape(gy[0], shape)};
  }
};

}  // namespace

Variable batch_l2_norm_squared(const Variable& x) { return apply<BatchL2NormSquared>({x}); }

}  // namespace kusari::functions
