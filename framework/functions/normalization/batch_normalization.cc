#include "kusari/framework/functions/normalization/batch_normalization.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fusions.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/normalization/batch_axes.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/batch_normalization.h"

namespace kusari::functions {

AxisMask batch_axes(const Dims& axis, int x_ndim, int gamma_ndim, const std::string& call) {
  if (!axis.empty()) return axis_mask({axis.begin(), axis.size()}, x_ndim, call.c_str());
  AxisMask axes = AxisMask::of(0);
  for (int i = gamma_ndim + 1; i < x_ndim; ++i) axes.bits |= AxisMask::of(i).bits;
  return axes;
}

void expect_channels(const TypeCheck& c, AxisMask axes, const type_check::Argument& x,
                     const type_check::Argument& gamma, std::initializer_list<type_check::Argument> others) {
  c.expect(x.is_floating(), gamma.is_floating(), x.ndim() >= 1);
  int channel_axes = 0;
  for (int i = 0; i < x.array().ndim(); ++i) channel_axes += axes.contains(i) ? 0 : 1;
  c.expect(gamma.ndim() == channel_axes);
  for (int i = 0, k = 0; i < x.array().ndim(); ++i) {
    if (!axes.contains(i)) c.expect(gamma.shape(k++) == x.shape(i));
  }
  for (const type_check::Argument& other : others)
    c.expect(other.shape() == gamma.shape(), other.dtype() == gamma.dtype());
}

namespace {

/// Which of the forms a call has.
struct Form {
  const char* name;
  bool relu;
  bool residual;
};

/// A new array with the channels innermost in memory.
Array rows_like(const Array& x, AxisMask axes) {
  if (!config().channels_last) return empty(x.shape(), x.dtype(), x.device());
  Strides strides = Dims::filled(x.ndim(), 0);
  int64_t stride = 1;
  for (const bool aggregated : {false, true}) {
    for (int i = x.ndim() - 1; i >= 0; --i) {
      if (axes.contains(i) != aggregated) continue;
      strides[i] = stride;
      stride *= std::max<int64_t>(x.shape()[i], 1);
    }
  }
  return empty_strided(x.shape(), strides, x.dtype(), x.device());
}

// Inputs: x, the residual or none, gamma, beta; and with fixed statistics mean, var.
class BatchNormalization final : public FunctionNode {
 public:
  BatchNormalization(const Form& form, const kernels::BatchNormalization& kernel, Array running_mean = {},
                     Array running_var = {}, Array sums = {})
      : form_{form},
        kernel_{kernel},
        running_mean_{std::move(running_mean)},
        running_var_{std::move(running_var)},
        sums_{std::move(sums)} {}
  const char* name() const override { return form_.name; }
  void describe(Attributes& options) const override {
    options.set("axis", kernel_.axes);
    options.set("eps", kernel_.eps);
    options.set("decay", kernel_.decay);
    options.set("fixed", kernel_.fixed);
    options.set("relu", form_.relu);
    options.set("residual", form_.residual);
  }

 private:
  enum Input : size_t { kX, kResidual, kGamma, kBeta, kMean, kVar };

