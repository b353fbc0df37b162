#include "kusari/framework/cpu/convolution.h"

#include "kusari/framework/core/array.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::cpu {
namespace {

// With the channels innermost whatever config.channels_last says: the algorithms know no other order.
Array empty_for_algorithms(const Shape& shape, Dtype dtype) {
  return empty_strided(shape, channels_last_strides(shape), dtype);
}
Array for_algorithms(const Array& x, Dtype dtype) {
  if (x.dtype() == dtype && x.is_channels_last()) return x;
  const Array result = empty_for_algorithms(x.shape(), dtype);
  result.copy_from(x);
  return result;
}

void convolve_arrays(ConvolutionPass pass, const kernels::Convolution& g, const Array& x, const Array& w,
                     const Array& y, const Array& bias) {
  const Array& result = pass == ConvolutionPass::forward ? y : (pass == ConvolutionPass::data_grad ? x : w);
  if (result.size() == 0) return;
  if (x.size() == 0 || w.size() == 0 || y.size() == 0) {  // sums of nothing
    result.fill(0);
    if (bias.is_defined()) {
      Shape shape = Shape::filled(result.ndim(), 1);
      shape[1] = bias.size();
      result.copy_from(bias.contiguous().reshape(shape));
    }
    return;
  }
  const Array& image = pass == ConvolutionPass::forward ? x : y;
  const Dtype dtype = dtype_of_compute(compute_of(image.dtype()));
  const bool is_direct = result.dtype() == dtype && result.is_channels_last();
  const Array target = is_direct ? result : empty_for_algorithms(result.shape(), dtype);
  const auto prepared = [&](const Array& a) { return &a == &result ? target : for_algorithms(a, dtype); };
  const Array px = prepared(x), pw = prepared(w), py = prepared(y);
  const Array pb = bias.is_defined() ? bias.astype(dtype).contiguous() : bias;

  ConvolutionProblem p;
  p.pass = pass;
  p.dtype = static_cast<int64_t>(dtype);
  p.ndim = g.ndim;
  p.batch = x.shape()[0];
  p.in_channels = x.shape()[1];
  p.out_channels = y.shape()[1];
  p.groups = g.groups;
  p.has_bias = bias.is_defined() ? 1 : 0;
  for (int i = 0; i < g.ndim; ++i) {
    p.in[i] = x.shape()[i + 2];
    p.out[i] = y.shape()[i + 2];
    p.kernel[i] = w.shape()[i + 2];
    p.stride[i] = g.stride[i];
    p.pad[i] = g.pad[i];
    p.dilate[i] = g.dilate[i];
  }
  const bool is_kept = g.weights_are_fixed && pw.is_same(w);
  const ConvolutionArrays arrays = {px.raw_data(), pw.raw_data(), py.raw_data(),
                                    pb.is_defined() ? pb.raw_data() : nullptr, is_kept ? &w : nullptr};
  convolve(p, arrays, g.autotune);
  if (!is_direct) result.copy_from(target);
}

void convolution_forward(Params<kernels::Convolution> geometry, In x, In W, In bias, Out y) {
  convolve_arrays(ConvolutionPass::forward, *geometry, x, W, y, bias);
}
void convolution_fused_forward(Params<kernels::Convolution> geometry, Params<kernels::ConvolutionActivation> activation,
                               In x, In W, In z, In bias, Out y) {
  convolve_arrays(ConvolutionPass::forward, *geometry, x, W, y, bias);
  if (z) pointwise_to(*y, kernels::Add{}, *y, *z);
  if (*activation == kernels::ConvolutionActivation::relu) pointwise_to(*y, kernels::Relu{}, *y);
}
void convolution_data_grad(Params<kernels::Convolution> geometry, In gy, In W, In bias, Out gx) {
  convolve_arrays(ConvolutionPass::data_grad, *geometry, gx, W, gy, bias);
}
void convolution_filter_grad(Params<kernels::Convolution> geometry, In x, In gy, Out gW) {
  convolve_arrays(ConvolutionPass::filter_grad, *geometry, x, gW, gy, Array());
}

}  // namespace

void register_convolution(Backend& backend) {
  backend.add<kernels::ConvolutionForward>(&convolution_forward);
  backend.add<kernels::ConvolutionFusedForward>(&convolution_fused_forward);
  backend.add<kernels::ConvolutionDataGrad>(&convolution_data_grad);
  backend.add<kernels::ConvolutionFilterGrad>(&convolution_filter_grad);
}

}  // namespace kusari::cpu
