#include "kusari/framework/functions/connection/linear.h"

#include <string>
#include <utility>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

// x: (N, K), W: (M, K), b: (M) or absent.
class Linear final : public FunctionNode {
 public:
  const char* name() const override { return "linear"; }

 private:
  bool is_optional(size_t input) const noexcept override { return input == 2; }
  void check(const TypeCheck& c) const override {
    const auto [x, W, b] = c.args("x", "W", "b");
    c.expect(x.ndim() == 2, W.ndim() == 2, x.shape(1) == W.shape(1), x.is_floating(), W.is_floating());
    if (!b.is_given()) return;
    c.expect(b.ndim() == 1, b.shape(0) == W.shape(0));
    const auto same_dtype = b.dtype() == x.dtype();
    // Where W and b agree, it is x that differs.
    if (!same_dtype.holds && (b.dtype() == W.dtype()).holds) c.expect(x.dtype() == W.dtype());
    c.expect(same_dtype);
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    const Array &x = in[0], &W = in[1];
    Array y = empty({x.shape()[0], W.shape()[0]}, x.dtype(), x.device());
    launch<kernels::Matmul>(x.device(), x, W, in[2], kernels::MatmulOptions{.transb = true}, y);
    return {std::move(y)};
  }

  Variables backward(const Variables& gy) override {
    Variables gx(3);
    const bool has_bias_grad = has_input(2) && needs_grad(2);
    if (config().enable_backprop) {
      const Variable &g = gy[0], x = retained_input(0), W = retained_input(1);
      if (needs_grad(0)) gx[0] = matmul(g, W, {.dtype = input_dtype(0)});
      if (needs_grad(1)) gx[1] = matmul(g, x, {.transa = true, .dtype = input_dtype(1)});
      if (has_bias_grad) gx[2] = sum(g, 0);
      return gx;
    }
    // Nobody differentiates further: the same three results without three functions.
    const Array& g = gy[0].array();
    if (needs_grad(0)) gx[0] = product(g, retained_input(1), {}, 0);
    if (needs_grad(1) && has_bias_grad) {
      const Array gW = empty(input_shape(1), input_dtype(1), g.device()),
                  gb = empty(input_shape(2), g.dtype(), g.device());
      launch<kernels::MatmulWithSums>(g.device(), g, retained_input(0).array(), kernels::MatmulOptions{.transa = true},
                                      gW, gb);
      gx[1] = Variable(gW, false);
      gx[2] = Variable(gb, false);
      return gx;
    }
    if (needs_grad(1)) gx[1] = product(g, retained_input(0), {.transa = true}, 1);
    if (has_bias_grad) gx[2] = Variable(reduce(kernels::Sum{}, g, AxisMask::of(0)), false);
    return gx;
  }

  // The gradient of an input, from that of y and the other input.
  Variable product(const Array& g, const Variable& other, kernels::MatmulOptions options, size_t input) const {
    const Array result = empty(input_shape(input), input_dtype(input), g.device());
    launch<kernels::Matmul>(g.device(), g, other.array(), Array(), options, result);
    return Variable(result, false);
  }
};

}  // namespace

Variable linear(const Variable& x, const Variable& W, const Variable& b, const LinearOptions& options) {
  const int batch_axes = options.n_batch_axes;
  if (!x.is_defined()) return apply<Linear>({x, W, b});  // throws
  if (batch_axes < 1 || (batch_axes > 1 && batch_axes > x.ndim())) {
    throw ValueError("F::linear: n_batch_axes is " + std::to_string(batch_axes) + " but x has shape " +
                     to_string(x.shape()) + ": it must be at least 1 and at most x.ndim");
  }
  if (batch_axes == 1 && x.ndim() <= 2) return apply<Linear>({x, W, b});
  Shape batch_shape(x.shape().begin(), x.shape().begin() + batch_axes);
  const Shape input_shape(x.shape().begin() + batch_axes, x.shape().end());
  const Variable y = apply<Linear>({reshape(x, {numel(batch_shape), numel(input_shape)}), W, b});
  if (batch_axes == 1) return y;
  batch_shape.push_back(y.shape()[1]);
  return reshape(y, batch_shape);
}

}  // namespace kusari::functions
