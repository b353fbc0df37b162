#pragma once

#include <string>

#include "kusari/cuda/reduction.cuh"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::cuda {

template <class R, class T>
void reduce_floating(const R& op, AxisMask axes, const Array& x, const Array& y) {
  enqueue_reduction(Context::of(x), plan_reduction(x, axes, y, kPackSize<T>, true), PlainReducer<R, Compute<T>>{op},
                    Elements<T>{x.data<T>()}, Target(y));
}

/// Kernels::Reduction<R> for all dtypes.
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

void register_reduction_extrema(Backend& backend);  // reduction_extrema.cu

}  // namespace kusari::cuda
