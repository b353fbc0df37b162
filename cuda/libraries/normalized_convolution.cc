#include "kusari/framework/kernels/normalized_convolution.h"

#include <optional>

#include "kusari/cuda/kernels/channel_sums.h"
#include "kusari/cuda/libraries/convolution.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/error.h"

namespace kusari::cuda {
namespace {

// What the convolution reads, in memory.
Array normalized(const kernels::BatchNormalization& normalization, const Array& x, const Array& gamma,
                 const Array& beta, const Array& mean, const Array& inv_std) {
  const Array h = empty_channels_last(x.shape(), x.dtype(), x.device());
  launch<kernels::BatchNormalizationAgain>(x.device(), normalization, x, Array(), gamma, beta, mean, inv_std, h);
  return h;
}

/// Arrays of some shapes, made when the two ways are timed; what they hold does not matter.
class Trial {
 public:
  Trial(const kernels::Convolution& geometry, const Device& device, const Shape& x, const Shape& w, const Shape& y)
      : geometry_{geometry},
        x_{image(x, device)},
        h_{image(x, device)},
        w_{image(w, device)},
        y_{image(y, device)},
        gw_{image(w, device)},
        load_{zeros({2, x[1]}, Dtype::float16, device)},
        channels_{zeros({x[1]}, Dtype::float32, device)},
        sums_{empty({2, y[1]}, Dtype::float32, device)} {}

  void fused() const {
    convolve_loaded(geometry_, x_, load_, w_, y_, sums_);
    filter_grad_loaded(geometry_, x_, load_, y_, gw_);
  }
  void parts() const {
    const kernels::BatchNormalization normalization{.axes = kImageAxes, .relu = true};
    const Device& device = x_.device();
    launch<kernels::BatchNormalizationAgain>(device, normalization, x_, Array(), channels_, channels_, channels_,
                                             channels_, h_);
    launch<kernels::ConvolutionForwardWithSums>(device, geometry_, h_, w_, y_, sums_);
    launch<kernels::ConvolutionFilterGrad>(device, geometry_, h_, y_, gw_);
  }

 private:
  static constexpr AxisMask kImageAxes{0b1101};
  static Array image(const Shape& shape, const Device& device) {
    const Array result = empty_channels_last(shape, Dtype::float16, device);
    result.fill(1);
    return result;
  }

  kernels::Convolution geometry_;
  Array x_, h_, w_, y_, gw_, load_, channels_, sums_;
};

bool plans(const kernels::Convolution& geometry, const Device& device, const Shape& x, const Shape& w, const Shape& y) {
  if (!has_loaded_plans(geometry, device.index(), x, w, y)) return false;
  if (!geometry.autotune) return true;
  std::optional<Trial> trial;
  const auto tried = [&]() -> const Trial& { return trial ? *trial : trial.emplace(geometry, device, x, w, y); };
  try {
    return loads_pay_off(
        geometry, device.index(), x, w, y, [&] { tried().fused(); }, [&] { tried().parts(); });
  } catch (const OutOfMemoryError&) {
    return true;  // where there is no room to try, the way that takes less
  }
}

void forward(Params<kernels::BatchNormalization> normalization, Params<kernels::Convolution> geometry, In x, In sums,
             In gamma, In beta, InOut running_mean, InOut running_var, In W, Out mean, Out inv_std, Out load, Out y,
             Out y_sums) {
  finish_channel_sums(*normalization, x, sums, gamma, beta, running_mean, running_var, mean, inv_std, load);
  if (convolve_loaded(*geometry, x, load, W, y, y_sums)) return;
  const Array h = normalized(*normalization, x, gamma, beta, mean, inv_std);
  launch<kernels::ConvolutionForwardWithSums>(x->device(), *geometry, h, *W, *y, *y_sums);
}

void backward(Params<kernels::BatchNormalization> normalization, Params<kernels::Convolution> geometry, In x, In gamma,
              In beta, In mean, In inv_std, In load, In W, In gy, Out gx, Out ggamma, Out gbeta, Out gW) {
  const Device& device = x->device();
  if (!filter_grad_loaded(*geometry, x, load, gy, gW)) {
    const Array h = normalized(*normalization, x, gamma, beta, mean, inv_std);
    launch<kernels::ConvolutionFilterGrad>(device, *geometry, h, *gy, *gW);
  }
  const Array gh = empty_channels_last(x->shape(), x->dtype(), device);
  launch<kernels::ConvolutionDataGrad>(device, *geometry, *gy, *W, Array(), gh);
  launch<kernels::BatchNormalizationBackward>(device, *normalization, *x, Array(), gh, *gamma, *beta, *mean, *inv_std,
                                              *gx, Array(), *ggamma, *gbeta);
}

}  // namespace

void register_normalized_convolution(Backend& backend) {
  backend.add<kernels::NormalizedConvolutionPlans>(&plans);
  backend.add<kernels::NormalizedConvolutionForward>(&forward);
  backend.add<kernels::NormalizedConvolutionBackward>(&backward);
}

}  // namespace kusari::cuda
