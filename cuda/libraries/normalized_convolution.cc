#include "kusari/framework/kernels/normalized_convolution.h"

#include "kusari/cuda/kernels/channel_sums.h"
#include "kusari/cuda/libraries/convolution.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/core/device.h"

namespace kusari::cuda {
namespace {

bool plans(const kernels::Convolution& geometry, const Device& device, const Shape& x, const Shape& w, const Shape& y) {
  return has_loaded_plans(geometry, device.index(), x, w, y);
}

// What the convolution reads, in memory.
Array normalized(const kernels::BatchNormalization& normalization, const Array& x, const Array& gamma,
                 const Array& beta, const Array& mean, const Array& inv_std) {
  const Array h = empty_channels_last(x.shape(), x.dtype(), x.device());
  launch<kernels::BatchNormalizationAgain>(x.device(), normalization, x, Array(), gamma, beta, mean, inv_std, h);
  return h;
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
