#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "kusari/cuda/kernels/channel_sums.h"
#include "kusari/cuda/kernels/channels.h"
#include "kusari/cuda/kernels/convolution_depthwise.h"
#include "kusari/cuda/kernels/convolution_im2col.h"
#include "kusari/cuda/kernels/pointwise.h"
#include "kusari/cuda/libraries/convolution.h"
#include "kusari/cuda/libraries/convolution_autotune.h"
#include "kusari/cuda/libraries/cudnn_route.h"
#include "kusari/cuda/libraries/kept_weights.h"
#include "kusari/cuda/plans/folded_convolution.h"
#include "kusari/cuda/runtime/context.h"
#include "kusari/cuda/runtime/graph.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/cuda/runtime/workspace.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/thread_owned.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/convolution.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::cuda {
namespace {

// One of the three convolutions; the result is y, x or w by the pass.
struct Problem {
  ConvolutionPass pass;
  const kernels::Convolution& geometry;
  const Array &x, &w, &y, &bias;
  bool is_added = false;        ///< data_grad: to what x holds
  const Array* sums = nullptr;  ///< forward: result too, see ConvolutionForwardWithSums
  const Array* load = nullptr;  ///< forward and filter_grad: what x is multiplied by and what is added before a ReLU

  const Array& result() const {
    return pass == ConvolutionPass::forward ? y : (pass == ConvolutionPass::data_grad ? x : w);
  }
  const Array& image() const { return pass == ConvolutionPass::forward ? x : y; }
};

// What is added to a forward convolution in the same kernel.
struct Epilogue {
  Array z, bias;
  Activation activation = Activation::none;
};

Array dense(const Shape& shape, Dtype dtype, const Device& device) {
  return empty_strided(shape, channels_last_strides(shape), dtype, device);
}
// With the channels innermost whatever config.channels_last says.
Array densified(const Array& a, Dtype dtype) {
  if (a.dtype() == dtype && a.is_channels_last()) return a;
  const Array result = dense(a.shape(), dtype, a.device());
  result.copy_from(a);
  return result;
}

// A bias as an array that broadcasts to images.
Array per_channel(const Array& bias, int ndim) {
  Shape shape = Shape::filled(ndim, 1);
  shape[1] = bias.size();
  return bias.contiguous().reshape(shape);
}

void without_cudnn(const Problem& p) {
  switch (p.pass) {
    case ConvolutionPass::forward:
      return im2col_forward(p.geometry, p.x, p.w, p.bias, p.y);
    case ConvolutionPass::data_grad:
      return im2col_data_grad(p.geometry, p.y, p.w, p.bias, p.x);
    case ConvolutionPass::filter_grad:
      return im2col_filter_grad(p.geometry, p.x, p.y, p.w);
  }
}

void by_depthwise_loops(const Problem& p) {
  switch (p.pass) {
    case ConvolutionPass::forward:
      return depthwise_forward(p.geometry, p.x, p.w, p.bias, p.y);
    case ConvolutionPass::data_grad:
      return depthwise_data_grad(p.geometry, p.y, p.w, p.bias, p.x);
    case ConvolutionPass::filter_grad:
      return depthwise_filter_grad(p.geometry, p.x, p.y, p.w);
  }
}

// cuDNN's sizes are 32-bit, and it has up to three spatial axes.
bool has_size_for_cudnn(const Problem& p) {
  if (p.geometry.ndim < 1 || p.geometry.ndim > ConvolutionKey::kMaxSpatialAxes) return false;
  for (const Array* a : {&p.x, &p.w, &p.y}) {
    for (const int64_t size : a->shape()) {
      if (size > std::numeric_limits<int32_t>::max()) return false;
    }
  }
  return true;
}

bool is_aligned(const Array& a) { return !a.is_defined() || reinterpret_cast<uintptr_t>(a.raw_data()) % 16 == 0; }

// What the settings of the thread and of the device say.
void settle(ConvolutionKey& key, const Context& context) {
  const Config& settings = config();
  key.is_deterministic = settings.cudnn_deterministic;
  key.allows_tensor_cores = settings.use_cudnn_tensor_core != Use::never;
  key.allows_tf32 = settings.use_tf32;
  key.workspace_limit = static_cast<int64_t>(
      std::min<size_t>(context.workspace_limit(), static_cast<size_t>(std::numeric_limits<int64_t>::max())));
  key.device = context.index();
}

ConvolutionKey key_of(const Problem& p, const Epilogue& epilogue, const Context& context) {
  const Dtype dtype = p.x.dtype();
  ConvolutionKey key = convolution_key(p.pass, p.geometry, p.x.shape(), p.w.shape(), p.y.shape(), dtype);
  const bool is_fused =
      epilogue.z.is_defined() || epilogue.bias.is_defined() || epilogue.activation != Activation::none;
  key.has_z = epilogue.z.is_defined();
  key.has_bias = epilogue.bias.is_defined();
  key.activation = epilogue.activation;
  key.is_added = p.is_added;
  key.has_sums = p.sums != nullptr;
  key.has_load = p.load != nullptr;
  const bool all_aligned =
      is_aligned(p.x) && is_aligned(p.w) && is_aligned(p.y) && is_aligned(epilogue.z) && is_aligned(epilogue.bias);
  key.alignment = all_aligned ? 16 : itemsize(dtype);
  key.allows_runtime_compilation = is_fused || key.has_sums || key.has_load ? 0 : 1;  // can be computed in parts
  settle(key, context);
  return key;
}

std::shared_ptr<ConvolutionRoute> route_of(const ConvolutionKey& key, Context& context) {
  static constinit thread_local RouteCache* own = nullptr;
  RouteCache& cache = kusari::detail::thread_owned(own);
  if (auto route = cache.find(key)) [[likely]]
    return route;
  StreamCapture::refuse_first_use("the choice of cuDNN's plan for convolution " + text_of(key));
  return cache.add(key, find_route(key, {context.cudnn(), nullptr}));
}

// Images or weights with channels of zeros behind the last.
Array with_channels(Context& context, const Array& a, int64_t added) {
  Shape shape = a.shape();
  shape[1] += added;
  const Array wider = dense(shape, a.dtype(), a.device());
  widen_channels(context, a.raw_data(), a.size() / a.shape()[1], a.shape()[1], wider.raw_data(), shape[1]);
  return wider;
}

// The arrays of a route that works on others than were asked for.
class ChangedArrays {
 public:
  ChangedArrays(Context& context, const ConvolutionRoute& route, const Problem& p)
      : context_{context}, route_{route}, p_{p} {
    for (int i = 0; route.is_folded && i < 2; ++i) {
      axes_[i] = folded_axis(p.w.shape()[i + 2], p.geometry.pad[i], p.y.shape()[i + 2]);
    }
  }

