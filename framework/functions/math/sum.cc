#include "kusari/framework/functions/math/sum.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

class Sum final : public FunctionNode {
 public:
  Sum(AxisMask axes, bool keepdims) : axes_{axes}, keepdims_{keepdims} {}
  const char* name() const override { return "sum"; }
  void describe(Attributes& options) const override {
    options.set("axis", axes_);
    options.set("keepdims", keepdims_);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    return {reduce_as(accumulation_dtype(in[0].dtype()), kernels::Sum{}, in[0], axes_, keepdims_)};
  }
  Variables backward(const Variables& gy) override {
    const Shape& shape = input_shape(0);
    const Variable g = cast(gy[0], input_dtype(0));
    return {broadcast_to(reshape(g, reduced_shape(shape, axes_, true)), shape)};
  }

  AxisMask axes_;
  bool keepdims_;
};

// Axes of `from` that an array of shape `to`, aligned at the last axis, repeats or lacks.
AxisMask repeated_axes(const Shape& from, const Shape& to) {
  AxisMask mask;
  const int added = from.ndim() - to.ndim();
  bool valid = added >= 0;
  for (int i = 0; valid && i < from.ndim(); ++i) {
    const int64_t size = i < added ? 1 : to[i - added];
    if (i < added || (size == 1 && from[i] != 1)) {
      mask.bits |= AxisMask::of(i).bits;
    } else {
      valid = size == from[i];
    }
  }
  if (!valid) {
    throw TypeError("F::sum_to: x has shape " + to_string(from) + ", to which shape " + to_string(to) +
                    " does not broadcast");
  }
  return mask;
}

class SumTo final : public FunctionNode {
 public:
  explicit SumTo(const Shape& shape) : shape_{shape} {}
  const char* name() const override { return "sum_to"; }
  void describe(Attributes& options) const override { options.set("shape", shape_); }

 private:
  Arrays forward(const ArrayRefs& in) override {
    const AxisMask axes = repeated_axes(in[0].shape(), shape_);
    const Array y = empty(shape_, accumulation_dtype(in[0].dtype()), in[0].device());
    launch<kernels::Reduction<kernels::Sum>>(in[0].device(), kernels::Sum{}, axes, in[0], y);
    return {y};
  }
  Variables backward(const Variables& gy) override {
    return {broadcast_to(cast(gy[0], input_dtype(0)), input_shape(0))};
  }

  Shape shape_;
};

}  // namespace

Variable sum(const Variable& x, const ReductionOptions& options) {
  expect_given(x, "F::sum", "x");

  return apply<Sum>({x}, options.axis.mask(x.ndim(), "F::sum"), options.keepdims);
}

Variable sum_to(const Variable& x, const Shape& shape) {
  expect_given(x, "F::sum_to", "x");
  return x.shape() == shape ? x : apply<SumTo>({x}, shape);
}

}  // namespace kusari::functions
