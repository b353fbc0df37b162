#include "kusari/framework/functions/math/cosine_similarity.h"

#include <algorithm>
#include <limits>
#include <string>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"

namespace kusari::functions {

Variable cosine_similarity(const Variable& x1, const Variable& x2, int64_t axis, double eps) {
  const char* const call = "F::cosine_similarity";
  expect_floating(x1, call, "x1");
  expect_floating(x2, call, "x2");
  if (const CompositeInputs in("cosine_similarity", {x1, x2}); in.is_cast())
    return cosine_similarity(in[0], in[1], axis, eps);
  if (x1.dtype() != x2.dtype()) {
    throw TypeError(std::string(call) + ": x1 has dtype " + name(x1.dtype()) + " but x2 has dtype " + name(x2.dtype()) +
                    ": x1.dtype must equal x2.dtype");
  }
  argument::finite_not_negative(call, "eps", eps);
  const Shape shape = broadcast_shapes(x1.shape(), x2.shape(), call);
  const int at = normalize_axis(axis, shape.ndim(), call);
  const Dtype wide = x1.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  const Variable a = cast(broadcast_to(x1, shape), wide), b = cast(broadcast_to(x2, shape), wide);
  // Limited before the root, whose derivative at 0 is infinite; by what the dtype holds.
  const double least = wide == Dtype::float64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  const double limit = eps > 0 ? std::max(eps * eps, least) : 0;
  const auto norm = [&](const Variable& x) { return sqrt(clip(sum(square(x), at), limit, std::nullopt)); };
  return cast(sum(a * b, at) / (norm(a) * norm(b)), x1.dtype());
}

}  // namespace kusari::functions