  Array image() const {
    if (!route_.is_folded) return with_channels(context_, p_.x, route_.added_channels);
    return folded(p_.x, route_.key.x, axes_[0].first_pixel, axes_[1].first_pixel);
  }
  Array weights() const {
    if (!route_.is_folded) return with_channels(context_, p_.w, route_.added_channels);
    return folded(p_.w, route_.key.w, axes_[0].first_tap, axes_[1].first_tap);
  }
  /// What tells these weights from those that other routes make of the same ones.
  int64_t form() const {
    const int64_t folding = route_.is_folded ? 4 - 2 * axes_[0].first_tap - axes_[1].first_tap : 0;
    return (folding << 40) + (route_.key.x[1] << 8) + static_cast<int64_t>(p_.w.dtype());
  }
  Array room_for_weights() const { return dense(shape_of(route_.key.w), p_.w.dtype(), p_.w.device()); }
  /// p.w from such weights.
  void take_weights(const Array& w) const {
    if (!route_.is_folded) return p_.w.copy_from(w.slice(1, 0, p_.w.shape()[1]));
    unfold_pixels(context_, w, axes_[0].first_tap, axes_[1].first_tap, p_.w);
  }

 private:
  Shape shape_of(const int64_t* sizes) const {
    Shape shape = p_.w.shape();  // of as many axes: one that cuDNN has besides is of size 1
    const int added = static_cast<int>(route_.key.ndim) - p_.geometry.ndim;
    for (int i = 0; i < shape.ndim(); ++i) shape[i] = sizes[i < 2 ? i : i + added];
    return shape;
  }
  Array folded(const Array& a, const int64_t* sizes, int64_t first_row, int64_t first_column) const {
    const Array result = dense(shape_of(sizes), a.dtype(), a.device());
    fold_pixels(context_, a, first_row, first_column, result);
    return result;
  }

