#pragma once

#include "kusari/cuda/kernels/element.cuh"
#include "kusari/framework/core/array.h"

namespace kusari::cuda {

/// A few floating numbers without gaps, of a dtype that is known at run time alone; null if undefined.
struct AnyNumbers {
  void* data = nullptr;
  Dtype dtype = Dtype::float32;

  AnyNumbers() = default;
  explicit AnyNumbers(const Array& x) {
    if (!x.is_defined()) return;
    data = x.raw_data();
    dtype = x.dtype();
  }
  __device__ bool is_defined() const { return data != nullptr; }
  __device__ double get(int64_t i) const {
    switch (dtype) {
      case Dtype::float16:
        return static_cast<double>(widen(static_cast<const float16*>(data)[i]));
      case Dtype::bfloat16:
        return static_cast<double>(widen(static_cast<const bfloat16*>(data)[i]));
      case Dtype::float32:
        return static_cast<double>(static_cast<const float*>(data)[i]);
      default:
        return static_cast<const double*>(data)[i];
    }
  }
  __device__ void set(int64_t i, double value) const {
    switch (dtype) {
      case Dtype::float16:
        static_cast<float16*>(data)[i] = narrow<float16>(value);
        break;
      case Dtype::bfloat16:
        static_cast<bfloat16*>(data)[i] = narrow<bfloat16>(value);
        break;
      case Dtype::float32:
        static_cast<float*>(data)[i] = static_cast<float>(value);
        break;
      default:
        static_cast<double*>(data)[i] = value;
    }
  }
};

}  // namespace kusari::cuda
