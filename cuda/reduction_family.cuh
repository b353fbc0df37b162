#pragma once

#include <string>

#include "kusari/cuda/reduction.cuh"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::cuda {

/// Whether a kernel for each element type reads 16 bytes at a time, or one kernel reads any type.
enum class Reading { packs, elements };

template <class R, Reading kReading, class T>
void reduce_floating(const R& op, AxisMask axes, const Array& x, const Array& y) {
  using C = Compute<T>;
  const PlainReducer<R, C> reducer{op};
  if constexpr (kReading == Reading::packs) {
    enqueue_reduction(Context::of(x), plan_reduction(x, axes, y, kPackSize<T>, true), reducer, Elements<T>{x.data<T>()},
                      Target(y));
  } else {
    enqueue_reduction(Context::of(x), plan_reduction(x, axes, y, AnyFloating<C>::kPack, false), reducer,
                      AnyFloating<C>{x.raw_data(), x.dtype()}, Target(y));
  }
}

/// kernels::Reduction<R> for all dtypes.
template <class R, Reading kReading>
void reduction_kernel(Params<R> op, Params<AxisMask> axes, In x, Out y) {
  if (y->size() == 0) return;
  const bool floating =
      visit_floating(x->dtype(), [&]<class T>() { reduce_floating<R, kReading, T>(*op, *axes, x, y); });
  if (floating) return;
  if constexpr (requires { R::kIntegers; }) {
    enqueue_reduction(Context::of(*x), plan_reduction(x, *axes, y, Integers::kPack, false),
                      PlainReducer<R, km::i64>{*op}, Integers{x->raw_data(), x->dtype()}, Target(*y));
  } else {
    throw TypeError(std::string(R::kName) + ": x has dtype " + name(x->dtype()) + " but must be floating");
  }
}

template <Reading kReading, class... Rs>
void add_reductions(Backend& backend) {
  (backend.add<kernels::Reduction<Rs>>(reduction_kernel<Rs, kReading>), ...);
}

void register_reduction_extrema(Backend& backend);  // reduction_extrema.cu

}  // namespace kusari::cuda
