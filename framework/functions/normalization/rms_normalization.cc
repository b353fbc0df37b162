#include "kusari/framework/functions/normalization/rms_normalization.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/normalization.h"

namespace kusari::functions {
namespace {

class RmsNormalization final : public FunctionNode {
 public:
  explicit RmsNormalization(double eps) : eps_{eps} {}
  const char* name() const override { return "rms_normalization"; }
  void describe(Attributes& options) const override { options.set("eps", eps_); }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    const Array& x = in[0];
    wide_ = promote(promote(x.dtype(), in[1].dtype()), Dtype::float32);
    const Shape rows = rows_of(x);
    const Array y = empty(rows, x.dtype(), x.device());
    inv_rms_ = empty({rows[0]}, Dtype::float64, x.device());
    launch<kernels::RmsNormalization>(x.device(), eps_, x.reshape(rows), in[1], y, inv_rms_);
    return {y.reshape(x.shape())};
  }

  Variables backward(const Variables& gy) override {
    return config().enable_backprop ? differentiable_gradients(gy[0]) : fused_gradients(gy[0].array());
  }

  Variables differentiable_gradients(const Variable& gy) {
    const Variable x = cast(retained_input(0), wide_), gamma = cast(retained_input(1), wide_), g = cast(gy, wide_);
    const auto row_mean = [&](const Variable& v) { return mean(v, {.axis = v.ndim() - 1, .keepdims = true}); };
    const Variable inv_rms = rsqrt(row_mean(square(x)) + eps_), x_hat = x * inv_rms;
    Variables gradients(2);
    if (needs_grad(0)) {
      const Variable g_hat = g * gamma;
      gradients[0] = cast(inv_rms * (g_hat - x_hat * row_mean(g_hat * x_hat)), input_dtype(0));
    }
    if (needs_grad(1)) gradients[1] = cast(sum(reshape(g * x_hat, rows_of(x.array())), 0), input_dtype(1));
    return gradients;
  }

  Variables fused_gradients(const Array& gy) {
    const Array x = retained_input(0).array(), gamma = retained_input(1).array();
    const Shape rows = rows_of(x);
    const Array gx = needs_grad(0) ? empty(rows, x.dtype(), x.device()) : Array();
    const Array ggamma = needs_grad(1) ? empty(gamma.shape(), wide_, x.device()) : Array();
    launch<kernels::RmsNormalizationGrad>(x.device(), x.reshape(rows), gamma, inv_rms_, gy.reshape(rows), gx, ggamma);
    Variables gradients(2);
    if (gx.is_defined()) gradients[0] = Variable(gx.reshape(x.shape()), false);
    if (ggamma.is_defined()) gradients[1] = Variable(ggamma.astype(input_dtype(1)), false);
    return gradients;
  }

  static Shape rows_of(const Array& x) {
    const int64_t n = x.shape(-1);
    return {n == 0 ? 0 : x.size() / n, n};
  }

  double eps_;
  Array inv_rms_;
  Dtype wide_ = Dtype::float32;  // of the arithmetic
};

}  // namespace

Variable rms_normalization(const Variable& x, const Variable& gamma, double eps) {
  expect_floating(x, "F::rms_normalization", "x");
  expect_floating(gamma, "F::rms_normalization", "gamma");
  argument::finite_not_negative("F::rms_normalization", "eps", eps);
  if (x.ndim() == 0 || gamma.shape() != Shape{x.shape()[x.ndim() - 1]}) {
    throw TypeError("F::rms_normalization: gamma has shape " + to_string(gamma.shape()) + " and x " +
                    to_string(x.shape()) + ": gamma must have the size of x's last axis");
  }
  return apply<RmsNormalization>({x, gamma}, eps);
}

}  // namespace kusari::functions
