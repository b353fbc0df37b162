#include "kusari/framework/functions/math/cumprod.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/flip.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/scan_parts.h"
#include "kusari/framework/kernels/reduce.h"
#include "kusari/framework/kernels/scan.h"

namespace kusari::functions {
namespace {

// y[0] = b[0], y[i] = a[i-1] y[i-1] + b[i], or the same from the end; see kernels::LinearRecurrence.
class Recurrence final : public FunctionNode {
 public:
  explicit Recurrence(const kernels::ScanAxis& along) : along_{along} {}
  const char* name() const override { return "linear_recurrence"; }
  void describe(Attributes& options) const override {
    options.set("axis", along_.axis);
    options.set("reverse", along_.reverse);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    retain_outputs({0});
    const Array y = empty(in[1].shape(), in[1].dtype(), in[1].device());
    launch<kernels::LinearRecurrence>(y.device(), along_, in[0], in[1], y);
    return {y};
  }
  // The gradient runs against y's direction, and each coefficient multiplies the element before it.
  Variables backward(const Variables& gy) override {
    const Variable y = retained_output(0);
    const auto [axis, reverse] = along_;
    const Variable gb = apply<Recurrence>({retained_input(0), gy[0]}, kernels::ScanAxis{axis, !reverse});
    Variables gx(2);
    if (needs_grad(0)) {
      gx[0] =
          reverse ? all_but_last(gb, axis) * all_but_first(y, axis) : all_but_first(gb, axis) * all_but_last(y, axis);
    }
    gx[1] = gb;
    return gx;
  }

  kernels::ScanAxis along_;
};

class Cumprod final : public FunctionNode {
 public:
  explicit Cumprod(int axis) : axis_{axis} {}
  const char* name() const override { return "cumprod"; }
  void describe(Attributes& options) const override { options.set("axis", axis_); }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    retain_outputs({0});
    const Array y = empty(in[0].shape(), accumulation_dtype(in[0].dtype()), in[0].device());
    launch<kernels::CumulativeProduct>(y.device(), kernels::ScanAxis{axis_, false}, in[0], y);
    return {y};
  }
  // gx[i] = y[i-1] r[i], where r[i] = gy[i] + x[i+1] r[i+1] gathers the products that x[i] is a factor of: no division,
  // so that zeros are no special case.
  Variables backward(const Variables& gy) override {
    // Integers are computed as int64, like the products.
    const Variable y = retained_output(0), x = cast(retained_input(0), y.dtype());
    if (x.shape()[axis_] <= 1) return {cast(gy[0], input_dtype(0))};
    Shape first = x.shape();
    first[axis_] = 1;
    const Variable before = concat({ones(first, y.dtype(), y.device()), all_but_last(y, axis_)}, axis_);
    const Variable gx = before * apply<Recurrence>({all_but_first(x, axis_), gy[0]}, kernels::ScanAxis{axis_, true});
    return {cast(gx, input_dtype(0))};
  }

  int axis_;
};

}  // namespace

Variable cumprod(const Variable& x, std::optional<int64_t> axis, const ScanOptions& options) {
  if (!x.is_defined()) return apply<Cumprod>({x}, 0);  // throws
  const Variable along = axis ? x : flatten(x);
  const int k = normalize_axis(axis.value_or(0), along.ndim(), "F::cumprod");
  const Variable forwards = options.reverse ? flip(along, k) : along;
  const Variable y = apply<Cumprod>({options.exclusive ? shifted_by_one(forwards, k, false, 1) : forwards}, k);
  return options.reverse ? flip(y, k) : y;
}

}  // namespace kusari::functions
