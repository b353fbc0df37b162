#include "kusari/framework/functions/loss/vae.h"

#include <string>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/softplus.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"

namespace kusari::functions {
namespace {

constexpr double kLog2Pi = 1.8378770664093453;

void check_alike(const char* function, const Variable& a, const char* a_name, const Variable& b, const char* b_name) {
  expect_floating(a, function, a_name);
  expect_given(b, function, b_name);
  if (a.shape() == b.shape() && a.dtype() == b.dtype()) return;
  throw TypeError(std::string(function) + ": " + a_name + " has shape " + to_string(a.shape()) + " and dtype " +
                  name(a.dtype()) + " but " + b_name + " has shape " + to_string(b.shape()) + " and dtype " +
                  name(b.dtype()) + ": they must be equal");
}

Variable reduced(const Variable& losses, Reduce reduce) {
  if (reduce == Reduce::no) return losses;
  return reduce == Reduce::sum ? sum(losses) : mean(losses);
}

}  // namespace

Variable gaussian_kl_divergence(const Variable& mean, const Variable& ln_var, Reduce reduce) {
  if (const CompositeInputs in("gaussian_kl_divergence", {mean, ln_var}); in.is_cast())
    return gaussian_kl_divergence(in[0], in[1], reduce);
  check_alike("F::gaussian_kl_divergence", mean, "mean", ln_var, "ln_var");
  return reduced((square(mean) + exp(ln_var) - ln_var - 1) * 0.5, reduce);
}

Variable bernoulli_nll(const Variable& x, const Variable& y, Reduce reduce) {
  if (const CompositeInputs in("bernoulli_nll", {x, y}); in.is_cast()) return bernoulli_nll(in[0], in[1], reduce);
  check_alike("F::bernoulli_nll", x, "x", y, "y");
  return reduced(softplus(y) - x * y, reduce);
}

Variable gaussian_nll(const Variable& x, const Variable& mean, const Variable& ln_var, Reduce reduce) {
  if (const CompositeInputs in("gaussian_nll", {x, mean, ln_var}); in.is_cast())
    return gaussian_nll(in[0], in[1], in[2], reduce);
  check_alike("F::gaussian_nll", x, "x", mean, "mean");
  check_alike("F::gaussian_nll", mean, "mean", ln_var, "ln_var");
  return reduced((square(x - mean) * exp(-ln_var) + ln_var + kLog2Pi) * 0.5, reduce);
}

}  // namespace kusari::functions