  bool is_optional(size_t input) const noexcept override { return input == kResidual && !form_.residual; }
  void check(const TypeCheck& c) const override {
    const auto [x, residual, gamma, beta] = c.args("x", "residual", "gamma", "beta");
    if (kernel_.fixed) {
      expect_channels(c, kernel_.axes, x, gamma, {beta, c.arg("mean", kMean), c.arg("var", kVar)});
    } else {
      expect_channels(c, kernel_.axes, x, gamma, {beta});
    }
    if (form_.residual) c.expect(residual.shape() == x.shape(), residual.dtype() == x.dtype());
    if (running_mean_.is_defined()) {
      const type_check::Argument mean(name(), "running_mean", &running_mean_);
      const type_check::Argument var(name(), "running_var", &running_var_);
      c.expect(mean.shape() == gamma.shape(), var.shape() == gamma.shape(), mean.is_floating(), var.is_floating());
    }
    if (sums_.is_defined()) {
      const type_check::Argument sums(name(), "sums", &sums_);
      c.expect(sums.ndim() == 2, sums.shape(0) == 2, sums.shape(1) == gamma.array().size(),
               sums.dtype() == Dtype::float32);
    }
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({kX, kGamma});
    if (form_.relu && !form_.residual) retain_inputs({kBeta});
    if (form_.residual) retain_outputs({0});
    if (is_recording() && config().save_memory) {
      allow_recompute();
      retain_inputs({kBeta});
      if (form_.residual) retain_inputs({kResidual});
    }
    const Array &x = in[kX], &gamma = in[kGamma];
    const Array y = rows_like(x, kernel_.axes);
    const Dtype dtype = compute_dtype(x.dtype(), gamma.dtype());
    if (kernel_.fixed) {
      retain_inputs({kMean, kVar});
      mean_ = in[kMean].astype(dtype).contiguous();
      if (is_recording()) inv_std_ = empty(gamma.shape(), dtype, x.device());
      launch<kernels::FixedBatchNormalization>(x.device(), kernel_, x, in[kResidual], gamma, in[kBeta], mean_, in[kVar],
                                               inv_std_, y);
      return {y};
    }
    mean_ = empty(gamma.shape(), dtype, x.device());
    inv_std_ = empty(gamma.shape(), dtype, x.device());
    if (dtype != Dtype::float32) sums_ = Array();
    if (wants_mask(x, gamma)) mask_ = empty({kernels::mask_bytes(y)}, Dtype::uint8, x.device());
    if ((sums_.is_defined() || mask_.is_defined()) && has<kernels::BatchNormalizationFusedForward>(x.device())) {
      launch<kernels::BatchNormalizationFusedForward>(x.device(), kernel_, x, sums_, in[kResidual], gamma, in[kBeta],
                                                      running_mean_, running_var_, mean_, inv_std_, y, mask_);
    } else {
      launch<kernels::BatchNormalizationForward>(x.device(), kernel_, x, in[kResidual], gamma, in[kBeta], running_mean_,
                                                 running_var_, mean_, inv_std_, y);
    }
    running_mean_ = running_var_ = sums_ = Array();
    return {y};
  }

  Variables backward(const Variables& gy) override {
    return config().enable_backprop ? composed_gradients(gy[0]) : fused_gradients(gy[0]);
  }

  Arrays recompute() override {
    const Array x = retained_input(kX).array(), residual = form_.residual ? retained_input(kResidual).array() : Array();
    const Array gamma = retained_input(kGamma).array(), beta = retained_input(kBeta).array();
    const Array y = rows_like(x, kernel_.axes);
    launch<kernels::BatchNormalizationAgain>(x.device(), kernel_, x, residual, gamma, beta, mean_, inv_std_, y);
    return {y};
  }

  template <class Kernel>
  static bool has(const Device& device) {
    return device.backend().find(kernel_id<Kernel>()) != nullptr;
  }

  // Whether backward shall read a bit of each element instead of y.
  bool wants_mask(const Array& x, const Array& gamma) const {
    return form_.relu && form_.residual && is_recording() && !config().save_memory && fusions().normalization_masks &&
           x.dtype() != Dtype::float64 && gamma.dtype() != Dtype::float64 &&
           gamma.size() % kernels::kMaskChannels == 0 && has<kernels::BatchNormalizationMaskedBackward>(x.device());
  }

  // Nobody differentiates further.
  Variables fused_gradients(const Variable& gy) {
    const Array x = retained_input(kX).array(), gamma = retained_input(kGamma).array();
    const Array beta = form_.relu && !form_.residual ? retained_input(kBeta).array() : Array();
    const Array y = form_.residual && !mask_.is_defined() ? retained_output(0).array() : Array();
    const bool of_mean = kernel_.fixed && needs_grad(kMean), of_var = kernel_.fixed && needs_grad(kVar);
    const auto numbers = [&](bool wanted) { return wanted ? empty_like(gamma) : Array(); };
    const Array gx = needs_grad(kX) ? rows_like(x, kernel_.axes) : Array();
    const Array gresidual = needs_grad(kResidual) ? rows_like(x, kernel_.axes) : Array();
    const Array ggamma = numbers(needs_grad(kGamma) || of_var), gbeta = numbers(needs_grad(kBeta) || of_mean);
    if (mask_.is_defined()) {
      launch<kernels::BatchNormalizationMaskedBackward>(x.device(), kernel_, x, mask_, gy.array(), gamma, mean_,
                                                        inv_std_, gx, gresidual, ggamma, gbeta);
    } else {
      launch<kernels::BatchNormalizationBackward>(x.device(), kernel_, x, y, gy.array(), gamma, beta, mean_, inv_std_,
                                                  gx, gresidual, ggamma, gbeta);
    }
    Variables gradients(input_count());
    const Array* const results[] = {&gx, &gresidual, &ggamma, &gbeta};
    for (size_t i = 0; i < std::size(results); ++i) {
      if (results[i]->is_defined()) gradients[i] = Variable(*results[i], false);
    }
    if (of_mean || of_var) {
      const Variable scale = cast(gamma, mean_.dtype()) * inv_std_;
      if (of_mean) gradients[kMean] = cast(gradient_of_mean(scale, cast(gbeta, mean_.dtype())), input_dtype(kMean));
      if (of_var)
        gradients[kVar] =
            cast(gradient_of_var(scale, Variable(inv_std_, false), cast(ggamma, mean_.dtype())), input_dtype(kVar));
    }
    return gradients;
  }

