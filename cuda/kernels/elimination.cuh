#pragma once

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/framework/kernels/math.h"

// Elimination in a square matrix by a whole block. Every thread calls, with the same arguments, and finds the same
// result.
namespace kusari::cuda {

/// Threads for n x n matrices, one block each.
inline unsigned threads_for_matrix(int64_t n) {
  const int64_t wanted = (n * n + kWarp - 1) / kWarp * kWarp;
  return static_cast<unsigned>(wanted < kWarp ? int64_t{kWarp} : wanted > 256 ? int64_t{256} : wanted);
}
inline constexpr int kMatrixBlock = 256;

template <class T>
struct Pivots {
  T determinant = T(1);
  T least, largest;  ///< absolute values
  bool is_singular = false;
};

namespace detail {
template <class T>
struct PivotCandidate {
  T size;  // negative: none
  int row, unused;
};
template <class T>
struct LargerPivot {
  __device__ __forceinline__ PivotCandidate<T> operator()(const PivotCandidate<T>& a,
                                                          const PivotCandidate<T>& b) const {
    const bool a_nan = a.size != a.size, b_nan = b.size != b.size;
    if (a_nan || b_nan) return a_nan && (!b_nan || a.row < b.row) ? a : b;
    if (a.size != b.size) return a.size > b.size ? a : b;
    return a.row < b.row ? a : b;
  }
};
}  // namespace detail

/// Gaussian elimination with the largest pivot of each column; a: (n, n). kInverts: a becomes its inverse (Gauss and
/// Jordan), unless it is singular. order: n numbers, factors: n elements, both the block's own.
template <bool kInverts, class T>
__device__ Pivots<T> eliminate(T* a, int n, int* order, T* factors) {
  using Candidate = detail::PivotCandidate<T>;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  Pivots<T> pivots;
  for (int k = 0; k < n; ++k) {
    Candidate best = {T(-1), n, 0};
    for (int i = k + thread; i < n; i += threads) {
      best = detail::LargerPivot<T>{}(best, Candidate{km::abs(a[int64_t{i} * n + k]), i, 0});
    }
    best = block_reduce(best, Candidate{T(-1), n, 0}, detail::LargerPivot<T>{});
    pivots.least = k == 0 || best.size < pivots.least ? best.size : pivots.least;
    pivots.largest = k == 0 || best.size > pivots.largest ? best.size : pivots.largest;
    if (best.size == T(0)) {
      pivots.is_singular = true;
      pivots.determinant = T(0);
      return pivots;
    }
    T* const row = a + int64_t{k} * n;
    if (best.row != k) {
      pivots.determinant = -pivots.determinant;
      for (int j = thread; j < n; j += threads) {
        T* const other = a + int64_t{best.row} * n;
        const T value = row[j];
        row[j] = other[j];
        other[j] = value;
      }
    }
    if (thread == 0) order[k] = best.row;
    __syncthreads();
    const T pivot = row[k];
    pivots.determinant *= pivot;
    for (int i = thread; i < n; i += threads) {
      factors[i] = i == k ? T(0) : a[int64_t{i} * n + k];
    }
    __syncthreads();
    for (int j = thread; j < n; j += threads) {
      if (kInverts || j > k) row[j] = (kInverts && j == k ? T(1) : row[j]) / pivot;
    }
    for (int i = thread; kInverts && i < n; i += threads) {
      if (i != k) a[int64_t{i} * n + k] = T(0);
    }
    __syncthreads();
    const int first = kInverts ? 0 : k + 1;
    const int rows = n - first;
    for (int64_t at = thread; at < int64_t{rows} * rows; at += threads) {
      const int i = first + static_cast<int>(at / rows), j = first + static_cast<int>(at % rows);
      if (i != k) a[int64_t{i} * n + j] -= factors[i] * row[j];
    }
    __syncthreads();
  }
  if constexpr (kInverts) {  // what exchanged rows before exchanges columns of the inverse
    for (int i = thread; i < n; i += threads) {
      T* const row = a + int64_t{i} * n;
      for (int k = n - 1; k >= 0; --k) {
        const int other = order[k];
        const T value = row[k];
        row[k] = row[other];
        row[other] = value;
      }
    }
    __syncthreads();
  }
  return pivots;
}

}  // namespace kusari::cuda