  Context& context_;
  const ConvolutionRoute& route_;
  const Problem& p_;
  FoldedAxis axes_[2];
};

// By axis, the zeros that have to follow the image for the padding to be the same on both sides; negative where y is
// smaller than that.
Shape missing_behind(const Problem& p) {
  const kernels::Convolution& g = p.geometry;
  Shape missing = Shape::filled(g.ndim, 0);
  for (int i = 0; i < g.ndim; ++i) {
    const int64_t extent = (p.w.shape()[i + 2] - 1) * g.dilate[i] + 1;
    const int64_t room = p.x.shape()[i + 2] + 2 * g.pad[i] - extent;
    const int64_t steps = p.y.shape()[i + 2] - 1;
    if (room < 0 || room / g.stride[i] != steps) missing[i] = steps * g.stride[i] - room;
  }
  return missing;
}

bool by_cudnn(const Problem& p, const Epilogue& epilogue, const Array& kept);
void sum_afterwards(const Problem& p);

// With zeros behind the image: cuDNN has engines that give wrong gradients where the padding differs on the sides.
bool padded_by_cudnn(const Problem& p, const Shape& missing, const Epilogue& epilogue, const Array& kept) {
  Shape shape = p.x.shape();
  for (int i = 0; i < missing.ndim(); ++i) shape[i + 2] += missing[i];
  const Array wide = dense(shape, p.x.dtype(), p.x.device());
  Array image = wide;
  for (int i = 2; i < shape.ndim(); ++i) image = image.slice(i, 0, p.x.shape()[i]);
  const bool makes_image = p.pass == ConvolutionPass::data_grad;
  if (!makes_image) {
    wide.fill(0);
    image.copy_from(p.x);
  }
  if (!by_cudnn({p.pass, p.geometry, wide, p.w, p.y, p.bias, false, p.sums}, epilogue, kept)) return false;
  if (makes_image && p.is_added) pointwise_to(p.x, kernels::Add{}, p.x, image);
  if (makes_image && !p.is_added) p.x.copy_from(image);
  return true;
}

// Numbers of channels lie behind each other, and cuDNN wants the second ones aligned as well.
bool has_aligned_channels(const Shape& x, const Shape& y, bool has_sums, bool has_load) {
  return (!has_sums || y[1] % 4 == 0) && (!has_load || x[1] % 8 == 0);
}

// x, w and y are dense and channels-last, of one dtype. False, having done nothing, where cuDNN has no plan. `kept`:
// the weights that w was made of.
bool by_cudnn(const Problem& p, const Epilogue& epilogue, const Array& kept) {
  if (!has_aligned_channels(p.x.shape(), p.y.shape(), p.sums != nullptr, p.load != nullptr)) return false;
  const Shape missing = missing_behind(p);
  if (std::any_of(missing.begin(), missing.end(), [](int64_t n) { return n < 0; })) return false;
  if (std::any_of(missing.begin(), missing.end(), [](int64_t n) { return n > 0; })) {
    if (p.load != nullptr) return false;  // the zeros belong behind the ReLU
    return padded_by_cudnn(p, missing, epilogue, kept);
  }
  Context& context = Context::of(p.x);
  const auto held = route_of(key_of(p, epilogue, context), context);
  ConvolutionRoute& route = *held;
  if (!route.plan || (p.load != nullptr && route.changes_arrays())) return false;
  const bool makes_weights = p.pass == ConvolutionPass::filter_grad;
  const ChangedArrays changed(context, route, p);
  Array x = p.x, w = p.w;
  if (route.changes_arrays()) {
    x = changed.image();
    w = makes_weights
            ? changed.room_for_weights()
            : kept_weights(kept, p.geometry.weights_are_fixed, changed.form(), [&] { return changed.weights(); });
  }
  const ConvolutionPointers pointers = {x.raw_data(),
                                        w.raw_data(),
                                        p.y.raw_data(),
                                        epilogue.z.is_defined() ? epilogue.z.raw_data() : nullptr,
                                        epilogue.bias.is_defined() ? epilogue.bias.raw_data() : nullptr,
                                        p.sums != nullptr ? p.sums->data<float>() : nullptr,
                                        p.load != nullptr ? p.load->raw_data() : nullptr};
  const auto timed = [&]() -> const ConvolutionPlan& {
    if (!p.is_added || is_timed(route)) return timed_plan(context, route, pointers);
    const Array other = dense(x.shape(), x.dtype(), x.device());  // x must not get the sum once for each measurement
    ConvolutionPointers trial = pointers;
    trial.x = other.raw_data();
    return timed_plan(context, route, trial);
  };
  const ConvolutionPlan& plan = p.geometry.autotune ? timed() : *route.plan;
  const auto execute = [&] {
    const RelaxedCapture relaxed;  // cuDNN makes streams of its own and loads kernels
    plan.execute(context.cudnn(), route.key, pointers, workspace(context, static_cast<size_t>(plan.workspace())));
  };
  const bool has_parts = p.sums != nullptr && p.load == nullptr;
  if (has_parts && p.geometry.autotune && !pays_off(context, route, execute, [&] { sum_afterwards(p); })) {
    return false;
  }
  execute();
  if (route.changes_arrays() && makes_weights) changed.take_weights(w);
  return true;
}

// What cuDNN's kernel does not add.
void add_rest(const Array& result, const Array& z, const Array& bias, Activation activation) {
  if (z.is_defined()) pointwise_to(result, kernels::Add{}, result, z);
  if (bias.is_defined()) pointwise_to(result, kernels::Add{}, result, per_channel(bias, result.ndim()));
  if (activation == Activation::relu) pointwise_to(result, kernels::Relu{}, result);
}

// The weights, dense and of that dtype.
Array prepared_weights(const Array& w, Dtype dtype, bool is_fixed) {
  if (w.dtype() == dtype && w.is_channels_last()) return w;
  return kept_weights(w, is_fixed, static_cast<int64_t>(dtype), [&] { return densified(w, dtype); });
}

void convolve(const Problem& p, const Array& z = Array(), Activation activation = Activation::none) {
  const Array& result = p.result();
  if (result.size() == 0) return;
  if (p.x.size() == 0 || p.w.size() == 0 || p.y.size() == 0) {  // sums of nothing
    result.fill(0);
    return add_rest(result, z, p.bias, activation);
  }
  const Use use = config().use_cudnn;
  if (use == Use::never || !has_size_for_cudnn(p)) {
    without_cudnn(p);
    return add_rest(result, z, Array(), activation);
  }
  // The dtype of the images, which the result may differ from if it is the gradient of the weights.
  const Dtype dtype = p.image().dtype();
  const bool is_direct = result.dtype() == dtype && result.is_channels_last();
  const Array target = is_direct ? result : dense(result.shape(), dtype, result.device());
  const bool makes_weights = p.pass == ConvolutionPass::filter_grad;
  const auto prepared = [&](const Array& a) -> Array { return &a == &result ? target : densified(a, dtype); };
  const Array x = prepared(p.x), y = prepared(p.y);
  const Array w = makes_weights ? target : prepared_weights(p.w, dtype, p.geometry.weights_are_fixed);
  const Array bias = p.bias.is_defined() ? p.bias.astype(dtype).contiguous() : p.bias;
  const Problem inner = {p.pass, p.geometry, x, w, y, bias};

  const bool is_forward = p.pass == ConvolutionPass::forward;
  const bool has_epilogue = z.is_defined() || bias.is_defined() || activation != Activation::none;
  if (use == Use::automatic && depthwise_supported(p.geometry, x, w, y)) {
    by_depthwise_loops(inner);
    add_rest(target, z, Array(), activation);
  } else if (is_forward && has_epilogue &&
             by_cudnn(inner, {z.is_defined() ? densified(z, dtype) : z, bias, activation}, p.w)) {
    // everything is in it
  } else if (by_cudnn(inner, {}, p.w)) {
    add_rest(target, z, bias, activation);
  } else {
    without_cudnn(inner);
    add_rest(target, z, Array(), activation);
  }
  if (!is_direct) result.copy_from(target);
}

// x gets the sum in cuDNN's kernel. False, having done nothing, where that is not to be had.
bool added_by_cudnn(const Problem& p) {
  const Use use = config().use_cudnn;
  const Dtype dtype = p.y.dtype();
  if (use == Use::never || !has_size_for_cudnn(p) || p.w.size() == 0 || p.y.size() == 0) return false;
  if (p.x.dtype() != dtype || !p.x.is_channels_last()) return false;
  const Array y = densified(p.y, dtype), w = prepared_weights(p.w, dtype, p.geometry.weights_are_fixed);
  if (use == Use::automatic && depthwise_supported(p.geometry, p.x, w, y)) return false;
  return by_cudnn({p.pass, p.geometry, p.x, w, y, p.bias, true}, {}, p.w);
}

// Engines with sums or a normalized load do not say that they are on tensor cores, though they are made for them.
bool allows_fused_engines() { return config().use_cudnn != Use::never && config().use_cudnn_tensor_core != Use::never; }

// y and its sums in cuDNN's kernel. False, having done nothing, where that is not to be had: with cuDNN 9 it is for
// float16 on cards from Ampere to Hopper and the first Blackwells.
bool summed_by_cudnn(const Problem& p) {
  const Use use = config().use_cudnn;
  const Dtype dtype = p.x.dtype();
  if (!allows_fused_engines() || dtype != Dtype::float16 || !has_size_for_cudnn(p)) return false;
  if (p.y.dtype() != dtype || !p.y.is_channels_last()) return false;
  const Array x = densified(p.x, dtype), w = prepared_weights(p.w, dtype, p.geometry.weights_are_fixed);
  if (use == Use::automatic && depthwise_supported(p.geometry, x, w, p.y)) return false;
  return by_cudnn({p.pass, p.geometry, x, w, p.y, p.bias, false, p.sums}, {}, p.w);
}

// The same in kernels of their own.
void sum_afterwards(const Problem& p) {
  Problem alone = p;
  alone.sums = nullptr;
  convolve(alone);
  take_channel_sums(p.y, *p.sums);
}

void convolution_forward(Params<kernels::Convolution> geometry, In x, In W, In bias, Out y) {
  convolve({ConvolutionPass::forward, *geometry, x, W, y, bias});
}
void convolution_forward_with_sums(Params<kernels::Convolution> geometry, In x, In W, Out y, Out sums) {
  const Array no_bias;
  const Array& both = sums;
  const Problem problem = {ConvolutionPass::forward, *geometry, x, W, y, no_bias, false, &both};
  if (y->size() == 0 || x->size() == 0 || W->size() == 0) {
    y->fill(0);
    return sums->fill(0);
  }
  if (!summed_by_cudnn(problem)) sum_afterwards(problem);
}
void convolution_fused_forward(Params<kernels::Convolution> geometry, Params<kernels::ConvolutionActivation> activation,
                               In x, In W, In z, In bias, Out y) {
  convolve({ConvolutionPass::forward, *geometry, x, W, y, bias}, z, *activation);
}
void convolution_function_forward(Params<kernels::Convolution> geometry, Params<kernels::UnaryFunctor> function, In x,
                                  In W, In z, In bias, Out y) {
  convolve({ConvolutionPass::forward, *geometry, x, W, y, bias}, z);
  if (y->size() > 0) apply_function(*function, y, y);
}
void convolution_data_grad(Params<kernels::Convolution> geometry, In gy, In W, In bias, Out gx) {
  convolve({ConvolutionPass::data_grad, *geometry, gx, W, gy, bias});
}
void convolution_data_grad_added(Params<kernels::Convolution> geometry, In gy, In W, InOut gx) {
  const Array no_bias;
  const Array& sum = gx;
  if (sum.size() == 0 || added_by_cudnn({ConvolutionPass::data_grad, *geometry, sum, W, gy, no_bias})) return;
  const Array own = dense(sum.shape(), sum.dtype(), sum.device());
  convolve({ConvolutionPass::data_grad, *geometry, own, W, gy, no_bias});
  pointwise_to(sum, kernels::Add{}, sum, own);
}
void convolution_filter_grad(Params<kernels::Convolution> geometry, In x, In gy, Out gW) {
  const Array no_bias;
  convolve({ConvolutionPass::filter_grad, *geometry, x, gW, gy, no_bias});
}

std::shared_ptr<ConvolutionRoute> loaded_route(ConvolutionPass pass, const kernels::Convolution& geometry,
                                               Context& context, const Shape& x, const Shape& w, const Shape& y) {
  ConvolutionKey key = convolution_key(pass, geometry, x, w, y, Dtype::float16);
  key.has_load = 1;
  key.has_sums = pass == ConvolutionPass::forward;
  settle(key, context);
  return route_of(key, context);
}

bool is_for_cudnn(const Problem& p) {
  if (!allows_fused_engines() || !has_size_for_cudnn(p)) return false;
  for (const Array* const a : {&p.x, &p.w, &p.y}) {
    if (a->dtype() != Dtype::float16 || !a->is_channels_last() || a->size() == 0) return false;
  }
  return config().use_cudnn != Use::automatic || !depthwise_supported(p.geometry, p.x, p.w, p.y);
}

}  // namespace

