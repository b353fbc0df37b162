#include "kusari/framework/functions/math/logsumexp.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/kernels/softmax.h"

namespace kusari::functions {
namespace {

// x with the axes of the mask made one, the last.
Array joined(const Array& x, AxisMask axes) {
  Dims order;
  for (const bool reduced : {false, true}) {
    for (int i = 0; i < x.ndim(); ++i) {
      if (axes.contains(i) == reduced) order.push_back(i);
    }
  }
  Shape shape = reduced_shape(x.shape(), axes, false);
  shape.push_back(reduced_count(x.shape(), axes));
  return x.transpose(std::span<const int64_t>(order.begin(), order.size())).reshape(shape);
}

class LogSumExp final : public FunctionNode {
 public:
  explicit LogSumExp(AxisMask axes) : axes_{axes} {}
  const char* name() const override { return "logsumexp"; }
  void describe(Attributes& options) const override { options.set("axis", axes_); }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating());
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    retain_outputs({0});
    const Array x = joined(in[0], axes_);
    const Array y = empty(reduced_shape(in[0].shape(), axes_, false), x.dtype(), x.device());
    launch<kernels::Logsumexp>(x.device(), x.ndim() - 1, x, y);
    return {y};
  }

  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0);
    const Shape kept = reduced_shape(x.shape(), axes_, true);
    return {reshape(gy[0], kept) * exp(x - reshape(retained_output(0), kept))};
  }

  AxisMask axes_;
};

}  // namespace

Variable logsumexp(const Variable& x, const LogsumexpOptions& options) {
  expect_given(x, "F::logsumexp", "x");

  return apply<LogSumExp>({x}, options.axis.mask(x.ndim(), "F::logsumexp"));
}

}  // namespace kusari::functions
