#include "kusari/framework/functions/rnn/tree_lstm.h"

#include <string>
#include <vector>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/input_check.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari::functions {
namespace {

void check(const Variable& c, const Variable& x, int64_t children) {
  const InputCheck rules("tree_lstm", {&c, &x});
  const auto [c_, x_] = rules.args("cs", "x");
  rules.expect(c_.is_floating(), x_.dtype() == c_.dtype(), c_.ndim() >= 2, x_.ndim() == c_.ndim());
  rules.expect(x_.shape(0) == c_.shape(0), x_.shape(1) == (3 + children) * c.shape()[1]);
  for (int axis = 2; axis < c.ndim(); ++axis) rules.expect(x_.shape(axis) == c_.shape(axis));
}

}  // namespace

CellOutput tree_lstm(std::span<const Variable> cs, const Variable& x) {
  if (cs.empty()) throw ValueError("F::tree_lstm: cs is empty: there must be at least one child");
  for (size_t k = 0; k < cs.size(); ++k) expect_given(cs[k], "F::tree_lstm", ("cs[" + std::to_string(k) + "]").c_str());
  expect_given(x, "F::tree_lstm", "x");
  std::vector<Variable> inputs(cs.begin(), cs.end());
  inputs.push_back(x);
  if (const CompositeInputs in("tree_lstm", inputs); in.is_cast()) {
    for (size_t k = 0; k < inputs.size(); ++k) inputs[k] = in[k];
    return tree_lstm(std::span<const Variable>(inputs).first(cs.size()), inputs.back());
  }
  const auto children = static_cast<int64_t>(cs.size());
  if (config().type_check) {
    for (const Variable& c : cs) check(c, x, children);
  }
  const Variables gates = split_axis(x, 3 + children, 1);
  Variable c = tanh(gates[0]) * sigmoid(gates[1]);
  for (size_t k = 0; k < cs.size(); ++k) c = c + sigmoid(gates[3 + k]) * cs[k];
  return {c, sigmoid(gates[2]) * tanh(c)};
}

}  // namespace kusari::functions
