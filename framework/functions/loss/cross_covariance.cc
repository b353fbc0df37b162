#include "kusari/framework/functions/loss/cross_covariance.h"

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/input_check.h"
#include "kusari/framework/functions/loss/covariance.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"

namespace kusari::functions {
namespace {

void check(const Variable& y, const Variable& z) {
  const InputCheck c("cross_covariance", {&y, &z});
  const auto [y_, z_] = c.args("y", "z");
  c.expect(y_.is_floating(), y_.dtype() == z_.dtype(), y_.ndim() == 2, z_.ndim() == 2, y_.shape(0) == z_.shape(0));
}

}  // namespace

Variable cross_covariance(const Variable& y, const Variable& z, CovarianceReduce reduce) {
  if (const CompositeInputs in("cross_covariance", {y, z}); in.is_cast()) return cross_covariance(in[0], in[1], reduce);
  if (config().type_check) check(y, z);
  const Dtype work = promote(y.dtype(), Dtype::float32);
  const Variable c = covariance(cast(y, work), cast(z, work));
  return cast(reduce == CovarianceReduce::no ? c : sum(square(c)) * 0.5, y.dtype());
}

}  // namespace kusari::functions
