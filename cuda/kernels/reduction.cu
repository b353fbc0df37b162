#include <string>

#include "kusari/cuda/kernels/reduction.cuh"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::cuda {
namespace {

/// A reducer that is called much has kReadsPacks: a kernel for each element type reads 16 bytes at a time. Of others
/// one kernel reads any type.
template <class R>
constexpr bool kReadsPacks = requires {
  R::kReadsPacks;
};

template <class R, class T>
void reduce_floating(const R& op, AxisMask axes, const Array& x, const Array& y) {
  using C = Compute<T>;
  const PlainReducer<R, C> reducer{op};
  if constexpr (kReadsPacks<R>) {
    enqueue_reduction(Context::of(x), plan_reduction(x, axes, y, kPackSize<T>, true), reducer, Elements<T>{x.data<T>()},
                      Target(y));
  } else {
    enqueue_reduction(Context::of(x), plan_reduction(x, axes, y, AnyFloating<C>::kPack, false), reducer,
                      AnyFloating<C>{x.raw_data(), x.dtype()}, Target(y));
  }
}

/// kernels::Reduction<R> for all dtypes.
template <class R>
void reduction_kernel(Params<R> op, Params<AxisMask> axes, In x, Out y) {
  if (y->size() == 0) return;
  const bool floating = visit_floating(x->dtype(), [&]<class T>() { reduce_floating<R, T>(*op, *axes, x, y); });
  if (floating) return;
  if constexpr (requires { R::kIntegers; }) {
    enqueue_reduction(Context::of(*x), plan_reduction(x, *axes, y, Integers::kPack, false),
                      PlainReducer<R, km::i64>{*op}, Integers{x->raw_data(), x->dtype()}, Target(*y));
  } else {
    throw TypeError(std::string(R::kName) + ": x has dtype " + name(x->dtype()) + " but must be floating");
  }
}

}  // namespace

void register_reduction(Backend& backend) {
#define KUSARI_ADD(R) backend.add<kernels::Reduction<kernels::R>>(reduction_kernel<kernels::R>);
  KUSARI_REDUCTIONS(KUSARI_ADD)
#undef KUSARI_ADD
}

}  // namespace kusari::cuda
