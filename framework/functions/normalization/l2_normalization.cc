#include "kusari/framework/functions/normalization/l2_normalization.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/normalization.h"

namespace kusari::functions {
namespace {

class NormalizeL2 final : public FunctionNode {
 public:
  NormalizeL2(double eps, AxisMask axes) : options_{eps, axes} {}
  const char* name() const override { return "normalize"; }
  void describe(Attributes& options) const override {
    options.set("eps", options_.eps);
    options.set("axis", options_.axes);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating());
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    const Array& x = in[0];
    const Array y = empty_like(x);
    launch<kernels::L2Normalization>(x.device(), options_, x, y);
    return {y};
  }

  Variables backward(const Variables& gy) override {
    if (!config().enable_backprop) {
      const Array x = retained_input(0).array();
      const Array gx = empty_like(x);
      launch<kernels::L2NormalizationGrad>(x.device(), options_, x, gy[0].array(), gx);
      return {Variable(gx, false)};
    }
    const Dtype wide = input_dtype(0) == Dtype::float64 ? Dtype::float64 : Dtype::float32;
    // Keeps zero vectors from 0 / 0, and is nothing beside the square of any other.
    const double tiny = wide == Dtype::float64 ? 1e-300 : 1e-37;
    const Variable x = cast(retained_input(0), wide), g = cast(gy[0], wide);
    const Axes axes = as_axes(x.ndim());
    const Variable length = sqrt(sum(square(x), axes, true) + tiny), scale = length + options_.eps;
    const Variable gx = g / scale - x * (sum(x * g, axes, true) / (length * scale * scale));
    return {cast(gx, input_dtype(0))};
  }

  Axes as_axes(int ndim) const {
    Dims axes;
    for (int axis = 0; axis < ndim; ++axis) {
      if (options_.axes.contains(axis)) axes.push_back(axis);
    }
    return Axes(std::span<const int64_t>(axes.begin(), axes.size()));
  }

  kernels::L2NormalizationOptions options_;
};

}  // namespace

Variable normalize(const Variable& x, double eps, const Axes& axis) {
  argument::at_least_zero("F::normalize", "eps", eps);

  expect_given(x, "F::normalize", "x");

  return apply<NormalizeL2>({x}, eps, axis.mask(x.ndim(), "F::normalize"));
}

}  // namespace kusari::functions
