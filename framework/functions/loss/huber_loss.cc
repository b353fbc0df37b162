#include "kusari/framework/functions/loss/huber_loss.h"

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/sum.h"

namespace kusari::functions {

Variable huber_loss(const Variable& x, const Variable& t, double delta, HuberReduce reduce) {
  expect_floating(x, "F::huber_loss", "x");
  expect_given(t, "F::huber_loss", "t");

  if (const CompositeInputs in("huber_loss", {x, t}); in.is_cast()) return huber_loss(in[0], in[1], delta, reduce);
  if (x.shape() != t.shape()) {
    throw TypeError("F::huber_loss: x has shape " + to_string(x.shape()) + " but t has shape " + to_string(t.shape()) +
                    ": x.shape must equal t.shape");
  }
  if (x.dtype() != t.dtype()) {
    throw TypeError(std::string("F::huber_loss: x has dtype ") + name(x.dtype()) + " but t has dtype " +
                    name(t.dtype()) + ": x.dtype must equal t.dtype");
  }
  argument::not_negative("F::huber_loss", "delta", delta);
  if (reduce != HuberReduce::no && x.ndim() < 2) {
    throw TypeError("F::huber_loss: x has shape " + to_string(x.shape()) +
                    ": x.ndim must be at least 2 to sum along the second axis (" + std::to_string(x.ndim()) + " < 2)");
  }
  // With d limited to [-delta, delta], both branches are one product.
  const Variable d = x - t, near = clip(d, -delta, delta);
  const Variable loss = near * (d - 0.5 * near);
  return reduce == HuberReduce::no ? loss : sum(loss, 1);
}

}  // namespace kusari::functions
