#include "kusari/framework/kernels/normalization.h"

#include <string>

#include "kusari/cuda/kernels/normalization.h"
#include "kusari/cuda/kernels/set_kernels.cuh"
#include "kusari/cuda/kernels/source.cuh"
#include "kusari/cuda/kernels/wide_pack.cuh"
#include "kusari/cuda/runtime/register.h"
#include "kusari/cuda/runtime/typed_array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/math.h"

namespace kusari::cuda {
namespace {

/// What a value near `value` loses as a C is kept beside it: it would show beside a small deviation.
template <class C>
struct Center {
  C near, rest;
  __device__ __forceinline__ explicit Center(double value)
      : near{static_cast<C>(value)}, rest{static_cast<C>(value - static_cast<double>(near))} {}
  __device__ __forceinline__ C deviation(C x) const { return (x - near) - rest; }
};

/// Two sums: of g, and of g (x - mean) over one group, where g = gy gamma; of x^2, and of x gy over one vector.
template <class A>
struct Products {
  A sum, product;
  __device__ __forceinline__ Products operator()(const Products& a, const Products& b) const {
    return {a.sum + b.sum, a.product + b.product};
  }
};

/// A thread's sums, where sums(A(0)) computes them in A: in C, or in float64 if they leave the range of C, as squares
/// of large numbers do.
template <class C, class Sums>
__device__ __forceinline__ Products<double> in_range(const Sums& sums) {
  const Products<C> found = sums(C(0));
  if constexpr (sizeof(C) < sizeof(double)) {
    constexpr C kInfinity = km::Real<C>::kInfinity;
    if (!(km::abs(found.sum) < kInfinity && km::abs(found.product) < kInfinity)) return sums(0.0);
  }
  return {static_cast<double>(found.sum), static_cast<double>(found.product)};
}

/// Mean and sum of squared deviations of `count` elements.
struct Moments {
  double count, mean, squares;
};

template <class T>
struct GroupForward {
  using C = Compute<T>;
  using Statistics = Moments;
  static constexpr int kPack = kPackSize<T>;
  const T* x;
  T* y;
  const C *gamma, *beta;
  double *mean, *inv_std;  // without mean and beta: 0
  double eps;
  int64_t groups, group_size;

  __device__ Moments measure(const SetPlan& plan, const SetThread& thread) const {
    const double around = mean != nullptr ? mean_of_part(plan, thread) : 0;
    double squares = sum_of(plan, thread, around, [](auto deviation) { return deviation * deviation; });
    squares = thread.combine_members(plan, squares, 0.0, Plus<double>{});
    return {static_cast<double>(thread.end - thread.begin), around, squares};
  }
  /// The thread's sum of term(x - around).
  template <class Term>
  __device__ __forceinline__ double sum_of(const SetPlan& plan, const SetThread& thread, double around,
                                           const Term& term) const {
    return in_range<C>([&]<class A>(A sum) {
             const Center<A> center(around);
             thread.for_each<kPack>(plan, [&]<int N>(const int64_t(&offset)[SetPlan::kOperands]) {
               C values[N];
               load_wide<T, N>(x + thread.at[SetPlan::kA] + offset[SetPlan::kA], values);
#pragma unroll
               for (int k = 0; k < N; ++k) sum += term(center.deviation(static_cast<A>(values[k])));
             });
             return Products<A>{sum, A(0)};
           })
        .sum;
  }
  /// Once more over the elements, which are in the cache afterwards: squares around the mean lose nothing.
  __device__ double mean_of_part(const SetPlan& plan, const SetThread& thread) const {
    const auto count = static_cast<double>(thread.end - thread.begin);
    double pivot = 0;
    if (thread.begin < thread.end) {
      int64_t offset[SetPlan::kOperands];
      plan.elements.locate(thread.begin, offset);
      pivot = static_cast<double>(widen(x[thread.at[SetPlan::kA] + offset[SetPlan::kA]]));
    }
    double sum = sum_of(plan, thread, pivot, [](auto deviation) { return deviation; });
    sum = thread.combine_members(plan, sum, 0.0, Plus<double>{});
    return pivot + (count > 0 ? sum / count : 0);
  }
  __device__ static Moments merge(const Moments& a, const Moments& b) {  // Chan et al. 1979
    const double count = a.count + b.count, apart = b.mean - a.mean;
    return {count, a.mean + apart * b.count / count, a.squares + b.squares + apart * apart * a.count * b.count / count};
  }
  __device__ double inverse(const Moments& moments) const { return 1 / sqrt(moments.squares / moments.count + eps); }
  __device__ void publish(int64_t set, const Moments& moments) const {
    if (mean != nullptr) mean[set] = moments.mean;
    inv_std[set] = inverse(moments);
  }
  __device__ void apply(const SetPlan& plan, const SetThread& thread, const Moments& moments) const {
    const Center<C> center(moments.mean);
    const C inv = static_cast<C>(inverse(moments));
    const int64_t channel = thread.set % groups * group_size;
    const int step = plan.channel_step;
    thread.for_each<kPack>(plan, [&]<int N>(const int64_t(&offset)[SetPlan::kOperands]) {
      C values[N];
      load_wide<T, N>(x + thread.at[SetPlan::kA] + offset[SetPlan::kA], values);
      const int64_t c = channel + offset[SetPlan::kChannel];
#pragma unroll
      for (int k = 0; k < N; ++k) {
        values[k] = center.deviation(values[k]) * inv * gamma[c + k * step];
        if (beta != nullptr) values[k] += beta[c + k * step];
      }
      store_narrow<T, N>(y + thread.at[SetPlan::kOut] + offset[SetPlan::kOut], values);
    });
  }
};

template <class T>
struct GroupBackward {
  using C = Compute<T>;
  using Statistics = Products<double>;
  static constexpr int kPack = kPackSize<T>;
  const T *x, *gy;
  T* gx;
  const C* gamma;
  const double *mean, *inv_std;  // without mean: 0
  int64_t groups, group_size;

