#pragma once

#include "kusari/cuda/kernels/elimination.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/framework/core/array.h"

namespace kusari::cuda {

/// Matrices (..., rows, n) as C-ordered ones of T: to be read, or a result that finish() converts.
template <class T>
class Matrices {
 public:
  explicit Matrices(const Array& given)
      : given_{given},
        is_direct_{given.dtype() == dtype_of<T> && given.is_contiguous()},
        work_{is_direct_ ? given : empty(given.shape(), dtype_of<T>, given.device())} {}

  int n() const { return static_cast<int>(given_.shape()[given_.ndim() - 1]); }
  int rows() const { return static_cast<int>(given_.shape()[given_.ndim() - 2]); }
  int64_t count() const {
    int64_t result = 1;
    for (int i = 0; i < given_.ndim() - 2; ++i) result *= given_.shape()[i];
    return result;
  }
  Context& context() const { return Context::of(given_); }
  /// A block for each matrix.
  LaunchShape shape() const { return {dim3(static_cast<unsigned>(count())), dim3(threads_for_matrix(n()))}; }
  const Array& array() const { return work_; }
  T* result() const { return work_.template data<T>(); }
  /// Of the given numbers.
  const T* read() const {
    if (!is_direct_) work_.copy_from(given_);
    return result();
  }
  void finish() const {
    if (!is_direct_) given_.copy_from(work_);
  }

 private:
  Array given_;
  bool is_direct_;
  Array work_;
};

/// Calls body.template operator()<T>() with the type in which matrices of a dtype are computed.
template <class Body>
void in_matrix_type(const Array& a, const Body& body) {
  if (a.dtype() == Dtype::float64) return body.template operator()<double>();
  body.template operator()<float>();
}

template <class T>
__device__ void fill_block(T* to, int64_t count, T value) {
  __syncthreads();
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) to[i] = value;
}
/// Whether a block's matrix holds NaN or infinite numbers, found by all of its threads.
template <class T>
__device__ bool is_finite_block(const T* from, int64_t count) {
  int is_infinite = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) is_infinite |= !km::isfinite(from[i]);
  return __syncthreads_or(is_infinite) == 0;
}

/// What elimination needs beside the matrices.
template <class T>
class EliminationSpace {
 public:
  explicit EliminationSpace(const Matrices<T>& m)
      : count_{static_cast<size_t>(m.count()) * static_cast<size_t>(m.n())},
        scratch_{m.context(), count_ * (sizeof(T) + sizeof(int))} {}
  T* factors() const { return scratch_.template data<T>(); }
  int* orders() const { return reinterpret_cast<int*>(factors() + count_); }

 private:
  size_t count_;
  Scratch scratch_;
};

}  // namespace kusari::cuda