bool convolve_loaded(const kernels::Convolution& geometry, const Array& x, const Array& load, const Array& w,
                     const Array& y, const Array& sums) {
  const Array no_bias;
  const Problem p = {
      ConvolutionPass::forward, geometry, x, w, y, no_bias, false, sums.is_defined() ? &sums : nullptr, &load};
  return is_for_cudnn(p) && by_cudnn(p, {}, w);
}

bool filter_grad_loaded(const kernels::Convolution& geometry, const Array& x, const Array& load, const Array& gy,
                        const Array& gw) {
  const Array no_bias;
  const Problem p = {ConvolutionPass::filter_grad, geometry, x, gw, gy, no_bias, false, nullptr, &load};
  return is_for_cudnn(p) && by_cudnn(p, {}, gw);
}

bool has_loaded_plans(const kernels::Convolution& geometry, int device, const Shape& x, const Shape& w,
                      const Shape& y) {
  if (!allows_fused_engines() || !has_aligned_channels(x, y, true, true)) return false;
  Context& context = Context::of(device);
  for (const ConvolutionPass pass : {ConvolutionPass::forward, ConvolutionPass::filter_grad}) {
    const auto route = loaded_route(pass, geometry, context, x, w, y);
    if (!route->plan || route->changes_arrays()) return false;
  }
  return true;
}

bool loads_pay_off(const kernels::Convolution& geometry, int device, const Shape& x, const Shape& w, const Shape& y,
                   const std::function<void()>& fused, const std::function<void()>& parts) {
  Context& context = Context::of(device);
  const auto route = loaded_route(ConvolutionPass::forward, geometry, context, x, w, y);
  return pays_off(context, *route, fused, parts);
}

void register_convolution(Backend& backend) {
  backend.add<kernels::ConvolutionForward>(&convolution_forward);
  backend.add<kernels::ConvolutionForwardWithSums>(&convolution_forward_with_sums);
  backend.add<kernels::ConvolutionFusedForward>(&convolution_fused_forward);
  backend.add<kernels::ConvolutionFunctionForward>(&convolution_function_forward);
  backend.add<kernels::ConvolutionDataGrad>(&convolution_data_grad);
  backend.add<kernels::ConvolutionDataGradAdded>(&convolution_data_grad_added);
  backend.add<kernels::ConvolutionFilterGrad>(&convolution_filter_grad);
}

}  // namespace kusari::cuda
