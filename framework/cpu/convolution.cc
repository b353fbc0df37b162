#include "kusari/framework/cpu/convolution.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kusari/framework/core/array.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/pointwise.h"
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

// One call of a kernel.
struct Call {
  ConvolutionPass pass;
  const kernels::Convolution& geometry;
  Array x, w, y, bias;
  Array z = {};  // added to y, which is then cut at 0 if `relu`
  bool relu = false;
  kernels::UnaryFunctor function = {};  // of the sum instead, if there is one

  const Array& result() const {
    return pass == ConvolutionPass::forward ? y : (pass == ConvolutionPass::data_grad ? x : w);
  }
  // For arrays of these dtypes with the channels innermost.
  ConvolutionProblem problem(Dtype dtype, Dtype w_dtype) const {
    ConvolutionProblem p;
    p.pass = pass;
    p.dtype = static_cast<int64_t>(dtype);
    p.w_dtype = static_cast<int64_t>(w_dtype);
    p.ndim = geometry.ndim;
    p.batch = x.shape()[0];
    p.in_channels = x.shape()[1];
    p.out_channels = y.shape()[1];
    p.groups = geometry.groups;
    p.has_bias = bias.is_defined() ? 1 : 0;
    p.bias_is_own = bias.is_defined() && geometry.bias_comes_after && dtype != Dtype::bfloat16 ? 1 : 0;
    p.has_z = z.is_defined() ? 1 : 0;
    p.relu = relu ? 1 : 0;
    if (function.kernel.index >= 0) {
      p.has_function = 1;
      p.function = function.kernel.index;
      std::memcpy(p.functor, function.functor, sizeof(p.functor));
    }
    for (int i = 0; i < geometry.ndim; ++i) {
      p.in[i] = x.shape()[i + 2];
      p.out[i] = y.shape()[i + 2];
      p.kernel[i] = w.shape()[i + 2];
      p.stride[i] = geometry.stride[i];
      p.pad[i] = geometry.pad[i];
      p.dilate[i] = geometry.dilate[i];
    }
    return p;
  }
};

// All of a call at once, by way of copies of whole arrays where they are not as the problem wants them.
void convolve_whole(const Call& call, const ConvolutionProblem& p) {
  const Array& result = call.result();
  const auto prepared = [&](const Array& a, Dtype dtype) {
    if (&a != &result) return for_algorithms(a, dtype);
    return a.dtype() == dtype && a.is_channels_last() ? a : empty_for_algorithms(a.shape(), dtype);
  };
  const ConvolutionWeights w(call.w, p.w_element(), &call.w == &result);
  const Array x = prepared(call.x, p.element()), y = prepared(call.y, p.element());
  const Array z = call.z.is_defined() ? prepared(call.z, p.element()) : Array();
  const Array& bias = call.bias;
  const ConvolutionArrays arrays = {x.raw_data(),
                                    w,
                                    y.raw_data(),
                                    bias.is_defined() ? bias.raw_data() : nullptr,
                                    call.geometry.weights_are_fixed ? &call.w : nullptr,
                                    z.is_defined() ? z.raw_data() : nullptr};
  convolve(p, arrays, call.geometry.autotune);
  const Array& computed = call.pass == ConvolutionPass::forward     ? y
                          : call.pass == ConvolutionPass::data_grad ? x
                                                                    : w.array();
  if (!computed.is_same(result)) result.copy_from(computed);
}

constexpr int64_t kChunkBytes = 4 << 20;  // of a converted part of x or y, where that is more than one image

int64_t images_of_a_chunk(const Call& call, Dtype dtype) {
  const int64_t batch = call.x.shape()[0], image = std::max(call.x.size(), call.y.size()) / batch * itemsize(dtype);
  const int64_t most = std::clamp<int64_t>(kChunkBytes / image, 1, batch), chunks = (batch + most - 1) / most;
  return (batch + chunks - 1) / chunks;
}