  // The same from differentiable functions, the statistics of the batch being functions of x.
  Variables composed_gradients(const Variable& gradient) {
    const Dtype dtype = compute_dtype(input_dtype(kX), input_dtype(kGamma));
    const Shape numbers = reduced_shape(input_shape(kX), kernel_.axes, true);
    const Axes axes = aggregated_axes();
    const auto per_channel = [&](size_t i) { return reshape(cast(retained_input(i), dtype), numbers); };
    const Variable x = cast(retained_input(kX), dtype), gamma = per_channel(kGamma);
    const Variable centred = x - (kernel_.fixed ? per_channel(kMean) : average(x, axes, Variable(), true));
    const Variable var = kernel_.fixed ? per_channel(kVar) : average(square(centred), axes, Variable(), true);
    const Variable inv_std = rsqrt(var + kernel_.eps), x_hat = centred * inv_std, scale = gamma * inv_std;

    Variable g = cast(gradient, dtype);
    if (form_.relu) g = apply<PiecewiseLinearGrad<kernels::ReluGrad>>({uncut_result(x_hat, gamma), g});
    const Variable gbeta = sum(g, axes, true), ggamma = sum(g * x_hat, axes, true);
    const double count = static_cast<double>(reduced_count(input_shape(kX), kernel_.axes));
    const Variable centred_g = kernel_.fixed ? g : g - (x_hat * ggamma + gbeta) / count;

    Variables gradients(input_count());
    const auto give = [&](size_t i, const Variable& value) {
      if (needs_grad(i)) gradients[i] = cast(reshape(value, input_shape(i)), input_dtype(i));
    };
    give(kX, scale * centred_g);
    give(kResidual, g);
    give(kGamma, ggamma);
    give(kBeta, gbeta);
    if (kernel_.fixed) {
      give(kMean, gradient_of_mean(scale, gbeta));
      give(kVar, gradient_of_var(scale, inv_std, ggamma));
    }
    return gradients;
  }

  /// Something that is positive where the ReLU lets pass; a constant.
  Variable uncut_result(const Variable& x_hat, const Variable& gamma) {
    const auto guard = no_backprop_mode();
    if (form_.residual) return cast(Variable(retained_output(0).array(), false), x_hat.dtype());
    const Variable beta = reshape(cast(retained_input(kBeta), x_hat.dtype()), gamma.shape());
    return x_hat * gamma + beta;
  }

  static Variable gradient_of_mean(const Variable& scale, const Variable& gbeta) { return -(scale * gbeta); }
  static Variable gradient_of_var(const Variable& scale, const Variable& inv_std, const Variable& ggamma) {
    return -0.5 * (scale * inv_std * ggamma);
  }

  static Dtype compute_dtype(Dtype x, Dtype gamma) { return promote(promote(x, gamma), Dtype::float32); }
  Axes aggregated_axes() const {
    Dims axes;
    for (int i = 0; i < input_shape(kX).ndim(); ++i) {
      if (kernel_.axes.contains(i)) axes.push_back(i);
    }
    return Axes(std::span<const int64_t>(axes.begin(), axes.size()));
  }

  Form form_;
  kernels::BatchNormalization kernel_;
  Array running_mean_, running_var_;
  Array sums_;
  Array mean_, inv_std_;  // of channels, float32 or float64
  Array mask_;            // of y, or undefined
};

void warn_of_single_elements() {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true)) return;
  log::warn(
      "F::batch_normalization: all axes that are averaged over have length 1, so that every element is its own mean "
      "and "
      "the result is beta. Is config().train on outside training, or did the last batch hold one example? (said once)");
}

