#include "kusari/framework/functions/noise/gumbel_softmax.h"

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/input_check.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/noise/gumbel.h"

namespace kusari::functions {
namespace {

constexpr const char* kGumbelSoftmax = "gumbel_softmax";

void check(const Variable& log_pi) {
  const InputCheck c(kGumbelSoftmax, {&log_pi});
  const auto [log_pi_] = c.args("log_pi");
  c.expect(log_pi_.is_floating());
}

double widened(double tau, Dtype) { return tau; }
Variable widened(const Variable& tau, Dtype dtype) { return cast(tau, dtype); }

// In float32 at least: a low temperature magnifies what is rounded.
template <class Tau>
Variable sampled(const Variable& log_pi, const Tau& tau, int64_t axis) {
  if (config().type_check) check(log_pi);
  if (log_pi.ndim() == 0) return ones({}, log_pi.dtype(), log_pi.device());
  axis = normalize_axis(axis, log_pi.ndim(), "F::gumbel_softmax");
  const Array noise = gumbel_like(log_pi.array());
  return cast(softmax((cast(log_pi, noise.dtype()) + noise) / widened(tau, noise.dtype()), axis), log_pi.dtype());
}

}  // namespace

Variable gumbel_softmax(const Variable& log_pi, double tau, int64_t axis) {
  argument::positive("F::gumbel_softmax", "tau", tau);

  if (const CompositeInputs in(kGumbelSoftmax, {log_pi}); in.is_cast()) return sampled(in[0], tau, axis);
  return sampled(log_pi, tau, axis);
}

Variable gumbel_softmax(const Variable& log_pi, const Variable& tau, int64_t axis) {
  expect_given(log_pi, "F::gumbel_softmax", "log_pi");
  expect_given(tau, "F::gumbel_softmax", "tau");

  if (const CompositeInputs in(kGumbelSoftmax, {log_pi, tau}); in.is_cast()) return sampled(in[0], in[1], axis);
  return sampled(log_pi, tau, axis);
}

}  // namespace kusari::functions
