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

}  // namespace

void register_arg_reduction(Backend& backend) {
  backend.add<kernels::Argmax>(arg_reduce<true>);
  backend.add<kernels::Argmin>(arg_reduce<false>);
}

}  // namespace kusari::cuda