kernels::BatchNormalization kernel_options(const Form& form, const Variable& x, const Variable& residual,
                                           const Variable& gamma, const Dims& axis, double eps, bool fixed) {
  const std::string call = std::string("F::") + form.name;
  expect_given(x, call.c_str(), "x");
  expect_given(gamma, call.c_str(), "gamma");
  if (form.residual) expect_given(residual, call.c_str(), "residual");
  argument::at_least_zero(call, "eps", eps);
  return {.axes = batch_axes(axis, x.ndim(), gamma.ndim(), call), .eps = eps, .relu = form.relu, .fixed = fixed};
}

Variable normalize(const Form& form, const Variable& x, const Variable& residual, const Variable& gamma,
                   const Variable& beta, const BatchNormalizationOptions& options) {
  if (options.running_mean.is_defined() != options.running_var.is_defined()) {
    throw ValueError(std::string("F::") + form.name + ": running_mean and running_var must be given together");
  }
  kernels::BatchNormalization kernel = kernel_options(form, x, residual, gamma, options.axis, options.eps, false);
  if (!(options.decay >= 0 && options.decay <= 1)) {
    throw ValueError(std::string("F::") + form.name + ": decay is " + general_text(options.decay) +
                     ": it must be in [0, 1]");
  }
  kernel.decay = options.decay;
  if (reduced_count(x.shape(), kernel.axes) == 1) warn_of_single_elements();
  if (config().in_recomputing) {
    return apply<BatchNormalization>({x, residual, gamma, beta}, form, kernel, Array(), Array(), options.sums);
  }
  return apply<BatchNormalization>({x, residual, gamma, beta}, form, kernel, options.running_mean, options.running_var,
                                   options.sums);
}

Variable normalize_fixed(const Form& form, const Variable& x, const Variable& residual, const Variable& gamma,
                         const Variable& beta, const Variable& mean, const Variable& var,
                         const FixedBatchNormalizationOptions& options) {
  return apply<BatchNormalization>({x, residual, gamma, beta, mean, var}, form,
                                   kernel_options(form, x, residual, gamma, options.axis, options.eps, true));
}

}  // namespace

Variable batch_normalization(const Variable& x, const Variable& gamma, const Variable& beta,
                             const BatchNormalizationOptions& options) {
  return normalize({"batch_normalization", false, false}, x, Variable(), gamma, beta, options);
}

Variable batch_normalization_relu(const Variable& x, const Variable& gamma, const Variable& beta,
                                  const BatchNormalizationOptions& options) {
  return normalize({"batch_normalization_relu", true, false}, x, Variable(), gamma, beta, options);
}

Variable batch_normalization_add_relu(const Variable& x, const Variable& residual, const Variable& gamma,
                                      const Variable& beta, const BatchNormalizationOptions& options) {
  if (const CompositeInputs in("batch_normalization_add_relu", {x, residual}); in.is_cast())
    return batch_normalization_add_relu(in[0], in[1], gamma, beta, options);
  return normalize({"batch_normalization_add_relu", true, true}, x, residual, gamma, beta, options);
}

Variable fixed_batch_normalization(const Variable& x, const Variable& gamma, const Variable& beta, const Variable& mean,
                                   const Variable& var, const FixedBatchNormalizationOptions& options) {
  return normalize_fixed({"fixed_batch_normalization", false, false}, x, Variable(), gamma, beta, mean, var, options);
}

Variable fixed_batch_normalization_relu(const Variable& x, const Variable& gamma, const Variable& beta,
                                        const Variable& mean, const Variable& var,
                                        const FixedBatchNormalizationOptions& options) {
  return normalize_fixed({"fixed_batch_normalization_relu", true, false}, x, Variable(), gamma, beta, mean, var,
                         options);
}

Variable fixed_batch_normalization_add_relu(const Variable& x, const Variable& residual, const Variable& gamma,
                                            const Variable& beta, const Variable& mean, const Variable& var,
                                            const FixedBatchNormalizationOptions& options) {
  if (const CompositeInputs in("fixed_batch_normalization_add_relu", {x, residual}); in.is_cast())
    return fixed_batch_normalization_add_relu(in[0], in[1], gamma, beta, mean, var, options);
  return normalize_fixed({"fixed_batch_normalization_add_relu", true, true}, x, residual, gamma, beta, mean, var,
                         options);
}

}  // namespace kusari::functions
