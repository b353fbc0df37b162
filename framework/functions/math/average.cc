#include "kusari/framework/functions/math/average.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/channel_parameter.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

class Mean final : public FunctionNode {
 public:
  Mean(AxisMask axes, bool keepdims) : axes_{axes}, keepdims_{keepdims} {}
  const char* name() const override { return "average"; }
  void describe(Attributes& options) const override {
    options.set("axis", axes_);
    options.set("keepdims", keepdims_);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating());
  }
  Arrays forward(const ArrayRefs& in) override { return {reduce(kernels::Mean{}, in[0], axes_, keepdims_)}; }
  Variables backward(const Variables& gy) override {
    const Shape& shape = input_shape(0);
    const auto count = static_cast<double>(reduced_count(shape, axes_));
    return {broadcast_to(reshape(gy[0] / count, reduced_shape(shape, axes_, true)), shape)};
  }

  AxisMask axes_;
  bool keepdims_;
};

// weights as an array that broadcasts to x.
Variable aligned_weights(const Variable& x, const Axes& axis, const Variable& weights) {
  if (axis.is_all()) {
    if (weights.shape() != x.shape()) {
      throw TypeError("F::average: x has shape " + to_string(x.shape()) + " but weights has shape " +
                      to_string(weights.shape()) + ": without an axis, weights.shape must equal x.shape");
    }
    return weights;
  }
  if (axis.given().ndim() != 1) {
    throw ValueError("F::average: axis has " + std::to_string(axis.given().ndim()) +
                     " axes: with weights it must be one axis or all");
  }
  const int k = normalize_axis(axis.given()[0], x.ndim(), "F::average");
  if (weights.ndim() != 1 || weights.shape()[0] != x.shape()[k]) {
    throw TypeError("F::average: x has shape " + to_string(x.shape()) + " but weights has shape " +
                    to_string(weights.shape()) + ": weights.shape must be (x.shape[" + std::to_string(k) + "],)");
  }
  Shape shape = Shape::filled(x.ndim(), 1);
  shape[k] = x.shape()[k];
  return reshape(weights, shape);
}

}  // namespace

Variable average(const Variable& x, const AverageOptions& options) {
  const auto& [axis, weights, keepdims] = options;
  expect_given(x, "F::average", "x");
  if (!weights.is_defined()) return apply<Mean>({x}, axis.mask(x.ndim(), "F::average"), keepdims);
  expect_one_dtype(x, weights, "F::average", "weights");
  if (is_half(x.dtype())) {  // neither the products nor the sums may be beyond 16 bits
    const AverageOptions wide{axis, cast(weights, Dtype::float32), keepdims};
    return cast(average(cast(x, Dtype::float32), wide), x.dtype());
  }
  return sum(x * aligned_weights(x, axis, weights), axis, keepdims) / sum(weights);
}

}  // namespace kusari::functions
