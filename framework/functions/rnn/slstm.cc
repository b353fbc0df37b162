#include "kusari/framework/functions/rnn/slstm.h"

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/input_check.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/rnn/gates.h"

namespace kusari::functions {
namespace {

void check(const Variable& c_prev1, const Variable& c_prev2, const Variable& x1, const Variable& x2) {
  const InputCheck rules("slstm", {&c_prev1, &c_prev2, &x1, &x2});
  const auto [c1, c2, a, b] = rules.args("c_prev1", "c_prev2", "x1", "x2");
  rules.expect(c1.is_floating(), c2.dtype() == c1.dtype(), a.dtype() == c1.dtype(), b.dtype() == c1.dtype(),
               c1.ndim() >= 2, c2.ndim() == c1.ndim(), a.ndim() == c1.ndim(), b.ndim() == c1.ndim());
  const int64_t gates = 4 * c_prev1.shape()[1];
  rules.expect(a.shape(1) == gates, b.shape(1) == gates, c2.shape(1) == c1.shape(1));
  for (int axis = 0; axis < c_prev1.ndim(); ++axis) {
    if (axis == 1) continue;
    rules.expect(c2.shape(axis) == c1.shape(axis), a.shape(axis) == c1.shape(axis), b.shape(axis) == c1.shape(axis));
  }
}

}  // namespace

CellOutput slstm(const Variable& c_prev1, const Variable& c_prev2, const Variable& x1, const Variable& x2) {
  expect_given(c_prev1, "F::slstm", "c_prev1");
  expect_given(c_prev2, "F::slstm", "c_prev2");
  expect_given(x1, "F::slstm", "x1");
  expect_given(x2, "F::slstm", "x2");
  if (const CompositeInputs in("slstm", {c_prev1, c_prev2, x1, x2}); in.is_cast()) {
    return slstm(in[0], in[1], in[2], in[3]);
  }
  if (config().type_check) check(c_prev1, c_prev2, x1, x2);
  const Variables g1 = interleaved_gates(x1, 4), g2 = interleaved_gates(x2, 4);
  const Variable c = tanh(g1[0] + g2[0]) * sigmoid(g1[1] + g2[1]) + sigmoid(g1[2]) * c_prev1 + sigmoid(g2[2]) * c_prev2;
  return {c, sigmoid(g1[3] + g2[3]) * tanh(c)};
}

}  // namespace kusari::functions
