#include "kusari/framework/kernels/linear_algebra.h"

#include "kusari/cuda/kernels/elimination.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/matrices.h"
#include "kusari/cuda/runtime/register.h"

// A block for each matrix. What the CPU refuses gives NaN: an error would have to wait for the device.
namespace kusari::cuda {
namespace {

/// Column after column of the lower triangle: a warp computes the elements of a row.
template <class T>
__global__ void __launch_bounds__(kMatrixBlock) cholesky_kernel(int n, const T* a, T* y) {
  const int64_t square = int64_t{n} * n;
  a += blockIdx.x * square;
  y += blockIdx.x * square;
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  for (int64_t i = threadIdx.x; i < square; i += blockDim.x) y[i] = T(0);
  for (int k = 0; k < n; ++k) {
    __syncthreads();
    const T* const pivot_row = y + int64_t{k} * n;
    for (int i = k + warp; i < n; i += warps) {
      const T* const row = y + int64_t{i} * n;
      T sum = T(0);
      for (int j = lane; j < k; j += kWarp) sum += row[j] * pivot_row[j];
      sum = warp_reduce(sum, Plus<T>{});
      if (lane == 0) y[int64_t{i} * n + k] = a[int64_t{i} * n + k] - sum;
    }
    __syncthreads();
    const T square_of_pivot = y[int64_t{k} * n + k];
    if (!(square_of_pivot > T(0)) || !km::isfinite(square_of_pivot)) return fill_block(y, square, km::Real<T>::kNan);
    const T pivot = km::sqrt(square_of_pivot);
    __syncthreads();
    for (int i = k + static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) {
      T& element = y[int64_t{i} * n + k];
      element = i == k ? pivot : element / pivot;
    }
  }
}

/// y holds the matrices and becomes their inverses.
template <class T>
__global__ void __launch_bounds__(kMatrixBlock) inverse_kernel(int n, int* orders, T* factors, T* y) {
  y += blockIdx.x * int64_t{n} * n;
  const Pivots<T> pivots = eliminate<true>(y, n, orders + blockIdx.x * int64_t{n}, factors + blockIdx.x * int64_t{n});
  if (pivots.is_singular) fill_block(y, int64_t{n} * n, km::Real<T>::kNan);
}

/// Overwrites a.
template <class T>
__global__ void __launch_bounds__(kMatrixBlock) determinant_kernel(int n, int* orders, T* factors, T* a, T* y) {
  const Pivots<T> pivots = eliminate<false>(a + blockIdx.x * int64_t{n} * n, n, orders + blockIdx.x * int64_t{n},
                                            factors + blockIdx.x * int64_t{n});
  if (threadIdx.x == 0) y[blockIdx.x] = pivots.determinant;
}

void cholesky(Params<kernels::MatrixCall>, In a, Out y) {
  if (y->size() == 0) return;
  in_matrix_type(*a, [&]<class T>() {
    const Matrices<T> from(*a), to(*y);
    enqueue(to.context(), to.shape(), cholesky_kernel<T>, to.n(), from.read(), to.result());
    to.finish();
  });
}

void inverse(Params<kernels::MatrixCall>, In a, Out y) {
  if (y->size() == 0) return;
  in_matrix_type(*a, [&]<class T>() {
    const Matrices<T> to(*y);
    to.array().copy_from(*a);
    const EliminationSpace<T> space(to);
    enqueue(to.context(), to.shape(), inverse_kernel<T>, to.n(), space.orders(), space.factors(), to.result());
    to.finish();
  });
}

void determinant(In a, Out y) {
  if (y->size() == 0) return;
  if (a->size() == 0) return y->fill(1.0);
  in_matrix_type(*a, [&]<class T>() {
    const Array work = empty(a->shape(), dtype_of<T>, a->device());
    work.copy_from(*a);
    const Matrices<T> matrices(work);
    const EliminationSpace<T> space(matrices);
    const Array result = empty(y->shape(), dtype_of<T>, y->device());
    enqueue(matrices.context(), matrices.shape(), determinant_kernel<T>, matrices.n(), space.orders(), space.factors(),
            matrices.result(), result.data<T>());
    y->copy_from(result);
  });
}

}  // namespace

void register_linear_algebra(Backend& backend) {
  backend.add<kernels::Cholesky>(cholesky);
  backend.add<kernels::Inverse>(inverse);
  backend.add<kernels::Determinant>(determinant);
  register_cofactors(backend);
}

}  // namespace kusari::cuda
