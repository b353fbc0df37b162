#include "kusari/framework/functions/loss/hinge.h"

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/input_check.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/rows.h"

namespace kusari::functions {
namespace {

void check_labels(const Variable& x, const Variable& t) {
  const InputCheck c("hinge", {&x, &t});
  const auto [x_, t_] = c.args("x", "t");
  c.expect(x_.is_floating(), t_.is_integral(), x_.ndim() == 2, t_.ndim() == 1, x_.shape(0) == t_.shape(0));
}

// -1 for the class of each label, 1 elsewhere: (N, K).
Array signs(const Array& t, int64_t classes, Dtype dtype) {
  const Array numbers = arange(classes, Dtype::int64, t.device());
  const Array labels = empty({t.size(), 1}, Dtype::int64, t.device());  // none of them negative
  launch<kernels::TakeRows>(t.device(), kernels::RowLookup{.call = "F::hinge"}, numbers.reshape({classes, 1}),
                            t.astype(Dtype::int64).contiguous(), labels);
  return pointwise_as(dtype, kernels::Affine{-2, 1}, pointwise(kernels::Equal{}, labels, numbers));
}

}  // namespace

Variable hinge(const Variable& x, const Variable& t, HingeNorm norm, Reduce reduce) {
  if (const CompositeInputs in("hinge", {x, t}); in.is_cast()) return hinge(in[0], in[1], norm, reduce);
  if (config().type_check) check_labels(x, t);
  const Variable wide = cast(x, promote(x.dtype(), Dtype::float32));
  const Variable violation = relu(1 + wide * signs(t.array(), x.shape()[1], wide.dtype()));
  Variable loss = norm == HingeNorm::L1 ? violation : square(violation);
  if (reduce != Reduce::no) loss = sum(loss);
  if (reduce == Reduce::mean) loss = loss / x.shape()[0];
  return cast(loss, x.dtype());
}

}  // namespace kusari::functions
