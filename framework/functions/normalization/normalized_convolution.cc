#include "kusari/framework/functions/normalization/normalized_convolution.h"

#include <algorithm>
#include <utility>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/fusions.h"
#include "kusari/framework/functions/connection/convolution_node.h"
#include "kusari/framework/kernels/normalized_convolution.h"

namespace kusari::functions {
namespace {

constexpr AxisMask kImageAxes{0b1101};  // all but the channels of (N, C, H, W)

struct Settings {
  kernels::BatchNormalization normalization;
  kernels::Convolution geometry;
  Shape y;
};

// Inputs: x, gamma, beta, W.
class NormalizedConvolution final : public FunctionNode {
 public:
  NormalizedConvolution(Settings settings, const BatchNormalizationOptions& normalization,
                        const ConvolutionOptions& convolution, Array* y_sums)
      : settings_{std::move(settings)},
        running_mean_{normalization.running_mean},
        running_var_{normalization.running_var},
        sums_{normalization.sums},
        eps_{normalization.eps},
        convolution_{convolution},
        y_sums_{y_sums} {}
  const char* name() const override { return "batch_normalization_relu_convolution"; }
  Precision precision() const noexcept override { return Precision::untouched; }
  void describe(Attributes& options) const override {
    options.set("eps", eps_);
    options.set("decay", settings_.normalization.decay);
  }

 private:
  enum Input : size_t { kX, kGamma, kBeta, kW };

  kernels::Convolution configured() const {
    kernels::Convolution geometry = settings_.geometry;
    geometry.autotune = config().autotune;
    return geometry;
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({kX, kGamma, kBeta, kW});
    const Array &x = in[kX], &gamma = in[kGamma];
    const Device device = x.device();
    mean_ = empty(gamma.shape(), Dtype::float32, device);
    inv_std_ = empty(gamma.shape(), Dtype::float32, device);
    load_ = empty({2, gamma.size()}, x.dtype(), device);
    const Array y = empty_channels_last(settings_.y, x.dtype(), device);
    Array& y_sums = *std::exchange(y_sums_, nullptr);
    y_sums = empty({2, settings_.y[1]}, Dtype::float32, device);
    launch<kernels::NormalizedConvolutionForward>(device, settings_.normalization, configured(), x, sums_, gamma,
                                                  in[kBeta], running_mean_, running_var_, in[kW], mean_, inv_std_,
                                                  load_, y, y_sums);
    running_mean_ = running_var_ = sums_ = Array();
    return {y};
  }

  Variables backward(const Variables& gy) override {
    if (config().enable_backprop) return composed_gradients(gy[0]);
    const Array x = retained_input(kX).array(), gamma = retained_input(kGamma).array();
    const Array beta = retained_input(kBeta).array(), W = retained_input(kW).array();
    const auto like = [&](Input i, const Array& array) { return needs_grad(i) ? empty_like(array) : Array(); };
    const Array gx = needs_grad(kX) ? empty_channels_last(x.shape(), x.dtype(), x.device()) : Array();
    const Array ggamma = like(kGamma, gamma), gbeta = like(kBeta, beta);
    const Array gW = empty_channels_last(W.shape(), W.dtype(), W.device());
    launch<kernels::NormalizedConvolutionBackward>(x.device(), settings_.normalization, configured(), x, gamma, beta,
                                                   mean_, inv_std_, load_, W, gy[0].array(), gx, ggamma, gbeta, gW);
    Variables gradients(input_count());
    const Array* const results[] = {&gx, &ggamma, &gbeta, &gW};
    for (size_t i = 0; i < std::size(results); ++i) {
      if (results[i]->is_defined() && needs_grad(i)) gradients[i] = Variable(*results[i], false);
    }
    return gradients;
  }

  // The same from the two functions.
  Variables composed_gradients(const Variable& gy) {
    const Variable x = retained_input(kX), gamma = retained_input(kGamma), beta = retained_input(kBeta),
                   W = retained_input(kW);
    const Variable y =
        convolution_nd(batch_normalization_relu(x, gamma, beta, {.eps = eps_}), W, Variable(), convolution_);
    const Variable seeds[] = {gy};
    return grad({y}, {x, gamma, beta, W}, {.grad_outputs = seeds, .enable_double_backprop = true});
  }

