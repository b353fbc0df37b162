#pragma once

#include <cstring>
#include <type_traits>

#include "kusari/cuda/kernels/element_access.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/pointwise.h"
#include "kusari/framework/core/backend.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"

// The kernels of a functor. Included by the sources pointwise_*.cu, one for each list of functors.
namespace kusari::cuda {

/// Functors that threads compute for one element after the other, see scalar_functions.h: what a thread kept of others
/// beside such a call would not fit into its registers.
template <class Op>
inline constexpr bool kHasSteps = requires {
  Op::kHasSteps;
};
/// Functors whose formula is so long that it is compiled once for each type, not once in each place of use.
template <class Op>
inline constexpr bool kIsLong = kHasSteps<Op> || requires {
  Op::kIsLong;
};

namespace detail {

/// Whether some arguments need Op::rare instead of the formula: on processors, see math_functions.h.
template <class Op, class C>
concept HasRare = !KUSARI_ON_GPU && requires(C x) {
  Op::is_rare(x);
};

template <class Op, class C, class... X>
__device__ __forceinline__ C apply_inline(const Op& op, X... x) {
  if constexpr (HasRare<Op, C>) {
    return Op::is_rare(x...) ? Op::rare(x...) : op(x...);
  } else {
    return op(x...);
  }
}

template <class Op, class C, class... X>
__device__ __attribute__((noinline)) C apply_called(Op op, X... x) {
  return apply_inline<Op, C>(op, x...);
}

/// op of the first kInputs arguments.
template <class Op, int kInputs, class C>
__device__ __forceinline__ C apply(const Op& op, C a, C b, C c, C d) {
  if constexpr (kIsLong<Op>) {
    if constexpr (kInputs == 1) return apply_called<Op, C>(op, a);
    if constexpr (kInputs == 2) return apply_called<Op, C>(op, a, b);
    if constexpr (kInputs == 3) return apply_called<Op, C>(op, a, b, c);
    if constexpr (kInputs == 4) return apply_called<Op, C>(op, a, b, c, d);
  } else {
    if constexpr (kInputs == 1) return apply_inline<Op, C>(op, a);
    if constexpr (kInputs == 2) return apply_inline<Op, C>(op, a, b);
    if constexpr (kInputs == 3) return apply_inline<Op, C>(op, a, b, c);
    if constexpr (kInputs == 4) return apply_inline<Op, C>(op, a, b, c, d);
  }
}

template <class Op>
inline constexpr bool kBooleanResult = requires {
  Op::kBoolean;
};
template <class Op>
inline constexpr bool kBooleanArgument = std::is_same_v<Op, kernels::Where>;

/// The functor, the type T of its operands, and how many elements make a pack.
template <class Op, class T>
struct Fast {
  static constexpr int kInputs = kusari::detail::pointwise_arity<Op>();
  static constexpr int kPack = kPackSize<T>;
  using C = Compute<T>;
  using Y = std::conditional_t<kBooleanResult<Op>, bool, T>;
  using First = std::conditional_t<kBooleanArgument<Op>, bool, T>;
  using YPack = Pack<Y, kPack>;
  using FirstPack = Pack<First, kPack>;
  using OtherPack = Pack<T, kPack>;
  static_assert(sizeof(Op) <= sizeof(FunctorBytes) && std::is_trivially_copyable_v<Op>);

  struct Inputs {
    FirstPack a;
    OtherPack b, c, d;
  };

  /// Element i of operands without gaps.
  __device__ static __forceinline__ void run_element(const Op& op, const PointwiseOperands<kInputs>& operands,
                                                     int64_t i) {
    const auto input = [&](int k) -> C { return widen(reinterpret_cast<const T*>(operands.base[k])[i]); };
    const C a = static_cast<C>(widen(reinterpret_cast<const First*>(operands.base[1])[i]));
    C b{}, c{}, d{};
    if constexpr (kInputs > 1) b = input(2);
    if constexpr (kInputs > 2) c = input(3);
    if constexpr (kInputs > 3) d = input(4);
    reinterpret_cast<Y*>(operands.base[0])[i] = narrow<Y>(apply<Op, kInputs, C>(op, a, b, c, d));
  }

  __device__ static __forceinline__ YPack run(const Op& op, const Inputs& x) {
    YPack y;
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      C b{}, c{}, d{};
      if constexpr (kInputs > 1) b = widen(x.b.at[i]);
      if constexpr (kInputs > 2) c = widen(x.c.at[i]);
      if constexpr (kInputs > 3) d = widen(x.d.at[i]);
      y.at[i] = narrow<Y>(apply<Op, kInputs, C>(op, static_cast<C>(widen(x.a.at[i])), b, c, d));
    }
    return y;
  }
};

template <class Op>
__device__ __forceinline__ Op functor_of(const FunctorBytes& bytes) {
  Op op;
  memcpy(&op, bytes.byte, sizeof(Op));
  return op;
}

template <class P>
__device__ __forceinline__ P& pack_at(char* base, int64_t pack) {
  return *reinterpret_cast<P*>(base + pack * static_cast<int64_t>(sizeof(P)));
}

/// The pack at `base`, or its first element in every place.
template <class P>
__device__ __forceinline__ P pack_or_repeated(const char* base, bool repeated) {
  if (!repeated) return *reinterpret_cast<const P*>(base);
  using T = std::remove_extent_t<decltype(P::at)>;
  const T element = *reinterpret_cast<const T*>(base);
  P pack;
#pragma unroll
  for (T& at : pack.at) at = element;
  return pack;
}

}  // namespace detail

