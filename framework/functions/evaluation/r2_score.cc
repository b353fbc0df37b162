#include "kusari/framework/functions/evaluation/r2_score.h"

#include <algorithm>
#include <cstdint>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

class R2Score final : public FunctionNode {
 public:
  explicit R2Score(Multioutput multioutput) : multioutput_{multioutput} {}
  const char* name() const override { return "r2_score"; }
  void describe(Attributes& options) const override {
    options.set("multioutput", multioutput_ == Multioutput::raw_values ? "raw_values" : "uniform_average");
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [pred, truth] = c.args("pred", "truth");
    c.expect(pred.is_floating(), truth.is_floating(), pred.ndim() >= 1, pred.shape() == truth.shape());
  }

  Arrays forward(const ArrayRefs& in) override {
    const Array &pred = in[0], &truth = in[1];
    const Dtype work = promote(promote(pred.dtype(), truth.dtype()), Dtype::float32);
    const AxisMask examples = AxisMask::of(0);
    // From the first truth, so that those of truths that are all one number are 0 whatever the mean rounds to.
    const Array first = truth.slice(0, 0, std::min<int64_t>(truth.shape()[0], 1));
    const Array offset = pointwise_as(work, kernels::Sub{}, truth, first);
    const Array residual = sum_of_squares(work, pred, truth);
    const Array total = sum_of_squares(work, offset, reduce(kernels::Mean{}, offset, examples));
    const Array is_constant = pointwise(kernels::EqualConst{0}, total);
    const Array score = pointwise(kernels::RSubConst{1}, pointwise(kernels::Div{}, residual, total));
    const Array scores = pointwise_as(work, kernels::Where{}, is_constant, zeros({}, work, pred.device()), score);
    if (multioutput_ == Multioutput::raw_values) return {scores.astype(pred.dtype())};
    return {reduce(kernels::Mean{}, scores).astype(pred.dtype())};
  }

  static Array sum_of_squares(Dtype dtype, const Array& a, const Array& b) {
    return reduce(kernels::SquareSum{}, pointwise_as(dtype, kernels::Sub{}, a, b), AxisMask::of(0));
  }

  Variables backward(const Variables&) override { return {Variable(), Variable()}; }

  Multioutput multioutput_;
};

}  // namespace

Variable r2_score(const Variable& pred, const Variable& truth, Multioutput multioutput) {
  const auto mode = no_backprop_mode();
  return apply<R2Score>({pred, truth}, multioutput);
}

}  // namespace kusari::functions