  /// Calls body(offsets, deviations, g) for a thread's share.
  template <class Body>
  __device__ __forceinline__ void visit(const SetPlan& plan, const SetThread& thread, const Body& body) const {
    const Center<C> center(mean != nullptr && thread.set < plan.count ? mean[thread.set] : 0.0);
    const int64_t channel = thread.set % groups * group_size;
    const int step = plan.channel_step;
    thread.for_each<kPack>(plan, [&]<int N>(const int64_t(&offset)[SetPlan::kOperands]) {
      C deviations[N], gradients[N];
      load_wide<T, N>(x + thread.at[SetPlan::kA] + offset[SetPlan::kA], deviations);
      load_wide<T, N>(gy + thread.at[SetPlan::kB] + offset[SetPlan::kB], gradients);
      const int64_t c = channel + offset[SetPlan::kChannel];
#pragma unroll
      for (int k = 0; k < N; ++k) {
        deviations[k] = center.deviation(deviations[k]);
        gradients[k] *= gamma[c + k * step];
      }
      body(offset, deviations, gradients);
    });
  }
  __device__ Products<double> measure(const SetPlan& plan, const SetThread& thread) const {
    const Products<double> own = in_range<C>([&]<class A>(A zero) {
      Products<A> sums{zero, zero};
      visit(plan, thread, [&]<int N>(const int64_t(&)[SetPlan::kOperands], const C(&deviations)[N], const C(&g)[N]) {
#pragma unroll
        for (int k = 0; k < N; ++k) {
          sums.sum += static_cast<A>(g[k]);
          sums.product += static_cast<A>(g[k]) * static_cast<A>(deviations[k]);
        }
      });
      return sums;
    });
    return thread.combine_members(plan, own, Products<double>{0, 0}, Products<double>{});
  }
  __device__ static Products<double> merge(const Products<double>& a, const Products<double>& b) {
    return Products<double>{}(a, b);
  }
  __device__ void publish(int64_t, const Products<double>&) const {}
  __device__ void apply(const SetPlan& plan, const SetThread& thread, const Products<double>& sums) const {
    const double inv = inv_std[thread.set], size = static_cast<double>(plan.size);
    const C a = static_cast<C>(inv), slope = static_cast<C>(inv * inv * sums.product / size);
    const C constant = mean != nullptr ? static_cast<C>(inv * sums.sum / size) : C(0);
    visit(plan, thread, [&]<int N>(const int64_t(&offset)[SetPlan::kOperands], C(&deviations)[N], const C(&g)[N]) {
#pragma unroll
      for (int k = 0; k < N; ++k) deviations[k] = (g[k] - deviations[k] * slope) * a - constant;
      store_narrow<T, N>(gx + thread.at[SetPlan::kOut] + offset[SetPlan::kOut], deviations);
    });
  }
};

constexpr int kChannelBlock = 256, kCombineBlock = 128;

/// For the gradients of gamma and beta: the elements of one channel, or a part of them.
struct ChannelPlan {
  AxisList<3> elements;  // of x, gy, and the example's number
  int64_t channels, x_stride, gy_stride;
  int64_t groups, group_size;
  int columns;  // channels side by side in a block, a power of two
  int splits;
  int64_t per_split;