template <class Op, class T>
__global__ void __launch_bounds__(kPointwiseThreads)
    pointwise_flat(FunctorBytes bytes, PointwiseOperands<detail::Fast<Op, T>::kInputs> operands, int64_t n, int span) {
  using F = detail::Fast<Op, T>;
  constexpr int kInputs = F::kInputs, kPacks = kFlatPacks<kInputs>;
  const Op op = detail::functor_of<Op>(bytes);
  const int64_t packs = n / F::kPack, first = static_cast<int64_t>(blockIdx.x) * span;
  const int left = static_cast<int>(packs - first < span ? packs - first : span);
  typename F::Inputs x[kPacks];
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int at = static_cast<int>(threadIdx.x) + j * kPointwiseThreads;
    if (at >= left) continue;
    x[j].a = detail::pack_at<typename F::FirstPack>(operands.base[1], first + at);
    if constexpr (kInputs > 1) x[j].b = detail::pack_at<typename F::OtherPack>(operands.base[2], first + at);
    if constexpr (kInputs > 2) x[j].c = detail::pack_at<typename F::OtherPack>(operands.base[3], first + at);
    if constexpr (kInputs > 3) x[j].d = detail::pack_at<typename F::OtherPack>(operands.base[4], first + at);
  }
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int at = static_cast<int>(threadIdx.x) + j * kPointwiseThreads;
    if (at < left) detail::pack_at<typename F::YPack>(operands.base[0], first + at) = F::run(op, x[j]);
  }
  // What does not fill a pack.
  const int64_t i = packs * F::kPack + threadIdx.x;
  if (blockIdx.x + 1 == gridDim.x && i < n) F::run_element(op, operands, i);
}

/// The same for functors with steps.
template <class Op, class T>
__global__ void __launch_bounds__(kPointwiseThreads)
    pointwise_one_by_one(FunctorBytes bytes, PointwiseOperands<detail::Fast<Op, T>::kInputs> operands, int64_t n,
                         int span) {
  using F = detail::Fast<Op, T>;
  const Op op = detail::functor_of<Op>(bytes);
  const int64_t first = static_cast<int64_t>(blockIdx.x) * span * F::kPack;
  const int64_t end = blockIdx.x + 1 == gridDim.x ? n : first + span * F::kPack;
  KUSARI_NO_UNROLL
  for (int64_t i = first + threadIdx.x; i < end; i += kPointwiseThreads) F::run_element(op, operands, i);
}

template <class Op, class T>
__global__ void __launch_bounds__(kPointwiseThreads)
    pointwise_strided(FunctorBytes bytes, PointwiseOperands<detail::Fast<Op, T>::kInputs> operands,
                      StridedIndex<detail::Fast<Op, T>::kInputs + 1> index, uint32_t n, uint32_t repeated) {
  using F = detail::Fast<Op, T>;
  constexpr int kInputs = F::kInputs;
  const Op op = detail::functor_of<Op>(bytes);
  const uint32_t first = blockIdx.x * (kPointwiseThreads * kStridedPacks) + threadIdx.x;
  uint32_t number[kStridedPacks];
  int32_t offset[kInputs + 1][kStridedPacks];
#pragma unroll
  for (int j = 0; j < kStridedPacks; ++j) {
    const uint32_t at = first + static_cast<uint32_t>(j) * kPointwiseThreads;
    number[j] = at < n ? at : 0;
  }
  index.offsets(number, offset);
  typename F::Inputs x[kStridedPacks];
#pragma unroll
  for (int j = 0; j < kStridedPacks; ++j) {
    const auto place = [&](int k) { return operands.base[k] + offset[k][j]; };
    const auto is_repeated = [&](int k) { return (repeated >> k & 1u) != 0; };
    x[j].a = detail::pack_or_repeated<typename F::FirstPack>(place(1), is_repeated(1));
    if constexpr (kInputs > 1) x[j].b = detail::pack_or_repeated<typename F::OtherPack>(place(2), is_repeated(2));
    if constexpr (kInputs > 2) x[j].c = detail::pack_or_repeated<typename F::OtherPack>(place(3), is_repeated(3));
    if constexpr (kInputs > 3) x[j].d = detail::pack_or_repeated<typename F::OtherPack>(place(4), is_repeated(4));
  }
#pragma unroll
  for (int j = 0; j < kStridedPacks; ++j) {
    if (first + static_cast<uint32_t>(j) * kPointwiseThreads < n)
      *reinterpret_cast<typename F::YPack*>(operands.base[0] + offset[0][j]) = F::run(op, x[j]);
  }
}