// Some images at a time, which are converted to and from the dtype that is computed with; the weights are converted
// once, and not at all where they are fixed and packed already. The chunks depend on the sizes alone.
void convolve_in_chunks(const Call& call, Dtype dtype) {
  const bool is_filter = call.pass == ConvolutionPass::filter_grad;
  const int64_t batch = call.x.shape()[0], images = images_of_a_chunk(call, dtype);
  kernels::Convolution geometry = call.geometry;
  const bool is_whole = call.w.dtype() == dtype && call.w.is_channels_last();
  const bool is_fixed = !is_filter && call.geometry.weights_are_fixed;
  const Array w = is_whole || is_fixed ? call.w
                  : is_filter          ? empty_for_algorithms(call.w.shape(), dtype)
                                       : for_algorithms(call.w, dtype);
  const Array addend = is_filter && images < batch ? empty_like(w) : Array();
  geometry.weights_are_fixed = is_fixed || (!is_filter && images < batch);
  const auto buffer = [&](const Array& a) {
    Shape shape = a.shape();
    shape[0] = images;
    return a.dtype() == dtype && a.is_channels_last() ? Array() : empty_for_algorithms(shape, dtype);
  };
  const Array x_buffer = buffer(call.x), y_buffer = buffer(call.y);
  for (int64_t first = 0; first < batch; first += images) {
    const int64_t count = std::min(images, batch - first);
    const auto part = [&](const Array& whole, const Array& copy, bool is_result) {
      const Array given = whole.slice(0, first, count);
      if (!copy.is_defined()) return given;
      const Array converted = copy.slice(0, 0, count);
      if (!is_result) converted.copy_from(given);
      return converted;
    };
    const Call chunk = {call.pass,
                        geometry,
                        part(call.x, x_buffer, call.pass == ConvolutionPass::data_grad),
                        first == 0 || !is_filter ? w : addend,
                        part(call.y, y_buffer, call.pass == ConvolutionPass::forward),
                        call.bias,
                        call.z.is_defined() ? call.z.slice(0, first, count) : Array(),
                        call.relu,
                        call.function};
    convolve_whole(chunk, chunk.problem(dtype, dtype));
    if (is_filter) {
      if (first > 0) pointwise_to(w, kernels::Add{}, w, addend);
    } else if ((call.pass == ConvolutionPass::forward ? y_buffer : x_buffer).is_defined()) {
      call.result().slice(0, first, count).copy_from(chunk.result());
    }
  }
  if (is_filter && !is_whole) call.w.copy_from(w);
}

struct Taps {
  int64_t first, count;
};
// The taps of an axis of the kernel without the outer ones that meet padding alone, as long as no padding becomes
// negative.
Taps busy_taps(int64_t taps, int64_t in, int64_t reach, int64_t pad, int64_t dilate) {
  Taps busy{0, taps};
  for (; busy.count > 1 && pad > reach && pad >= dilate; pad -= dilate) {
    ++busy.first;
    --busy.count;
  }
  const auto behind = [&](int64_t tap) { return tap * dilate - pad - in; };
  while (busy.count > 1 && behind(busy.count - 1) >= 0 && reach + behind(busy.count - 2) + 1 >= 0) --busy.count;
  return busy;
}

