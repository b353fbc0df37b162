#include "kusari/framework/kernels/random.h"

#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/plans/draw_plan.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/philox_numbers.h"
#include "kusari/framework/kernels/pointwise.h"

// Compiled without contraction of products and sums, so that uniform numbers are the CPU's bit by bit.
namespace kusari::cuda {
namespace {

constexpr int kThreads = 256;
/// Groups whose operands a thread reads before it uses them.
constexpr int kGroups = 2;

template <class C>
struct Numbers {
  C at[kGroup];
};

/// The uniform numbers of a block of the generator.
template <class C>
struct Uniforms;

template <>
struct Uniforms<float> {
  PhiloxBlock high;
  __device__ __forceinline__ Uniforms(uint64_t seed, uint64_t block, km::u32 plane)
      : high{philox_block(seed, block, plane)} {}
  __device__ __forceinline__ float uniform(int j) const { return km::uniform_from(high.word[j]); }
  __device__ __forceinline__ float positive_uniform(int j) const { return km::positive_uniform_from(high.word[j]); }
};

template <>
struct Uniforms<double> {
  PhiloxBlock high, low;
  __device__ __forceinline__ Uniforms(uint64_t seed, uint64_t block, km::u32 plane)
      : high{philox_block(seed, block, plane)}, low{philox_block(seed, block, plane + 1)} {}
  __device__ __forceinline__ double uniform(int j) const { return km::uniform_from(high.word[j], low.word[j]); }
  __device__ __forceinline__ double positive_uniform(int j) const {
    return km::positive_uniform_from(high.word[j], low.word[j]);
  }
};

template <class C>
struct UniformNumbers {
  C low, range;
  __device__ __forceinline__ Numbers<C> operator()(uint64_t seed, uint64_t block) const {
    const Uniforms<C> u(seed, block, km::kUniformPlane);
    Numbers<C> y;
#pragma unroll
    for (int j = 0; j < kGroup; ++j) y.at[j] = low + range * u.uniform(j);
    return y;
  }
};

template <class C>
struct NormalNumbers {
  C mean, deviation;
  __device__ __forceinline__ Numbers<C> operator()(uint64_t seed, uint64_t block) const {
    const Uniforms<C> u(seed, block, km::kNormalPlane);
    Numbers<C> y;
#pragma unroll
    for (int j = 0; j < kGroup; j += 2) {
      const C radius = deviation * km::normal_radius(u.positive_uniform(j)), angle = km::normal_angle(u.uniform(j + 1));
      y.at[j] = mean + radius * km::cos(angle);
      y.at[j + 1] = mean + radius * km::sin(angle);
    }
    return y;
  }
};

template <class C>
struct MaskNumbers {
  C ratio, scale;
  __device__ __forceinline__ Numbers<C> operator()(uint64_t seed, uint64_t block) const {
    const Uniforms<C> u(seed, block, km::kUniformPlane);
    Numbers<C> y;
#pragma unroll
    for (int j = 0; j < kGroup; ++j) y.at[j] = u.uniform(j) < ratio ? C(0) : scale;
    return y;
  }
};

/// Packs of a group: two where it has more than 16 bytes.
template <class T>
inline constexpr int kPart = kGroup* static_cast<int>(sizeof(T)) > 16 ? kGroup / 2 : kGroup;

template <class T>
struct Elements {
  Pack<T, kPart<T>> part[kGroup / kPart<T>];
  __device__ __forceinline__ T& at(int j) { return part[j / kPart<T>].at[j % kPart<T>]; }
};

template <class T, int kOperands>
__device__ __forceinline__ void read(const DrawPlan<kOperands>& plan, const Group<kOperands>& group, int k,
                                     Elements<T>& x) {
  const char* const from = plan.base[k] + group.offset[k];
  if (group.is_pack(plan)) {
    x = *reinterpret_cast<const Elements<T>*>(from);
    return;
  }
#pragma unroll
  for (int j = 0; j < kGroup; ++j) {
    if (group.has(plan, j)) x.at(j) = *reinterpret_cast<const T*>(from + j * plan.stride[k]);
  }
}

template <class T, int kOperands>
__device__ __forceinline__ void write(const DrawPlan<kOperands>& plan, const Group<kOperands>& group, int k,
                                      Elements<T>& y) {
  char* const to = plan.base[k] + group.offset[k];
  if (group.is_pack(plan)) {
    *reinterpret_cast<Elements<T>*>(to) = y;
    return;
  }
#pragma unroll
  for (int j = 0; j < kGroup; ++j) {
    if (group.has(plan, j)) *reinterpret_cast<T*>(to + j * plan.stride[k]) = y.at(j);
  }
}

/// The numbers of places place .. place + 3.
template <class C, class Make>
__device__ __forceinline__ Numbers<C> numbers_from(const Make& make, uint64_t seed, uint64_t place) {
  const Numbers<C> low = make(seed, place / kGroup);
  const unsigned skip = static_cast<unsigned>(place % kGroup);
  if (skip == 0) return low;
  const Numbers<C> high = make(seed, place / kGroup + 1);
  const C all[2 * kGroup - 1] = {low.at[0], low.at[1], low.at[2], low.at[3], high.at[0], high.at[1], high.at[2]};
  // By one and by two, because registers have no index.
  C shifted[kGroup + 2];
#pragma unroll
  for (int j = 0; j < kGroup + 2; ++j) shifted[j] = (skip & 1u) != 0 ? all[j + 1] : all[j];
  Numbers<C> y;
#pragma unroll
  for (int j = 0; j < kGroup; ++j) y.at[j] = (skip & 2u) != 0 ? shifted[j + 2] : shifted[j];
  return y;
}

template <class T, class Make>
__global__ void __launch_bounds__(kThreads) draw_kernel(Make make, DrawPlan<1> plan) {
  const uint64_t origin = first_place(plan.state);
#pragma unroll
  for (int u = 0; u < kGroups; ++u) {
    const uint32_t unit = (blockIdx.x * kGroups + u) * kThreads + threadIdx.x;
    if (unit >= plan.units) return;
    const Group<1> group(plan, unit, origin);
    const Numbers<Compute<T>> numbers = numbers_from<Compute<T>>(make, plan.state.seed, group.place);
    Elements<T> y;
#pragma unroll
    for (int j = 0; j < kGroup; ++j) y.at(j) = narrow<T>(numbers.at[j]);
    write(plan, group, 0, y);
  }
}

/// Operands: y, x, mask.
template <class T>
__global__ void __launch_bounds__(kThreads) dropout_kernel(MaskNumbers<Compute<T>> make, DrawPlan<3> plan) {
  using C = Compute<T>;
  const uint64_t origin = first_place(plan.state);
  const uint32_t unit = blockIdx.x * (kGroups * kThreads) + threadIdx.x;
  Elements<T> x[kGroups];
#pragma unroll
  for (int u = 0; u < kGroups; ++u) {
    if (unit + u * kThreads < plan.units) read(plan, Group<3>(plan, unit + u * kThreads, origin), 1, x[u]);
  }
#pragma unroll
  for (int u = 0; u < kGroups; ++u) {
    if (unit + u * kThreads >= plan.units) return;
    const Group<3> group(plan, unit + u * kThreads, origin);
    const Numbers<C> numbers = numbers_from<C>(make, plan.state.seed, group.place);
    Elements<T> y, mask;
#pragma unroll
    for (int j = 0; j < kGroup; ++j) {
      mask.at(j) = narrow<T>(numbers.at[j]);
      y.at(j) = narrow<T>(kernels::Mul{}(widen(x[u].at(j)), widen(mask.at(j))));
    }
    write(plan, group, 2, mask);
    write(plan, group, 0, y);
  }
}

template <int kOperands>
LaunchShape shape_of(const DrawPlan<kOperands>& plan) {
  return {blocks_for(plan.units, kThreads * kGroups), kThreads};
}

/// Fills y with `make(C{})`'s numbers, C the type in which y is computed.
template <class MakeFor>
void draw(const Array& y, RandomState state, const MakeFor& make_for) {
  if (y.size() == 0) return;
  const Array* const operands[] = {&y};
  const bool is_floating = visit_floating(y.dtype(), [&]<class T>() {
    const auto make = make_for(Compute<T>{});
    for_each_narrow_in_order(range_in_order(operands), state, [&](const StridedRange<1>& piece, RandomState at) {
      const DrawPlan<1> plan = plan_of(piece, at, sizeof(T));
      enqueue(Context::of(y), shape_of(plan), &draw_kernel<T, std::remove_const_t<decltype(make)>>, make, plan);
    });
  });
  if (is_floating) return;
  const Array numbers = empty(y.shape(), Dtype::float32, y.device());
  draw(numbers, state, make_for);
  y.copy_from(numbers);
}

void uniform(Params<kernels::UniformRange> range, RandomState state, Out y) {
  draw(y, state, [&]<class C>(C) {
    return UniformNumbers<C>{static_cast<C>(range->low), static_cast<C>(range->high - range->low)};
  });
}

void normal(Params<kernels::NormalMoments> moments, RandomState state, Out y) {
  draw(y, state, [&]<class C>(C) {
    return NormalNumbers<C>{static_cast<C>(moments->mean), static_cast<C>(moments->deviation)};
  });
}

void dropout(Params<kernels::DropoutRatio> params, RandomState state, In x, Out y, Out mask) {
  const auto make_for = [&]<class C>(C) {
    return MaskNumbers<C>{static_cast<C>(params->ratio), static_cast<C>(1.0 / (1.0 - params->ratio))};
  };
  const bool alike = x->shape() == y->shape() && x->shape() == mask->shape() && x->dtype() == y->dtype() &&
                     x->dtype() == mask->dtype();
  if (!alike || !x->is_floating()) {
    draw(mask, state, make_for);
    pointwise_to(y, kernels::Mul{}, *x, *mask);
    return;
  }
  if (y->size() == 0) return;
  const Array* const operands[] = {&*y, &*x, &*mask};
  visit_floating(y->dtype(), [&]<class T>() {
    for_each_narrow_in_order(range_in_order(operands), state, [&](const StridedRange<3>& piece, RandomState at) {
      const DrawPlan<3> plan = plan_of(piece, at, sizeof(T));
      enqueue(Context::of(y), shape_of(plan), &dropout_kernel<T>, make_for(Compute<T>{}), plan);
    });
  });
}

__global__ void __launch_bounds__(1) place_kernel(RandomState state, int64_t* place) {
  place[0] = static_cast<int64_t>(state.seed);
  place[1] = static_cast<int64_t>(first_place(state));
}

void random_place(RandomState state, Out place) {
  enqueue(Context::of(*place), {dim3(1), dim3(1)}, place_kernel, state, place->data<int64_t>());
}

}  // namespace

void register_random(Backend& backend) {
  backend.add<kernels::RandomPlace>(&random_place);
  backend.add<kernels::Uniform>(&uniform);
  backend.add<kernels::Normal>(&normal);
  backend.add<kernels::Dropout>(&dropout);
}

}  // namespace kusari::cuda
