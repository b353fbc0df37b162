#include "kusari/framework/functions/activation/softmax.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/softmax.h"

namespace kusari::functions {
namespace {

// gx = y (gy - sum(gy y)).
class SoftmaxGrad final : public FunctionNode {
 public:
  explicit SoftmaxGrad(int axis) : axis_{axis} {}
  const char* name() const override { return "softmax_grad"; }
  void describe(Attributes& options) const override { options.set("axis", axis_); }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    const Array gx = empty_like(in[0]);
    launch<kernels::SoftmaxGrad>(gx.device(), axis_, in[0], in[1], gx);
    return {gx};
  }

  Variables backward(const Variables& ggx) override {
    const Variable y = retained_input(0), gy = retained_input(1);
    Variables gradients(2);
    if (needs_grad(0)) {
      gradients[0] = ggx[0] * (gy - sum(gy * y, axis_, true)) - gy * sum(ggx[0] * y, axis_, true);
    }
    if (needs_grad(1)) gradients[1] = apply<SoftmaxGrad>({y, ggx[0]}, axis_);
    return gradients;
  }

  int axis_;
};

class Softmax final : public FunctionNode {
 public:
  explicit Softmax(int axis) : axis_{axis} {}
  const char* name() const override { return "softmax"; }
  void describe(Attributes& options) const override { options.set("axis", axis_); }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating());
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_outputs({0});
    const Array y = empty_like(in[0]);
    launch<kernels::Softmax>(y.device(), axis_, in[0], y);
    return {y};
  }

  Variables backward(const Variables& gy) override { return {apply<SoftmaxGrad>({retained_output(0), gy[0]}, axis_)}; }

  int axis_;
};

}  // namespace

Variable softmax(const Variable& x, int64_t axis) {
  expect_given(x, "F::softmax", "x");

  return apply<Softmax>({x}, normalize_axis(axis, x.ndim(), "F::softmax"));
}

}  // namespace kusari::functions
