#include "kusari/framework/functions/evaluation/accuracy.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

class Accuracy final : public FunctionNode {
 public:
  explicit Accuracy(std::optional<int64_t> ignore_label) : ignore_label_{ignore_label} {}
  const char* name() const override { return "accuracy"; }
  void describe(Attributes& options) const override { options.set("ignore_label", ignore_label_); }

 private:
  void check(const TypeCheck& c) const override {
    const auto [y, t] = c.args("y", "t");
    c.expect(y.is_floating(), t.is_integral(), y.ndim() >= 2, t.ndim() == y.array().ndim() - 1,
             t.shape(0) == y.shape(0), y.shape(1) >= 1);
    for (int i = 2; i < y.array().ndim(); ++i) c.expect(t.shape(i - 1) == y.shape(i));
  }

  Arrays forward(const ArrayRefs& in) override {
    const Array &y = in[0], &t = in[1];
    const AxisMask all = AxisMask::all(t.ndim());
    const Array predicted = empty(t.shape(), Dtype::int32, y.device());
    launch<kernels::Argmax>(y.device(), 1, y, predicted);
    const Array hit = pointwise(kernels::Equal{}, predicted, t);
    if (!ignore_label_)
      return {reduce_as(y.dtype(), kernels::Mean{}, hit.astype(promote(y.dtype(), Dtype::float32)), all)};
    const Array counts = pointwise(kernels::NotEqualConst{static_cast<double>(*ignore_label_)}, t);
    const Array hits = reduce_as(Dtype::float32, kernels::Sum{}, pointwise(kernels::LogicalAnd{}, hit, counts), all);
    const Array total = reduce_as(Dtype::float32, kernels::Sum{}, counts, all);
    pointwise_to(total, kernels::Clip{1, 9e18}, total);
    return {pointwise_as(y.dtype(), kernels::Div{}, hits, total)};
  }

  Variables backward(const Variables&) override { return {Variable(), Variable()}; }

  std::optional<int64_t> ignore_label_;
};

}  // namespace

Variable accuracy(const Variable& y, const Variable& t, std::optional<int64_t> ignore_label) {
  const auto mode = no_backprop_mode();
  return apply<Accuracy>({y, t}, ignore_label);
}

}  // namespace kusari::functions
