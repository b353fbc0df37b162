#include "kusari/framework/functions/math/prod.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

// For each element of the last axis, the product of the others: defined at zeros, where y / x is not.
Variable products_of_others(const Variable& x) {
  const int64_t n = x.shape()[1];
  const Array place = arange(n, Dtype::int32, x.device());
  const Array is_self = pointwise(kernels::Equal{}, place.reshape({n, 1}), place.reshape({1, n}));
  const Variable repeated = broadcast_to(reshape(x, {x.shape()[0], 1, n}), {x.shape()[0], n, n});
  return cast(prod(where(is_self, ones({}, x.dtype(), x.device()), repeated), 2), x.dtype());
}

class Prod final : public FunctionNode {
 public:
  Prod(AxisMask axes, bool keepdims) : axes_{axes}, keepdims_{keepdims} {}
  const char* name() const override { return "prod"; }
  void describe(Attributes& options) const override {
    options.set("axis", axes_);
    options.set("keepdims", keepdims_);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    return {reduce_as(accumulation_dtype(in[0].dtype()), kernels::Prod{}, in[0], axes_, keepdims_)};
  }
  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0);
    Dims order, moved_shape, back = Dims::filled(x.ndim(), 0);
    for (const bool reduced : {false, true}) {
      for (int i = 0; i < x.ndim(); ++i) {
        if (axes_.contains(i) != reduced) continue;
        back[i] = order.ndim();
        order.push_back(i);
        moved_shape.push_back(x.shape()[i]);
      }
    }
    const int64_t n = reduced_count(x.shape(), axes_), rows = gy[0].size();
    const Variable moved = reshape(transpose(x, std::span<const int64_t>(order.begin(), order.size())), {rows, n});
    const Variable others = reshape(products_of_others(moved), moved_shape);
    const Variable g = cast(gy[0], x.dtype());
    return {transpose(others, std::span<const int64_t>(back.begin(), back.size())) *
            reshape(g, reduced_shape(x.shape(), axes_, true))};
  }

  AxisMask axes_;
  bool keepdims_;
};

}  // namespace

Variable prod(const Variable& x, const ReductionOptions& options) {
  expect_given(x, "F::prod", "x");

  return apply<Prod>({x}, options.axis.mask(x.ndim(), "F::prod"), options.keepdims);
}

}  // namespace kusari::functions
