#include "kusari/framework/functions/math/minmax.h"

#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

[[noreturn]] void throw_empty(const char* name, const Shape& shape) {
  throw ValueError(std::string("F::") + name + ": x has shape " + to_string(shape) +
                   ": an axis without elements has no extreme");
}

template <class Reducer>
class Extreme final : public FunctionNode {
 public:
  Extreme(AxisMask axes, bool keepdims) : axes_{axes}, keepdims_{keepdims} {}
  const char* name() const override { return Reducer::kName; }
  void describe(Attributes& options) const override {
    options.set("axis", axes_);
    options.set("keepdims", keepdims_);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating());
  }
  Arrays forward(const ArrayRefs& in) override {
    const Shape& shape = in[0].shape();
    if (reduced_count(shape, axes_) == 0) throw_empty(name(), shape);
    retain_inputs({0});
    retain_outputs({0});
    return {reduce(Reducer{}, in[0], axes_, keepdims_)};
  }
  Variables backward(const Variables& gy) override {
    const Array x = retained_input(0).array();
    const Shape kept = reduced_shape(x.shape(), axes_, true);
    const Array y = retained_output(0).array().reshape(kept);
    const Array is_extreme = pointwise_as(x.dtype(), kernels::Equal{}, x, y);
    return {broadcast_to(reshape(gy[0], kept), x.shape()) * Variable(is_extreme, false)};
  }

  AxisMask axes_;
  bool keepdims_;
};

// An axis of -1: x as one flat range.
template <class Kernel>
class Place final : public FunctionNode {
 public:
  explicit Place(int axis) : axis_{axis} {}
  const char* name() const override { return Kernel::kName; }
  void describe(Attributes& options) const override {
    if (axis_ >= 0) options.set("axis", axis_);
  }
  Precision precision() const noexcept override { return Precision::untouched; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    Shape shape = axis_ < 0 ? Shape{} : in[0].shape();
    if (axis_ >= 0) shape.erase(axis_);
    const Array y = empty(shape, Dtype::int32, in[0].device());
    launch<Kernel>(in[0].device(), axis_, in[0], y);
    return {y};
  }
  Variables backward(const Variables&) override { return {Variable()}; }

  int axis_;
};

template <class Reducer>
Variable extreme(const char* call, const Variable& x, const ReductionOptions& options) {
  expect_given(x, call, "x");
  const AxisMask axes = options.axis.mask(x.ndim(), call);
  if (is_floating(x.dtype())) return apply<Extreme<Reducer>>({x}, axes, options.keepdims);
  if (reduced_count(x.shape(), axes) == 0) throw_empty(Reducer::kName, x.shape());
  return Variable(reduce(Reducer{}, x.array(), axes, options.keepdims), false);
}

template <class Kernel>
Variable place(const Variable& x, std::optional<int64_t> axis, const char* call) {
  const int k = axis ? normalize_axis(*axis, x.ndim(), call) : -1;
  if ((k < 0 ? x.size() : x.shape()[k]) == 0) throw_empty(Kernel::kName, x.shape());
  return apply<Place<Kernel>>({Variable(x.array(), false)}, k);
}

}  // namespace

Variable max(const Variable& x, const ReductionOptions& options) { return extreme<kernels::Max>("F::max", x, options); }
Variable min(const Variable& x, const ReductionOptions& options) { return extreme<kernels::Min>("F::min", x, options); }

Variable argmax(const Variable& x, std::optional<int64_t> axis) {
  expect_given(x, "F::argmax", "x");
  return place<kernels::Argmax>(x, axis, "F::argmax");
}
Variable argmin(const Variable& x, std::optional<int64_t> axis) {
  expect_given(x, "F::argmin", "x");
  return place<kernels::Argmin>(x, axis, "F::argmin");
}

}  // namespace kusari::functions
