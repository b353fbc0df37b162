#include "kusari/framework/functions/normalization/batch_renormalization.h"

#include <string>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/input_check.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/normalization/batch_axes.h"
#include "kusari/framework/kernels/batch_normalization.h"

namespace kusari::functions {
namespace {

constexpr const char* kName = "batch_renormalization";

void check_options(const BatchRenormalizationOptions& o) {
  const auto expect = [](bool holds, const std::string& what) {
    if (!holds) throw ValueError(std::string("F::") + kName + ": " + what);
  };
  expect(o.running_mean.is_defined() && o.running_var.is_defined(), "running_mean and running_var must be given");
  expect(o.rmax >= 1, "rmax is " + general_text(o.rmax) + ": it must be at least 1");
  expect(o.dmax >= 0, "dmax is " + general_text(o.dmax) + ": it must be at least 0");
}

void check_inputs(const Variable& x, const Variable& gamma, const Variable& beta, AxisMask axes,
                  const BatchRenormalizationOptions& o) {
  const Variable mean(o.running_mean, false), var(o.running_var, false);
  const InputCheck c(kName, {&x, &gamma, &beta, &mean, &var});
  const auto [x_, gamma_, beta_, mean_, var_] = c.args("x", "gamma", "beta", "running_mean", "running_var");
  expect_channels(c, axes, x_, gamma_, {beta_});
  c.expect(mean_.shape() == gamma_.shape(), var_.shape() == gamma_.shape());
}

}  // namespace

Variable batch_renormalization(const Variable& x, const Variable& gamma, const Variable& beta,
                               const BatchRenormalizationOptions& options) {
  check_options(options);
  expect_given(x, "F::batch_renormalization", "x");
  expect_given(gamma, "F::batch_renormalization", "gamma");
  const AxisMask axes = batch_axes({}, x.ndim(), gamma.ndim(), kName);
  if (config().type_check) check_inputs(x, gamma, beta, axes, options);

  const Dtype dtype = promote(promote(x.dtype(), gamma.dtype()), Dtype::float32);
  const Array mean = empty(gamma.shape(), dtype, x.device()), inv_sd = empty(gamma.shape(), dtype, x.device());
  launch<kernels::BatchNormalizationForward>(x.device(), kernels::BatchNormalization{.axes = axes, .eps = options.eps},
                                             x.array(), Array(), gamma.array(), beta.array(), Array(), Array(), mean,
                                             inv_sd, Array());
  Variable r, d;
  {
    const auto guard = no_backprop_mode();
    const Variable inv_running_sd = rsqrt(cast(options.running_var, dtype) + options.eps);
    r = clip(inv_running_sd / inv_sd, 1 / options.rmax, options.rmax);
    d = clip((mean - cast(options.running_mean, dtype)) * inv_running_sd, -options.dmax, options.dmax);
  }
  const Variable scale = cast(gamma, dtype);
  BatchNormalizationOptions plain{.eps = options.eps, .decay = options.decay};
  if (options.update_statistics) {
    plain.running_mean = options.running_mean;
    plain.running_var = options.running_var;
  }
  return batch_normalization(x, scale * r, cast(beta, dtype) + scale * d, plain);
}

}  // namespace kusari::functions