  ChannelPlan(const Array& x, const Array& gy, int64_t group_count)
      : channels{x.shape()[1]},
        x_stride{x.strides()[1]},
        gy_stride{gy.strides()[1]},
        groups{group_count},
        group_size{channels / group_count} {
    for (int i = 0; i < x.ndim(); ++i) {
      if (i != 1 && x.shape()[i] != 1) {
        elements.merge_back(x.shape()[i], {x.strides()[i], gy.strides()[i], i == 0 ? 1 : 0});
      }
    }
    // Threads side by side take neighbours in memory.
    const bool channels_inside = elements.count == 0 || x_stride <= elements.stride[elements.count - 1][0];
    columns = 1;
    while (channels_inside && columns < 32 && columns < channels) columns *= 2;
    const int64_t blocks = (channels + columns - 1) / columns, wanted = (1056 + blocks - 1) / blocks;
    const int64_t most = elements.total / (16 * (kChannelBlock / columns));
    splits = static_cast<int>(most < 1 ? 1 : (most < wanted ? most : wanted));
    per_split = (elements.total + splits - 1) / splits;
  }
};

/// parts[split][0 | 1][channel]: the sums of gy (x - mean) inv_std and of gy. mean may be null, for 0.
template <class T>
__global__ void __launch_bounds__(kChannelBlock)
    channel_gradients(ChannelPlan plan, const T* x, const T* gy, const double* mean, const double* inv_std,
                      Compute<T>* parts) {
  using C = Compute<T>;
  __shared__ C shared[2][kChannelBlock];
  const int t = static_cast<int>(threadIdx.x), height = kChannelBlock / plan.columns;
  const int64_t channel = int64_t{blockIdx.x} * plan.columns + (t & (plan.columns - 1));
  const int member = t / plan.columns;
  C gamma = 0, beta = 0;
  if (channel < plan.channels) {
    const int64_t begin = blockIdx.y * plan.per_split, stop = begin + plan.per_split;
    const int64_t end = stop < plan.elements.total ? stop : plan.elements.total, group = channel / plan.group_size;
#pragma unroll 4
    for (int64_t i = begin + member; i < end; i += height) {
      int64_t at[3];
      plan.elements.locate(i, at);
      const int64_t set = at[2] * plan.groups + group;
      const C g = widen(gy[at[1] + channel * plan.gy_stride]);
      const Center<C> center(mean != nullptr ? mean[set] : 0.0);
      gamma += g * (center.deviation(widen(x[at[0] + channel * plan.x_stride])) * static_cast<C>(inv_std[set]));
      beta += g;
    }
  }
  shared[0][t] = gamma;
  shared[1][t] = beta;
  for (int members = height / 2; members > 0; members /= 2) {
    __syncthreads();
    if (member < members) {
      shared[0][t] += shared[0][t + members * plan.columns];
      shared[1][t] += shared[1][t + members * plan.columns];
    }
  }
  if (member != 0 || channel >= plan.channels) return;
  parts[(int64_t{blockIdx.y} * 2 + 0) * plan.channels + channel] = shared[0][t];
  parts[(int64_t{blockIdx.y} * 2 + 1) * plan.channels + channel] = shared[1][t];
}

template <class C>
__global__ void __launch_bounds__(kCombineBlock)
    combine_channel_gradients(const C* parts, int64_t channels, int splits, C* ggamma, int64_t gamma_stride, C* gbeta,
                              int64_t beta_stride) {
  const int64_t channel = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (channel >= channels) return;
  C gamma = 0, beta = 0;
  for (int split = 0; split < splits; ++split) {
    gamma += parts[(int64_t{split} * 2 + 0) * channels + channel];
    beta += parts[(int64_t{split} * 2 + 1) * channels + channel];
  }
  if (ggamma != nullptr) ggamma[channel * gamma_stride] = gamma;
  if (gbeta != nullptr) gbeta[channel * beta_stride] = beta;
}

int64_t vector_stride(const Array& x) { return x.is_defined() ? x.strides()[0] : 0; }

template <class C>
Array vector_of(const Array& x) {
  return x.is_defined() ? x.astype(dtype_of<C>).contiguous() : x;
}

template <class T>
void parameter_gradients(const Array& x, const Array& gy, const Array& mean, const Array& inv_std, int64_t groups,
                         const Array& ggamma, const Array& gbeta) {
  using C = Compute<T>;
  if (!ggamma.is_defined() && !gbeta.is_defined()) return;
  Context& context = Context::of(x);
  const ChannelPlan plan(x, gy, groups);
  const TypedResult gamma(ggamma, dtype_of<C>), beta(gbeta, dtype_of<C>);
  const Scratch parts(context, static_cast<size_t>(plan.splits * 2 * plan.channels) * sizeof(C));
  enqueue(context,
          {dim3(blocks_for(plan.channels, plan.columns), static_cast<unsigned>(plan.splits)), dim3(kChannelBlock)},
          channel_gradients<T>, plan, x.data<T>(), gy.data<T>(), data_of<double>(mean), inv_std.data<double>(),
          parts.data<C>());
  enqueue(context, {dim3(blocks_for(plan.channels, kCombineBlock)), dim3(kCombineBlock)}, combine_channel_gradients<C>,
          parts.data<C>(), plan.channels, plan.splits, gamma.template data<C>(), vector_stride(gamma.array()),
          beta.template data<C>(), vector_stride(beta.array()));
  gamma.finish();
  beta.finish();
}

/// The type that x and gy are read as: x's own, or float64 where another argument asks for it.
Dtype element_dtype(const Array& x, const Array& gamma) {
  return gamma.dtype() == Dtype::float64 ? Dtype::float64 : x.dtype();
}

[[noreturn]] void refuse(const char* call, const Array& x) {
  throw TypeError(std::string(call) + ": x has dtype " + name(x.dtype()) + " but must be floating");
}

void normalize(const char* call, const kernels::GroupNormalizationOptions& options, const Array& x, const Array& gamma,
               const Array& beta, const Array& y, const Array& mean, const Array& inv_std) {
  if (x.size() == 0) {
    if (mean.is_defined()) mean.fill(0.0);
    inv_std.fill(0.0);
    return;
  }
  const bool floating = visit_floating(element_dtype(x, gamma), [&]<class T>() {
    using C = Compute<T>;
    const Array in = x.astype(dtype_of<T>), g = vector_of<C>(gamma), b = vector_of<C>(beta);
    const TypedResult result(y, dtype_of<T>);
    const int64_t size = in.shape()[1] / options.groups;
    const GroupForward<T> op{in.data<T>(),  result.data<T>(),      g.data<C>(),
                             data_of<C>(b), data_of<double>(mean), inv_std.data<double>(),
                             options.eps,   options.groups,        size};
    enqueue_sets(Context::of(in), plan_groups({result.array(), in, Array()}, options.groups, kPackSize<T>), op);
    result.finish();
  });
  if (!floating) refuse(call, x);
}

void normalize_grad(const char* call, int64_t groups, const Array& x, const Array& gamma, const Array& mean,
                    const Array& inv_std, const Array& gy, const Array& gx, const Array& ggamma, const Array& gbeta) {
  if (x.size() == 0) {
    if (ggamma.is_defined()) ggamma.fill(0.0);
    if (gbeta.is_defined()) gbeta.fill(0.0);
    return;
  }
  const bool floating = visit_floating(element_dtype(x, gamma), [&]<class T>() {
    using C = Compute<T>;
    const Array in = x.astype(dtype_of<T>), gradient = gy.astype(dtype_of<T>);
    if (gx.is_defined()) {
      const Array g = vector_of<C>(gamma);
      const TypedResult result(gx, dtype_of<T>);
      const GroupBackward<T> op{in.data<T>(), gradient.data<T>(),    result.data<T>(),
                                g.data<C>(),  data_of<double>(mean), inv_std.data<double>(),
                                groups,       in.shape()[1] / groups};
      enqueue_sets(Context::of(in), plan_groups({result.array(), in, gradient}, groups, kPackSize<T>), op);
      result.finish();
    }
    parameter_gradients<T>(in, gradient, mean, inv_std, groups, ggamma, gbeta);
  });
  if (!floating) refuse(call, x);
}

void group_normalization(Params<kernels::GroupNormalizationOptions> options, In x, In gamma, In beta, Out y, Out mean,
                         Out inv_std) {
  normalize("group_normalization", *options, x, gamma, beta, y, mean, inv_std);
}

void group_normalization_grad(Params<kernels::GroupNormalizationOptions> options, In x, In gamma, In mean, In inv_std,
                              In gy, Out gx, Out ggamma, Out gbeta) {
  normalize_grad("group_normalization_grad", options->groups, x, gamma, mean, inv_std, gy, gx, ggamma, gbeta);
}

void rms_normalization(Params<double> eps, In x, In gamma, Out y, Out inv_rms) {
  normalize("rms_normalization", {1, *eps}, x, gamma, Array(), y, Array(), inv_rms);
}

void rms_normalization_grad(In x, In gamma, In inv_rms, In gy, Out gx, Out ggamma) {
  normalize_grad("rms_normalization_grad", 1, x, gamma, Array(), inv_rms, gy, gx, ggamma, Array());
}

/// y = x / (|x| + eps), or the gradient where gy is not null.
template <class T>
struct VectorNormalizer {
  using C = Compute<T>;
  using Statistics = Products<double>;
  static constexpr int kPack = kPackSize<T>;
  const T *x, *gy;
  T* out;
  double eps;

