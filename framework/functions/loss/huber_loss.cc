#include "kusari/framework/functions/loss/huber_loss.h"

#include "kusari/framework/functions/loss/absolute_error.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"

namespace kusari::functions {

Variable huber_loss(const Variable& x, const Variable& t, double delta, HuberReduce reduce) {
  // With c = min(|d|, delta), both branches are c^2 / 2 + delta (|d| - c).
  const Variable distance = absolute_error(x, t), near = clip(distance, 0, delta);
  const Variable loss = 0.5 * square(near) + delta * (distance - near);
  return reduce == HuberReduce::no ? loss : sum(loss, 1);
}

}  // namespace kusari::functions
