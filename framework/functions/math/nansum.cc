#include "kusari/framework/functions/math/nansum.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

class NanSum final : public FunctionNode {
 public:
  NanSum(AxisMask axes, bool keepdims) : axes_{axes}, keepdims_{keepdims} {}
  const char* name() const override { return "nansum"; }
  void describe(Attributes& options) const override {
    options.set("axis", axes_);
    options.set("keepdims", keepdims_);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    return {reduce_as(accumulation_dtype(in[0].dtype()), kernels::NanSum{}, in[0], axes_, keepdims_)};
  }
  Variables backward(const Variables& gy) override {
    const Array x = retained_input(0).array();
    const Variable g = reshape(cast(gy[0], x.dtype()), reduced_shape(x.shape(), axes_, true));
    const Array counts = pointwise(kernels::Equal{}, x, x);
    return {where(counts, broadcast_to(g, x.shape()), zeros({}, x.dtype(), x.device()))};
  }

  AxisMask axes_;
  bool keepdims_;
};

}  // namespace

Variable nansum(const Variable& x, const ReductionOptions& options) {
  expect_given(x, "F::nansum", "x");
  return apply<NanSum>({x}, options.axis.mask(x.ndim(), "F::nansum"), options.keepdims);
}

}  // namespace kusari::functions
