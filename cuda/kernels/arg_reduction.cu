#include "kusari/cuda/kernels/reduction.cuh"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::cuda {
namespace {

template <class C>
struct Candidate {
  C value;
  int64_t place;
};

/// The first of the best values, NaN being better than any number. It does not depend on the order of combination.
template <bool kLargest, class C>
struct ArgReducer {
  using Value = C;
  using Acc = Candidate<C>;

  // Any element beats it, since places begin at 0.
  __device__ __forceinline__ Acc identity() const { return {C(0), -1}; }
  __device__ __forceinline__ Acc map(C x, int64_t place) const { return {x, place}; }
  __device__ __forceinline__ Acc combine(const Acc& a, const Acc& b) const {
    if (a.place < 0) return b;
    if (b.place < 0) return a;
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    const bool equal = a_nan ? b_nan : a.value == b.value;
    const bool a_better = a_nan ? !b_nan : !b_nan && (kLargest ? a.value > b.value : a.value < b.value);
    return equal ? (a.place < b.place ? a : b) : (a_better ? a : b);
  }
  __device__ __forceinline__ void store(const Target& y, int64_t at, const Acc& acc, int64_t) const {
    y.store(at, static_cast<km::i64>(acc.place));
  }
};

template <bool kLargest>
void arg_reduce(Params<int> axis, In x, Out y) {
  if (y->size() == 0) return;
  // Places along a single axis do not depend on the order of the axes.
  const ReducedOrder order = *axis < 0 ? ReducedOrder::logical : ReducedOrder::memory;
  const AxisMask axes = *axis < 0 ? AxisMask::all(x->ndim()) : AxisMask::of(*axis);
  const bool floating = visit_floating(x->dtype(), [&]<class T>() {
    enqueue_reduction(Context::of(*x), plan_reduction(x, axes, y, kPackSize<T>, true, order),
                      ArgReducer<kLargest, Compute<T>>{}, Elements<T>{x->data<T>()}, Target(*y));
  });
  if (floating) return;
  enqueue_reduction(Context::of(*x), plan_reduction(x, axes, y, Integers::kPack, false, order),
                    ArgReducer<kLargest, km::i64>{}, Integers{x->raw_data(), x->dtype()}, Target(*y));
}

constexpr int kTopBlock = 512;

/// places = those of the largest elements of a row, a block for each row. Each round finds the first in the order (NaN,
/// then from the largest, equal ones from the left) of those behind the last one found.
template <class C, class Source>
__global__ void __launch_bounds__(kTopBlock) top_places(Source x, int64_t n, int64_t k, int32_t* places) {
  using Found = Candidate<C>;
  const auto is_before = [](const Found& a, const Found& b) {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return a_nan;
    return a_nan || a.value == b.value ? a.place < b.place : a.value > b.value;
  };
  const auto first_of = [is_before](const Found& a, const Found& b) {
    if (a.place < 0 || b.place < 0) return a.place < 0 ? b : a;
    return is_before(a, b) ? a : b;
  };
  const Found none = {C(0), -1};
  Found last = none;
  for (int64_t round = 0; round < k; ++round) {
    Found best = none;
    for (int64_t i = threadIdx.x; i < n; i += kTopBlock) {
      const Found here = {static_cast<C>(x.load(blockIdx.x * n + i)), i};
      if (round == 0 || is_before(last, here)) best = first_of(best, here);
    }
    last = block_reduce(best, none, first_of);
    if (threadIdx.x == 0) places[blockIdx.x * k + round] = static_cast<int32_t>(last.place);
  }
}

void top_k(In x, Out indices) {
  if (indices->size() == 0) return;
  const int64_t n = x->shape()[1], k = indices->shape()[1];
  const LaunchShape shape = {dim3(static_cast<unsigned>(x->shape()[0])), dim3(kTopBlock)};
  Context& context = Context::of(*x);
  const bool is_floating = visit_floating(x->dtype(), [&]<class T>() {
    enqueue(context, shape, top_places<Compute<T>, Elements<T>>, Elements<T>{x->data<T>()}, n, k,
            indices->data<int32_t>());
  });
  if (is_floating) return;
  enqueue(context, shape, top_places<km::i64, Integers>, Integers{x->raw_data(), x->dtype()}, n, k,
          indices->data<int32_t>());
}

}  // namespace

void register_arg_reduction(Backend& backend) {
  backend.add<kernels::TopK>(top_k);
  backend.add<kernels::Argmax>(arg_reduce<true>);
  backend.add<kernels::Argmin>(arg_reduce<false>);
}

}  // namespace kusari::cuda
