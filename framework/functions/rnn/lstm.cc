#include "kusari/framework/functions/rnn/lstm.h"

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/input_check.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/rnn/gates.h"

namespace kusari::functions {
namespace {

void check(const Variable& c_prev, const Variable& x) {
  const InputCheck rules("lstm", {&c_prev, &x});
  const auto [c, x_] = rules.args("c_prev", "x");
  rules.expect(c.is_floating(), x_.dtype() == c.dtype(), c.ndim() >= 2, x_.ndim() == c.ndim());
  rules.expect(x_.shape(0) <= c.shape(0), x_.shape(1) == 4 * c_prev.shape()[1]);
  for (int axis = 2; axis < c_prev.ndim(); ++axis) rules.expect(x_.shape(axis) == c.shape(axis));
}

}  // namespace

CellOutput lstm(const Variable& c_prev, const Variable& x) {
  expect_given(c_prev, "F::lstm", "c_prev");
  expect_given(x, "F::lstm", "x");
  if (const CompositeInputs in("lstm", {c_prev, x}); in.is_cast()) return lstm(in[0], in[1]);
  if (config().type_check) check(c_prev, x);
  const int64_t batch = x.shape()[0];
  const bool has_rest = batch < c_prev.shape()[0];
  const Variables rows = has_rest ? split_axis(c_prev, {batch}, 0) : Variables(c_prev);
  const Variables gates = interleaved_gates(x, 4);
  const Variable c = tanh(gates[0]) * sigmoid(gates[1]) + sigmoid(gates[2]) * rows[0];
  const Variable h = sigmoid(gates[3]) * tanh(c);
  return {has_rest ? concat({c, rows[1]}, 0) : c, h};
}

}  // namespace kusari::functions