  __device__ Products<double> measure(const SetPlan& plan, const SetThread& thread) const {
    const Products<double> own = in_range<C>([&]<class A>(A zero) {
      Products<A> sums{zero, zero};
      thread.for_each<kPack>(plan, [&]<int N>(const int64_t(&offset)[SetPlan::kOperands]) {
        C values[N], gradients[N];
        load_wide<T, N>(x + thread.at[SetPlan::kA] + offset[SetPlan::kA], values);
        if (gy != nullptr) load_wide<T, N>(gy + thread.at[SetPlan::kB] + offset[SetPlan::kB], gradients);
#pragma unroll
        for (int k = 0; k < N; ++k) {
          const A value = static_cast<A>(values[k]);
          sums.sum += value * value;
          if (gy != nullptr) sums.product += value * static_cast<A>(gradients[k]);
        }
      });
      return sums;
    });
    return thread.combine_members(plan, own, Products<double>{0, 0}, Products<double>{});
  }
  __device__ static Products<double> merge(const Products<double>& a, const Products<double>& b) {
    return Products<double>{}(a, b);
  }
  __device__ void publish(int64_t, const Products<double>&) const {}
  __device__ void apply(const SetPlan& plan, const SetThread& thread, const Products<double>& sums) const {
    const double norm = sqrt(sums.sum), inverse = 1 / (norm + eps);
    const double slope = norm == 0 ? 0 : sums.product / norm * inverse;
    const C factor = static_cast<C>(inverse), along = static_cast<C>(slope);
    thread.for_each<kPack>(plan, [&]<int N>(const int64_t(&offset)[SetPlan::kOperands]) {
      C values[N];
      load_wide<T, N>(x + thread.at[SetPlan::kA] + offset[SetPlan::kA], values);
      if (gy == nullptr) {
#pragma unroll
        for (int k = 0; k < N; ++k) values[k] *= factor;
      } else {
        C gradients[N];
        load_wide<T, N>(gy + thread.at[SetPlan::kB] + offset[SetPlan::kB], gradients);
#pragma unroll
        for (int k = 0; k < N; ++k) values[k] = (gradients[k] - values[k] * along) * factor;
      }
      store_narrow<T, N>(out + thread.at[SetPlan::kOut] + offset[SetPlan::kOut], values);
    });
  }
};

void normalize_vectors(const char* call, const kernels::L2NormalizationOptions& options, const Array& x,
                       const Array& gy, const Array& y) {
  if (x.size() == 0) return;
  const bool floating = visit_floating(x.dtype(), [&]<class T>() {
    const Array gradient = gy.is_defined() ? gy.astype(dtype_of<T>) : Array();
    const TypedResult result(y, dtype_of<T>);
    const VectorNormalizer<T> op{x.data<T>(), gradient.is_defined() ? gradient.data<T>() : nullptr, result.data<T>(),
                                 options.eps};
    enqueue_sets(Context::of(x), plan_sets({result.array(), x, gradient}, options.axes, kPackSize<T>), op);
    result.finish();
  });
  if (!floating) refuse(call, x);
}

void l2_normalization(Params<kernels::L2NormalizationOptions> options, In x, Out y) {
  normalize_vectors("l2_normalization", *options, x, Array(), y);
}
void l2_normalization_grad(Params<kernels::L2NormalizationOptions> options, In x, In gy, Out gx) {
  normalize_vectors("l2_normalization_grad", *options, x, gy, gx);
}

}  // namespace

void register_normalization(Backend& backend) {
  backend.add<kernels::GroupNormalization>(group_normalization);
  backend.add<kernels::GroupNormalizationGrad>(group_normalization_grad);
  backend.add<kernels::RmsNormalization>(rms_normalization);
  backend.add<kernels::RmsNormalizationGrad>(rms_normalization_grad);
  backend.add<kernels::L2Normalization>(l2_normalization);
  backend.add<kernels::L2NormalizationGrad>(l2_normalization_grad);
  register_local_response(backend);
}

}  // namespace kusari::cuda
