#include "kusari/framework/kernels/random.h"

#include "kusari/cuda/element.cuh"
#include "kusari/cuda/launch.cuh"
#include "kusari/cuda/register.h"
#include "kusari/cuda/strided_index.cuh"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/random_numbers.h"

// Compiled without contraction of products and sums, so that uniform numbers are the CPU's bit by bit.
namespace kusari::cuda {
namespace {

constexpr int kThreads = 256;
/// Numbers that one block of the generator gives: what a thread makes at a time.
constexpr int kGroup = 4;
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

/// Elements in C order: rows along the last axis, groups along each row. Where the rows are contiguous (`packed`),
/// groups lie on the boundaries of packs of memory; elsewhere on those of the generator's blocks.
template <int kOperands>
struct DrawPlan {
  RandomState state;  // of the first element
  uint32_t units;     // rows times groups of a row
  int32_t row_size;
  Divisor divisor;  // groups of a row if groups run fastest, else rows
  bool groups_run_fastest;
  bool packed;
  StridedIndex<kOperands> rows;
  int32_t stride[kOperands];  // bytes from one element of a row to the next
  char* base[kOperands];
};

/// Elements first .. first + 3 of a row, of which those outside 0 .. row_size - 1 do not exist.
template <int kOperands>
struct Group {
  int first;
  uint64_t place;  // of element `first` in the stream
  int32_t offset[kOperands];

  __device__ __forceinline__ Group(const DrawPlan<kOperands>& plan, uint32_t unit) {
    const uint32_t quotient = plan.divisor.quotient(unit), remainder = unit - quotient * plan.divisor.value();
    const uint32_t row = plan.groups_run_fastest ? quotient : remainder;
    const uint32_t group = plan.groups_run_fastest ? remainder : quotient;
    const uint64_t start = plan.state.offset + static_cast<uint64_t>(row) * static_cast<uint32_t>(plan.row_size);
    first = static_cast<int>(group) * kGroup - (plan.packed ? 0 : static_cast<int>(start % kGroup));
    place = start + static_cast<uint64_t>(static_cast<int64_t>(first));
    uint32_t number[1] = {row};
    int32_t row_offset[kOperands][1];
    plan.rows.offsets(number, row_offset);
    for (int k = 0; k < kOperands; ++k) offset[k] = row_offset[k][0] + first * plan.stride[k];
  }
  __device__ __forceinline__ bool has(const DrawPlan<kOperands>& plan, int j) const {
    return first + j >= 0 && first + j < plan.row_size;
  }
  __device__ __forceinline__ bool is_pack(const DrawPlan<kOperands>& plan) const {
    return plan.packed && first + kGroup <= plan.row_size;
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
#pragma unroll
  for (int u = 0; u < kGroups; ++u) {
    const uint32_t unit = (blockIdx.x * kGroups + u) * kThreads + threadIdx.x;
    if (unit >= plan.units) return;
    const Group<1> group(plan, unit);
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
  const uint32_t unit = blockIdx.x * (kGroups * kThreads) + threadIdx.x;
  Elements<T> x[kGroups];
#pragma unroll
  for (int u = 0; u < kGroups; ++u) {
    if (unit + u * kThreads < plan.units) read(plan, Group<3>(plan, unit + u * kThreads), 1, x[u]);
  }
#pragma unroll
  for (int u = 0; u < kGroups; ++u) {
    if (unit + u * kThreads >= plan.units) return;
    const Group<3> group(plan, unit + u * kThreads);
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

/// The operands' axes in the order of their common shape, those that are one range in every operand merged.
template <int kOperands>
StridedRange<kOperands> range_in_order(const Array* const (&operands)[kOperands]) {
  StridedRange<kOperands> range;
  range.ndim = 0;
  const Shape& shape = operands[0]->shape();
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    if (shape[axis] == 1) continue;
    int64_t stride[kOperands];
    bool merges = range.ndim > 0;
    for (int k = 0; k < kOperands; ++k) {
      stride[k] = operands[k]->strides()[axis] * itemsize(operands[k]->dtype());
      merges = merges && range.stride[k][range.ndim - 1] == stride[k] * shape[axis];
    }
    if (merges) {
      range.size[range.ndim - 1] *= shape[axis];
    } else {
      range.size[range.ndim++] = shape[axis];
    }
    for (int k = 0; k < kOperands; ++k) range.stride[k][range.ndim - 1] = stride[k];
  }
  if (range.ndim == 0) {
    range.size[range.ndim++] = 1;
    for (int k = 0; k < kOperands; ++k) range.stride[k][0] = itemsize(operands[k]->dtype());
  }
  for (int k = 0; k < kOperands; ++k) range.base[k] = operands[k]->template data<char>();
  return range;
}

/// A range that is narrow; elements of `itemsize` bytes.
template <int kOperands>
DrawPlan<kOperands> plan_of(const StridedRange<kOperands>& range, RandomState state, int64_t itemsize) {
  const int last = range.ndim - 1;
  DrawPlan<kOperands> plan;
  plan.state = state;
  plan.row_size = static_cast<int32_t>(range.size[last]);
  plan.packed = true;
  for (int k = 0; k < kOperands; ++k) {
    plan.base[k] = range.base[k];
    plan.stride[k] = static_cast<int32_t>(range.stride[k][last]);
    const int64_t group = kGroup * itemsize < 16 ? kGroup * itemsize : 16;
    plan.packed = plan.packed && range.stride[k][last] == itemsize &&
                  reinterpret_cast<uintptr_t>(range.base[k]) % static_cast<uint64_t>(group) == 0;
    for (int axis = 0; axis < last; ++axis) plan.packed = plan.packed && range.stride[k][axis] % group == 0;
  }
  StridedRange<kOperands> rows = range;
  if (last == 0) {
    rows.size[0] = 1;
    for (int k = 0; k < kOperands; ++k) rows.stride[k][0] = 0;
  } else {
    rows.ndim = last;
  }
  const int64_t n_rows = rows.elements();
  plan.rows = rows.index();
  // A row's places may begin anywhere in a block of the generator.
  const bool in_step = plan.packed || (state.offset % kGroup == 0 && plan.row_size % kGroup == 0);
  const int64_t groups = (int64_t{plan.row_size} + (in_step ? 0 : kGroup - 1) + kGroup - 1) / kGroup;
  plan.groups_run_fastest = range.stride[0][last] == itemsize;
  plan.divisor = Divisor(plan.groups_run_fastest ? groups : n_rows);
  plan.units = static_cast<uint32_t>(n_rows * groups);
  return plan;
}

/// Calls run(piece, state) with narrow pieces, cut along the slowest axis, so that the places of each are one range.
template <int kOperands, class Run>
void for_each_narrow_in_order(const StridedRange<kOperands>& range, RandomState state, const Run& run) {
  if (range.is_narrow()) [[likely]] {
    run(range, state);
    return;
  }
  int cut = 0;
  while (range.size[cut] == 1) ++cut;
  StridedRange<kOperands> half = range;
  half.size[cut] = range.size[cut] / 2;
  for_each_narrow_in_order(half, state, run);
  state.offset += static_cast<uint64_t>(half.elements());
  for (int k = 0; k < kOperands; ++k) half.base[k] += half.size[cut] * range.stride[k][cut];
  half.size[cut] = range.size[cut] - half.size[cut];
  for_each_narrow_in_order(half, state, run);
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

}  // namespace

void register_random(Backend& backend) {
  backend.add<kernels::Uniform>(&uniform);
  backend.add<kernels::Normal>(&normal);
  backend.add<kernels::Dropout>(&dropout);
}

}  // namespace kusari::cuda
