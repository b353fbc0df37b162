#include <algorithm>
#include <cstdlib>
#include <string>

#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/normalization.h"
#include "kusari/cuda/kernels/source.cuh"
#include "kusari/cuda/plans/axis_list.h"
#include "kusari/cuda/runtime/typed_array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/math.h"
#include "kusari/framework/kernels/normalization.h"

namespace kusari::cuda {
namespace {

constexpr int kBlock = 256;

/// All elements in x's order in memory, and the window of channels around each.
struct ResponsePlan {
  enum Operand { kOut, kX, kGy, kChannel, kOperands };

  AxisList<kOperands> elements;  // the last operand counts channels
  int64_t channels;
  int64_t stride[3];         // along the channels
  int64_t channel_distance;  // from one channel to the next, in the order of counting
  int64_t reach;
  double k, alpha, beta;

  ResponsePlan(const kernels::LocalResponseNormalizationOptions& options, const Array& out, const Array& x,
               const Array& gy)
      : channels{x.shape()[1]},
        channel_distance{1},
        reach{std::min(options.reach, channels)},  // beyond the channels there is nothing to sum
        k{options.k},
        alpha{options.alpha},
        beta{options.beta} {
    const Array* const arrays[] = {&out, &x, &gy};
    const auto stride_of = [&](int operand, int axis) {
      return arrays[operand]->is_defined() ? arrays[operand]->strides()[axis] : int64_t{0};
    };
    for (int operand = 0; operand < 3; ++operand) stride[operand] = stride_of(operand, 1);
    int order[kMaxNdim];
    for (int i = 0; i < x.ndim(); ++i) order[i] = i;
    sort_axes(order, x.ndim(), [&](int a, int b) { return std::abs(x.strides()[a]) > std::abs(x.strides()[b]); });
    bool behind = false;
    for (int i = 0; i < x.ndim(); ++i) {
      const int axis = order[i];
      if (behind) channel_distance *= x.shape()[axis];
      behind = behind || axis == 1;
      if (x.shape()[axis] == 1) continue;
      elements.merge_back(x.shape()[axis],
                          {stride_of(0, axis), stride_of(1, axis), stride_of(2, axis), axis == 1 ? 1 : 0});
    }
  }
};

/// Channels in the window around one, relative to it.
struct Window {
  int64_t first, last;
  __device__ __forceinline__ Window(const ResponsePlan& plan, int64_t channel)
      : first{channel < plan.reach ? -channel : -plan.reach},
        last{plan.channels - 1 - channel < plan.reach ? plan.channels - 1 - channel : plan.reach} {}
};

/// k + alpha sum(x^2) over the window of the element at x.
template <class T>
__device__ __forceinline__ Compute<T> response_unit(const ResponsePlan& plan, const T* x, int64_t channel) {
  using C = Compute<T>;
  const Window window(plan, channel);
  C total = 0;
  for (int64_t d = window.first; d <= window.last; ++d) {
    const C value = widen(x[d * plan.stride[ResponsePlan::kX]]);
    total += value * value;
  }
  return static_cast<C>(plan.k) + static_cast<C>(plan.alpha) * total;
}

template <class C>
__device__ __forceinline__ C response_scale(C unit, double beta) {
  if (beta == 0.75) {  // the usual one
    const C root = km::sqrt(unit);
    return C(1) / (root * km::sqrt(root));
  }
  return km::exp(static_cast<C>(-beta) * km::log(unit));
}

template <class T>
__global__ void __launch_bounds__(kBlock) respond(ResponsePlan plan, const T* x, T* y) {
  const int64_t step = int64_t{gridDim.x} * kBlock;
  for (int64_t i = int64_t{blockIdx.x} * kBlock + threadIdx.x; i < plan.elements.total; i += step) {
    int64_t at[ResponsePlan::kOperands];
    plan.elements.locate(i, at);
    const T* const from = x + at[ResponsePlan::kX];
    const Compute<T> unit = response_unit(plan, from, at[ResponsePlan::kChannel]);
    y[at[ResponsePlan::kOut]] = narrow<T>(widen(*from) * response_scale(unit, plan.beta));
  }
}

/// For each element, in the order of counting: scaled = gy unit^-beta, and ratio = x scaled / unit.
template <class T>
__global__ void __launch_bounds__(kBlock)
    respond_grad_ratios(ResponsePlan plan, const T* x, const T* gy, Compute<T>* scaled, Compute<T>* ratio) {
  const int64_t step = int64_t{gridDim.x} * kBlock;
  for (int64_t i = int64_t{blockIdx.x} * kBlock + threadIdx.x; i < plan.elements.total; i += step) {
    int64_t at[ResponsePlan::kOperands];
    plan.elements.locate(i, at);
    const T* const from = x + at[ResponsePlan::kX];
    const Compute<T> unit = response_unit(plan, from, at[ResponsePlan::kChannel]);
    const Compute<T> s = widen(gy[at[ResponsePlan::kGy]]) * response_scale(unit, plan.beta);
    scaled[i] = s;
    ratio[i] = widen(*from) * s / unit;
  }
}

/// gx = scaled - 2 alpha beta x sum(ratio) over the window.
template <class T>
__global__ void __launch_bounds__(kBlock)
    respond_grad(ResponsePlan plan, const T* x, const Compute<T>* scaled, const Compute<T>* ratio, T* gx) {
  using C = Compute<T>;
  const int64_t step = int64_t{gridDim.x} * kBlock;
  const C factor = C(2) * static_cast<C>(plan.alpha) * static_cast<C>(plan.beta);
  for (int64_t i = int64_t{blockIdx.x} * kBlock + threadIdx.x; i < plan.elements.total; i += step) {
    int64_t at[ResponsePlan::kOperands];
    plan.elements.locate(i, at);
    const Window window(plan, at[ResponsePlan::kChannel]);
    C total = 0;
    for (int64_t d = window.first; d <= window.last; ++d) total += ratio[i + d * plan.channel_distance];
    gx[at[ResponsePlan::kOut]] = narrow<T>(scaled[i] - factor * widen(x[at[ResponsePlan::kX]]) * total);
  }
}

LaunchShape shape_of(const ResponsePlan& plan) {
  return {dim3(blocks_for(plan.elements.total, kBlock, 1 << 16)), dim3(kBlock)};
}

[[noreturn]] void refuse(const char* call, const Array& x) {
  throw TypeError(std::string(call) + ": x has dtype " + name(x.dtype()) + " but must be floating");
}

void local_response_normalization(Params<kernels::LocalResponseNormalizationOptions> options, In x, Out y) {
  if (x->size() == 0) return;
  const bool floating = visit_floating(x->dtype(), [&]<class T>() {
    const TypedResult result(y, dtype_of<T>);
    const ResponsePlan plan(*options, result.array(), x, Array());
    enqueue(Context::of(*x), shape_of(plan), respond<T>, plan, x->data<T>(), result.data<T>());
    result.finish();
  });
  if (!floating) refuse("local_response_normalization", x);
}

void local_response_normalization_grad(Params<kernels::LocalResponseNormalizationOptions> options, In x, In gy,
                                       Out gx) {
  if (x->size() == 0) return;
  const bool floating = visit_floating(x->dtype(), [&]<class T>() {
    using C = Compute<T>;
    const Array gradient = gy->astype(dtype_of<T>);
    const TypedResult result(gx, dtype_of<T>);
    const ResponsePlan plan(*options, result.array(), x, gradient);
    Context& context = Context::of(*x);
    const Scratch scratch(context, 2 * static_cast<size_t>(x->size()) * sizeof(C));
    C *const scaled = scratch.data<C>(), *const ratio = scaled + x->size();
    enqueue(context, shape_of(plan), respond_grad_ratios<T>, plan, x->data<T>(), gradient.data<T>(), scaled, ratio);
    enqueue(context, shape_of(plan), respond_grad<T>, plan, x->data<T>(), scaled, ratio, result.data<T>());
    result.finish();
  });
  if (!floating) refuse("local_response_normalization_grad", x);
}

}  // namespace

void register_local_response(Backend& backend) {
  backend.add<kernels::LocalResponseNormalization>(local_response_normalization);
  backend.add<kernels::LocalResponseNormalizationGrad>(local_response_normalization_grad);
}

}  // namespace kusari::cuda
