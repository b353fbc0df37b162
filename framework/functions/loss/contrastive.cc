#include "kusari/framework/functions/loss/contrastive.h"

#include <limits>
#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

class Contrastive final : public FunctionNode {
 public:
  Contrastive(double margin, Reduce reduce) : margin_{margin}, reduce_{reduce} {}
  const char* name() const override { return "contrastive"; }
  void describe(Attributes& options) const override {
    options.set("margin", margin_);
    options.set("reduce", name_of(reduce_));
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x0, x1, y] = c.args("x0", "x1", "y");
    c.expect(x0.is_floating(), x0.dtype() == x1.dtype(), y.is_integral(), x0.ndim() == 2, x0.shape() == x1.shape(),
             y.ndim() == 1, x0.shape(0) == y.shape(0), x0.shape(0) > 0);
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1, 2});
    const Dtype dtype = in[0].dtype(), work = promote(dtype, Dtype::float32);
    const Array squared =
        kusari::reduce(kernels::SquareSum{}, pointwise_as(work, kernels::Sub{}, in[0], in[1]), AxisMask::of(1));
    const Array distance = pointwise(kernels::Sqrt{}, squared);
    const Array gap = pointwise(kernels::Relu{}, pointwise(kernels::RSubConst{margin_}, distance));
    const Array alike = in[2].astype(work), other = pointwise(kernels::RSubConst{1}, alike);
    const Array pushed = pointwise(kernels::Mul{}, other, pointwise(kernels::Square{}, gap));
    const Array loss = pointwise(kernels::MulConst{0.5}, pointwise(kernels::MulAdd{}, alike, squared, pushed));
    if (reduce_ == Reduce::no) return {loss.astype(dtype)};
    return {(reduce_ == Reduce::mean ? kusari::reduce(kernels::Mean{}, loss) : kusari::reduce(kernels::Sum{}, loss))
                .astype(dtype)};
  }

  Variables backward(const Variables& gy) override {
    // So small that it changes no gradient of rounded numbers, and large enough to divide by.
    constexpr double kSmallest = 1e-7;
    const Dtype dtype = input_dtype(0), work = promote(dtype, Dtype::float32);
    const int64_t n = input_shape(0)[0];
    const Variable difference = cast(retained_input(0), work) - cast(retained_input(1), work);
    const Array alike = retained_input(2).array().astype(work).reshape({n, 1});
    const Array minus_other = pointwise(kernels::AddConst{-1}, alike);
    const Variable squared = sum(square(difference), 1, true);
    const Variable distance = sqrt(clip(squared, kSmallest * kSmallest, std::numeric_limits<double>::infinity()));
    const Variable pull = relu(margin_ - distance) / distance * minus_other + alike;
    Variable g = cast(gy[0], work);
    if (reduce_ == Reduce::mean) g = g / n;
    if (reduce_ == Reduce::no) g = reshape(g, {n, 1});
    const Variable gx0 = cast(g * pull * difference, dtype);
    return {gx0, needs_grad(1) ? -gx0 : Variable(), Variable()};
  }

  double margin_;
  Reduce reduce_;
};

}  // namespace

Variable contrastive(const Variable& x0, const Variable& x1, const Variable& y, double margin, Reduce reduce) {
  argument::positive("F::contrastive", "margin", margin);
  return apply<Contrastive>({x0, x1, y}, margin, reduce);
}

}  // namespace kusari::functions
