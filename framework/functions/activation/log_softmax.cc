#include "kusari/framework/functions/activation/log_softmax.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/softmax.h"

namespace kusari::functions {
namespace {

// gx = gy - exp(y) sum(gy).
class LogSoftmaxGrad final : public FunctionNode {
 public:
  explicit LogSoftmaxGrad(int axis) : axis_{axis} {}
  const char* name() const override { return "log_softmax_grad"; }
  void describe(Attributes& options) const override { options.set("axis", axis_); }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    const Array gx = empty_like(in[0]);
    launch<kernels::LogSoftmaxGrad>(gx.device(), axis_, in[0], in[1], gx);
    return {gx};
  }

  Variables backward(const Variables& ggx) override {
    const Variable y = retained_input(0), gy = retained_input(1);
    const Variable p = exp(y);
    Variables gradients(2);
    if (needs_grad(0)) gradients[0] = -(ggx[0] * p * sum(gy, axis_, true));
    if (needs_grad(1)) gradients[1] = ggx[0] - sum(ggx[0] * p, axis_, true);
    return gradients;
  }

  int axis_;
};

class LogSoftmax final : public FunctionNode {
 public:
  explicit LogSoftmax(int axis) : axis_{axis} {}
  const char* name() const override { return "log_softmax"; }
  void describe(Attributes& options) const override { options.set("axis", axis_); }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating());
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_outputs({0});
    const Array y = empty_like(in[0]);
    launch<kernels::LogSoftmax>(y.device(), axis_, in[0], y);
    return {y};
  }

  Variables backward(const Variables& gy) override {
    return {apply<LogSoftmaxGrad>({retained_output(0), gy[0]}, axis_)};
  }

  int axis_;
};

}  // namespace

Variable log_softmax(const Variable& x, int64_t axis) {
  expect_given(x, "F::log_softmax", "x");

  return apply<LogSoftmax>({x}, normalize_axis(axis, x.ndim(), "F::log_softmax"));
}

}  // namespace kusari::functions