void convolve_arrays(ConvolutionPass pass, const kernels::Convolution& g, const Array& x, const Array& w,
                     const Array& y, const Array& bias, const Array& z = Array(), bool relu = false,
                     const kernels::UnaryFunctor& function = {}) {
  const Call given = {pass, g, x, w, y, bias, z, relu, function};
  const Array& result = given.result();
  if (result.size() == 0) return;
  if (x.size() == 0 || w.size() == 0 || y.size() == 0) {  // sums of nothing
    result.fill(0);
    if (bias.is_defined()) {
      Shape shape = Shape::filled(result.ndim(), 1);
      shape[1] = bias.size();
      result.copy_from(bias.contiguous().reshape(shape));
    }
    if (z.is_defined()) pointwise_to(result, kernels::Add{}, result, z);
    if (relu) pointwise_to(result, kernels::Relu{}, result);
    if (function.kernel.index >= 0) {
      const Array* const operands[] = {&result, &result};
      pointwise_general(loops_of_kernel(function.kernel), "convolution", function.functor, operands);
    }
    return;
  }
  // Large dilations reach beyond small images with most of their taps.
  for (int i = 0; i < g.ndim && pass != ConvolutionPass::filter_grad; ++i) {
    const int64_t kernel = w.shape()[i + 2], reach = (y.shape()[i + 2] - 1) * g.stride[i];
    const Taps busy = busy_taps(kernel, x.shape()[i + 2], reach, g.pad[i], g.dilate[i]);
    if (busy.count == kernel) continue;
    kernels::Convolution fewer = g;
    fewer.pad[i] -= busy.first * g.dilate[i];
    return convolve_arrays(pass, fewer, x, w.slice(i + 2, busy.first, busy.count), y, bias, z, relu, function);
  }
  const Array& image = pass == ConvolutionPass::forward ? x : y;
  const Dtype dtype = dtype_of_compute(compute_of(image.dtype()));
  const Call call = {pass, g, x, w, y, bias.is_defined() ? bias.astype(dtype).contiguous() : bias, z, relu, function};
  if (x.dtype() == Dtype::bfloat16 && y.dtype() == Dtype::bfloat16) {
    const Dtype w_dtype = w.dtype() == Dtype::bfloat16 ? Dtype::bfloat16 : Dtype::float32;
    const ConvolutionProblem p = call.problem(Dtype::bfloat16, w_dtype);
    if (can_convolve(p)) return convolve_whole(call, p);
  }
  if (x.dtype() == dtype && y.dtype() == dtype) return convolve_whole(call, call.problem(dtype, dtype));
  convolve_in_chunks(call, dtype);
}

void convolution_forward(Params<kernels::Convolution> geometry, In x, In W, In bias, Out y) {
  convolve_arrays(ConvolutionPass::forward, *geometry, x, W, y, bias);
}
void convolution_fused_forward(Params<kernels::Convolution> geometry, Params<kernels::ConvolutionActivation> activation,
                               In x, In W, In z, In bias, Out y) {
  convolve_arrays(ConvolutionPass::forward, *geometry, x, W, y, bias, z,
                  *activation == kernels::ConvolutionActivation::relu);
}
void convolution_function_forward(Params<kernels::Convolution> geometry, Params<kernels::UnaryFunctor> function, In x,
                                  In W, In z, In bias, Out y) {
  convolve_arrays(ConvolutionPass::forward, *geometry, x, W, y, bias, z, false, *function);
}
void convolution_data_grad(Params<kernels::Convolution> geometry, In gy, In W, In bias, Out gx) {
  convolve_arrays(ConvolutionPass::data_grad, *geometry, gx, W, gy, bias);
}
void convolution_filter_grad(Params<kernels::Convolution> geometry, In x, In gy, Out gW) {
  convolve_arrays(ConvolutionPass::filter_grad, *geometry, x, gW, gy, Array());
}

}  // namespace

ConvolutionWeights::ConvolutionWeights(Array given, Dtype dtype, bool is_result)
    : given_{std::move(given)}, dtype_{dtype}, is_result_{is_result} {}

const Array& ConvolutionWeights::array() const {
  if (!ordered_.is_defined()) {
    if (!is_result_ || (given_.dtype() == dtype_ && given_.is_channels_last())) {
      ordered_ = for_algorithms(given_, dtype_);
    } else {
      ordered_ = empty_for_algorithms(given_.shape(), dtype_);
    }
  }
  return ordered_;
}

void register_convolution(Backend& backend) {
  backend.add<kernels::ConvolutionForward>(&convolution_forward);
  backend.add<kernels::ConvolutionFusedForward>(&convolution_fused_forward);
  backend.add<kernels::ConvolutionFunctionForward>(&convolution_function_forward);
  backend.add<kernels::ConvolutionDataGrad>(&convolution_data_grad);
  backend.add<kernels::ConvolutionFilterGrad>(&convolution_filter_grad);
}

}  // namespace kusari::cpu
