#include "kusari/framework/functions/math/logaddexp.h"

#include <string>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/softplus.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/kernels/array_math.h"

namespace kusari::functions {

Variable logaddexp(const Variable& x1, const Variable& x2) {
  expect_floating(x1, "F::logaddexp", "x1");
  expect_floating(x2, "F::logaddexp", "x2");
  if (const CompositeInputs in("logaddexp", {x1, x2}); in.is_cast()) return logaddexp(in[0], in[1]);
  if (x1.dtype() != x2.dtype()) {
    throw TypeError(std::string("F::logaddexp: x1 has dtype ") + name(x1.dtype()) + " but x2 has dtype " +
                    name(x2.dtype()) + ": x1.dtype must equal x2.dtype");
  }
  const Shape shape = broadcast_shapes(x1.shape(), x2.shape(), "F::logaddexp");
  const Variable a = broadcast_to(x1, shape), b = broadcast_to(x2, shape);
  // Which is the larger is chosen without a gradient of its own, so that at a tie each gets half.
  const Array first = a >= b;
  const Variable larger = where(first, a, b), smaller = where(first, b, a);
  // The difference of two equal infinities is none.
  const Array infinite = xp::isinf(larger.array()), alike = a == b;
  const Variable zero(zeros({}, a.dtype(), a.device()), false);
  return larger + softplus(where((infinite * alike).astype(Dtype::bool_), zero, smaller - larger));
}

}  // namespace kusari::functions