template <class Op, class C>
__global__ void __launch_bounds__(kPointwiseThreads)
    pointwise_general(FunctorBytes bytes, PointwiseOperands<kusari::detail::pointwise_arity<Op>()> operands,
                      StridedIndex<kusari::detail::pointwise_arity<Op>() + 1> index, uint32_t n) {
  constexpr int kInputs = kusari::detail::pointwise_arity<Op>();
  const Op op = detail::functor_of<Op>(bytes);
  constexpr int kItems = kHasSteps<Op> ? 1 : kAtOnce;
  const uint32_t block = blockIdx.x * (kPointwiseThreads * kAtOnce) + threadIdx.x;
  KUSARI_NO_UNROLL
  for (int done = 0; done < kAtOnce; done += kItems) {
    const uint32_t first = block + static_cast<uint32_t>(done) * kPointwiseThreads;
    if (first >= n) return;
    uint32_t number[kItems];
    int32_t offset[kInputs + 1][kItems];
    int left = 0;
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      const uint32_t at = first + static_cast<uint32_t>(j) * kPointwiseThreads;
      left += at < n ? 1 : 0;
      number[j] = at < n ? at : first;
    }
    index.offsets(number, offset);
    const auto input = [&](int k) {
      OffsetsOf<kItems> offsets;
#pragma unroll
      for (int j = 0; j < kItems; ++j) offsets.at[j] = offset[k][j];
      return load_values<C>(operands.base[k], offsets, operands.dtype[k]);
    };
    const ValuesOf<C, kItems> a = input(1);
    ValuesOf<C, kItems> b{}, c{}, d{}, y;
    if constexpr (kInputs > 1) b = input(2);
    if constexpr (kInputs > 2) c = input(3);
    if constexpr (kInputs > 3) d = input(4);
    OffsetsOf<kItems> offsets;
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      y.at[j] = detail::apply<Op, kInputs, C>(op, a.at[j], b.at[j], c.at[j], d.at[j]);
      offsets.at[j] = offset[0][j];
    }
    store_values<C>(operands.base[0], offsets, y, left, operands.dtype[0]);
  }
}

template <class Op>
constexpr auto pointwise_kernels() {
  PointwiseKernels<kusari::detail::pointwise_arity<Op>()> kernels{};
  kernels.name = Op::kName;
  kernels.boolean_result = detail::kBooleanResult<Op>;
  kernels.boolean_argument = detail::kBooleanArgument<Op>;
  if constexpr (kHasSteps<Op>) {
    kernels.flat[fast_type_of(Dtype::float32)] = &pointwise_one_by_one<Op, float>;
    kernels.flat[fast_type_of(Dtype::float16)] = &pointwise_one_by_one<Op, float16>;
    kernels.flat[fast_type_of(Dtype::bfloat16)] = &pointwise_one_by_one<Op, bfloat16>;
  } else {
    kernels.flat[fast_type_of(Dtype::float32)] = &pointwise_flat<Op, float>;
    kernels.flat[fast_type_of(Dtype::float16)] = &pointwise_flat<Op, float16>;
    kernels.flat[fast_type_of(Dtype::bfloat16)] = &pointwise_flat<Op, bfloat16>;
    kernels.strided[fast_type_of(Dtype::float32)] = &pointwise_strided<Op, float>;
    kernels.strided[fast_type_of(Dtype::float16)] = &pointwise_strided<Op, float16>;
    kernels.strided[fast_type_of(Dtype::bfloat16)] = &pointwise_strided<Op, bfloat16>;
  }
  kernels.float32 = &pointwise_general<Op, float>;
  kernels.float64 = &pointwise_general<Op, double>;
  if constexpr (requires { Op::kIntegers; }) kernels.int64 = &pointwise_general<Op, km::i64>;
  return kernels;
}

template <class Op>
inline constexpr auto kPointwiseKernels = pointwise_kernels<Op>();

template <class Op, class... X>
void pointwise(Params<Op> op, X... x, Out y) {
  FunctorBytes bytes{};
  std::memcpy(bytes.byte, &*op, sizeof(Op));
  const Array* const operands[] = {&*y, &*x...};
  run_pointwise(kPointwiseKernels<Op>, bytes, operands);
}

template <class Op>
void add_pointwise(Backend& backend) {
  using Kernel = kernels::Pointwise<Op>;
  constexpr int kInputs = kusari::detail::pointwise_arity<Op>();
  if constexpr (kInputs == 1) {
    backend.add<Kernel>(&pointwise<Op, In>);
    remember_function(kernel_id<Kernel>(), kPointwiseKernels<Op>);
  } else if constexpr (kInputs == 2) {
    backend.add<Kernel>(&pointwise<Op, In, In>);
  } else if constexpr (kInputs == 3) {
    backend.add<Kernel>(&pointwise<Op, In, In, In>);
  } else {
    backend.add<Kernel>(&pointwise<Op, In, In, In, In>);
  }
}

}  // namespace kusari::cuda
