#include "kusari/framework/functions/loss/decov.h"

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/input_check.h"
#include "kusari/framework/functions/loss/covariance.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

void check(const Variable& h) {
  const InputCheck c("decov", {&h});
  const auto [h_] = c.args("h");
  c.expect(h_.is_floating(), h_.ndim() == 2);
}

}  // namespace

Variable decov(const Variable& h, CovarianceReduce reduce) {
  if (const CompositeInputs in("decov", {h}); in.is_cast()) return decov(in[0], reduce);
  if (config().type_check) check(h);
  const Variable wide = cast(h, promote(h.dtype(), Dtype::float32));
  const int64_t m = h.shape()[1];
  const Array place = arange(m, Dtype::int64, h.device());
  const Array is_diagonal = pointwise(kernels::Equal{}, place.reshape({m, 1}), place);
  const Variable c = where(is_diagonal, zeros({}, wide.dtype(), h.device()), covariance(wide, wide));
  return cast(reduce == CovarianceReduce::no ? c : sum(square(c)) * 0.5, h.dtype());
}

}  // namespace kusari::functions
