#include "kusari/framework/functions/evaluation/binary_accuracy.h"

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

class BinaryAccuracy final : public FunctionNode {
 public:
  const char* name() const override { return "binary_accuracy"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [y, t] = c.args("y", "t");
    c.expect(y.is_floating(), t.is_integral(), y.shape() == t.shape());
  }

  Arrays forward(const ArrayRefs& in) override {
    const Array &y = in[0], &t = in[1];
    const AxisMask all = AxisMask::all(t.ndim());
    const Array hit = pointwise(kernels::Equal{}, pointwise(kernels::GreaterEqualConst{0}, y), t);
    const Array hits = reduce_as(Dtype::float32, kernels::Sum{}, hit, all);
    const Array total = reduce_as(Dtype::float32, kernels::Sum{}, pointwise(kernels::NotEqualConst{-1}, t), all);
    pointwise_to(total, kernels::Clip{1, 9e18}, total);
    return {pointwise_as(y.dtype(), kernels::Div{}, hits, total)};
  }

  Variables backward(const Variables&) override { return {Variable(), Variable()}; }
};

}  // namespace

Variable binary_accuracy(const Variable& y, const Variable& t) {
  const auto mode = no_backprop_mode();
  return apply<BinaryAccuracy>({y, t});
}

}  // namespace kusari::functions