  Settings settings_;
  Array running_mean_, running_var_, sums_;
  double eps_;
  ConvolutionOptions convolution_;
  Array mean_, inv_std_, load_;  // of channels
  Array* y_sums_;                // the caller's, until forward has run
};

bool is_half_image(const Variable& x) { return x.ndim() == 4 && x.dtype() == Dtype::float16; }

// Whether the device has kernels for the whole, and arguments are such that nothing is to be refused.
bool is_fused(const Variable& x, const Variable& gamma, const Variable& beta, const Variable& W,
              const BatchNormalizationOptions& n, const ConvolutionOptions& o) {
  if (!fusions().normalized_convolutions || !n.sums.is_defined() || !n.axis.empty() || o.relu || o.cover_all ||
      o.groups != 1) {
    return false;
  }
  for (const Variable* const v : {&x, &gamma, &beta, &W}) {
    if (!v->is_defined()) return false;
  }
  if (!is_half_image(x) || !is_half_image(W) || x.size() == 0 || W.size() == 0 || x.shape()[1] != W.shape()[1]) {
    return false;
  }
  const Shape channels = {x.shape()[1]};
  for (const Variable* const v : {&gamma, &beta}) {
    if (v->shape() != channels || v->dtype() != Dtype::float32) return false;
  }
  const bool fits = n.sums.shape() == Shape{2, channels[0]} && n.sums.dtype() == Dtype::float32 &&
                    n.running_mean.is_defined() == n.running_var.is_defined() && n.eps >= 0 && n.decay >= 0 &&
                    n.decay <= 1;
  const auto is_of_channels = [&](const Array& a) { return !a.is_defined() || a.shape() == channels; };
  return fits && is_of_channels(n.running_mean) && is_of_channels(n.running_var) && x.array().is_channels_last() &&
         W.array().is_channels_last();
}

}  // namespace

ConvolutionWithSums batch_normalization_relu_convolution(const Variable& x, const Variable& gamma, const Variable& beta,
                                                         const Variable& W,
                                                         const BatchNormalizationOptions& normalization,
                                                         const ConvolutionOptions& options) {
  if (is_fused(x, gamma, beta, W, normalization, options)) {
    Settings settings;
    settings.normalization = {.axes = kImageAxes, .eps = normalization.eps, .decay = normalization.decay, .relu = true};
    const detail::ConvolutionSettings of_convolution =
        detail::convolution_settings("convolution_2d", 2, options.stride, options.pad, options.dilate, options.groups);
    settings.geometry = of_convolution.geometry;
    settings.y = {x.shape()[0], W.shape()[0]};
    for (int i = 0; i < 2; ++i) {
      const kernels::Convolution& g = settings.geometry;
      const int64_t room = x.shape()[i + 2] + 2 * g.pad[i] - g.dilate[i] * (W.shape()[i + 2] - 1) - 1;
      settings.y.push_back(room < 0 ? 0 : room / g.stride[i] + 1);
    }
    const auto plans = x.device().backend().find(kernel_id<kernels::NormalizedConvolutionPlans>());
    if (plans != nullptr && std::min(settings.y[2], settings.y[3]) > 0 &&
        reinterpret_cast<kernels::NormalizedConvolutionPlans::Signature*>(plans)(settings.geometry, x.device(),
                                                                                 x.shape(), W.shape(), settings.y)) {
      ConvolutionWithSums result;
      BatchNormalizationOptions used = normalization;
      if (config().in_recomputing) used.running_mean = used.running_var = Array();
      result.y = apply<NormalizedConvolution>({x, gamma, beta, W}, std::move(settings), used, options, &result.sums);
      return result;
    }
  }
  return convolution_nd_with_sums(batch_normalization_relu(x, gamma, beta, normalization), W, options);
}

}  // namespace kusari::functions
