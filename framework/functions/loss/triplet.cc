#include "kusari/framework/functions/loss/triplet.h"

#include <string>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/input_check.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"

namespace kusari::functions {
namespace {

void check(const Variable& anchor, const Variable& positive, const Variable& negative) {
  const InputCheck c("triplet", {&anchor, &positive, &negative});
  const auto [a, p, n] = c.args("anchor", "positive", "negative");
  c.expect(a.is_floating(), a.dtype() == p.dtype(), a.dtype() == n.dtype(), a.shape() == p.shape(),
           a.shape() == n.shape(), a.ndim() >= 2, a.shape(0) > 0);
}

}  // namespace

Variable triplet(const Variable& anchor, const Variable& positive, const Variable& negative, double margin,
                 Reduce reduce) {
  argument::positive("F::triplet", "margin", margin);
  if (const CompositeInputs in("triplet", {anchor, positive, negative}); in.is_cast()) {
    return triplet(in[0], in[1], in[2], margin, reduce);
  }
  if (config().type_check) check(anchor, positive, negative);
  const Dtype work = promote(anchor.dtype(), Dtype::float32);
  const Variable a = cast(anchor, work), p = cast(positive, work), n = cast(negative, work);
  Variable loss = relu(sum(square(a - p) - square(a - n), 1) + margin);
  if (reduce != Reduce::no) loss = sum(loss);
  if (reduce == Reduce::mean) loss = loss / anchor.shape()[0];
  return cast(loss, anchor.dtype());
}

}  // namespace kusari::functions
