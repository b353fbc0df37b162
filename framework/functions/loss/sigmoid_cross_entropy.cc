#include "kusari/framework/functions/loss/sigmoid_cross_entropy.h"

#include <algorithm>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

class SigmoidCrossEntropy final : public FunctionNode {
 public:
  explicit SigmoidCrossEntropy(const SigmoidCrossEntropyOptions& options) : options_{options} {}
  const char* name() const override { return "sigmoid_cross_entropy"; }
  void describe(Attributes& options) const override {
    options.set("normalize", options_.normalize);
    options.set("reduce", name_of(options_.reduce));
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x, t] = c.args("x", "t");
    c.expect(x.is_floating(), t.is_integral(), x.shape() == t.shape());
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    const Array &x = in[0], &t = in[1];
    const Dtype wide = is_half(x.dtype()) ? Dtype::float32 : x.dtype();
    counts_ = pointwise(kernels::NotEqualConst{-1}, t);
    // log(1 + exp(x)) - t x, where the first term does not overflow.
    const Array losses = pointwise_as(wide, kernels::Softplus{1}, x);
    pointwise_to(losses, kernels::Sub{}, losses, pointwise_as(wide, kernels::Mul{}, t, x));
    pointwise_to(losses, kernels::Mul{}, losses, counts_);
    if (options_.reduce == Reduce::no) return {losses.astype(x.dtype())};
    divisor_ = divisor(t, wide);
    const Array loss = reduce(kernels::Sum{}, losses);
    pointwise_to(loss, kernels::Div{}, loss, divisor_);
    return {loss.astype(x.dtype())};
  }

  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0);
    Variable g = gy[0];
    // A 16-bit type may not hold the divisor.
    if (divisor_.is_defined()) g = cast(cast(g, divisor_.dtype()) / divisor_, g.dtype());
    return {g * ((sigmoid(x) - retained_input(1).array()) * counts_), Variable()};
  }

  // A scalar: the number of labels that count, at least 1; or the batch size.
  Array divisor(const Array& t, Dtype dtype) const {
    if (!options_.normalize) {
      return full({}, t.ndim() == 0 ? 1 : std::max<int64_t>(t.shape()[0], 1), dtype, t.device());
    }
    const Array count = reduce_as(dtype, kernels::Sum{}, counts_, AxisMask::all(t.ndim()));
    pointwise_to(count, kernels::Clip{1, 9e18}, count);
    return count;
  }

  SigmoidCrossEntropyOptions options_;
  Array counts_;   // whether a label counts
  Array divisor_;  // of the mean; undefined with Reduce::no
};

}  // namespace

Variable sigmoid_cross_entropy(const Variable& x, const Variable& t, const SigmoidCrossEntropyOptions& options) {
  if (options.reduce == Reduce::sum) throw ValueError("F::sigmoid_cross_entropy: reduce must be mean or no");
  return apply<SigmoidCrossEntropy>({x, t}, options);
}

}  // namespace kusari::functions
