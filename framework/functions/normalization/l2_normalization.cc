#include "kusari/framework/functions/normalization/l2_normalization.h"

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

class NormalizeL2 final : public FunctionNode {
 public:
  NormalizeL2(double eps, AxisMask axes) : eps_{eps}, axes_{axes} {}
  const char* name() const override { return "normalize"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating());
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    const Array& x = in[0];
    return {pointwise_as(x.dtype(), kernels::Div{}, x, pointwise(kernels::AddConst{eps_}, norm(x)))};
  }

  Variables backward(const Variables& gy) override {
    if (!config().enable_backprop) return {Variable(fused_gradient(gy[0].array()), false)};
    const Variable x = cast(retained_input(0), wide()), g = cast(gy[0], wide());
    const Axes axes = as_axes(x.ndim());
    const Variable length = sqrt(sum(square(x), axes, true) + tiny()), scale = length + eps_;
    const Variable gx = g / scale - x * (sum(x * g, axes, true) / (length * scale * scale));
    return {cast(gx, input_dtype(0))};
  }

  // gx = gy / s - x sum(x gy) / (|x| s^2) with s = |x| + eps.
  Array fused_gradient(const Array& gy) const {
    const Array x = retained_input(0).array();
    const Array length = norm(x),
                reciprocal = pointwise(kernels::RDivConst{1}, pointwise(kernels::AddConst{eps_}, length));
    const Array dot = reduce(kernels::Sum{}, pointwise_as(wide(), kernels::Mul{}, x, gy), axes_, true);
    const Array divided = pointwise(kernels::Div{}, dot, pointwise(kernels::AddConst{tiny()}, length));
    const Array factor = pointwise(kernels::Mul{}, pointwise(kernels::Mul{}, divided, reciprocal),
                                   pointwise(kernels::MulConst{-1}, reciprocal));
    const Array along = pointwise_as(wide(), kernels::Mul{}, x, factor);
    return pointwise_as(x.dtype(), kernels::MulAdd{}, gy, reciprocal, along);
  }

  Dtype wide() const { return input_dtype(0) == Dtype::float64 ? Dtype::float64 : Dtype::float32; }
  // Keeps zero vectors from 0 / 0; the square of a representable number is nothing beside it or far above.
  double tiny() const { return wide() == Dtype::float64 ? 1e-300 : 1e-37; }

  Array norm(const Array& x) const {
    const Dtype dtype = x.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
    return pointwise(kernels::Sqrt{}, reduce_as(dtype, kernels::SquareSum{}, x, axes_, true));
  }

  Axes as_axes(int ndim) const {
    Dims axes;
    for (int axis = 0; axis < ndim; ++axis) {
      if (axes_.contains(axis)) axes.push_back(axis);
    }
    return Axes(std::span<const int64_t>(axes.begin(), axes.size()));
  }

  double eps_;
  AxisMask axes_;
};

}  // namespace

Variable normalize(const Variable& x, double eps, const Axes& axis) {
  return apply<NormalizeL2>({x}, eps, axis.mask(x.ndim(), "F::normalize"));
}

}  // namespace kusari::functions
