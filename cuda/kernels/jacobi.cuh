#pragma once

#include "kusari/cuda/kernels/elimination.cuh"

// Orthogonal columns, by a whole block. Every thread calls, with the same arguments.
namespace kusari::cuda {

template <class T>
inline constexpr T kRounding = sizeof(T) == 4 ? T(0x1p-23) : T(0x1p-52);

namespace detail {
template <class T>
__device__ T dot_columns(const T* w, int rows, int n, int p, int q) {
  T sum = 0;
  for (int i = static_cast<int>(threadIdx.x) % kWarp; i < rows; i += kWarp) {
    sum += w[int64_t{i} * n + p] * w[int64_t{i} * n + q];
  }
  return warp_reduce(sum, Plus<T>{});
}
template <class T>
__device__ void rotate_columns(T* w, int rows, int n, int p, int q, T c, T s) {
  for (int i = static_cast<int>(threadIdx.x) % kWarp; i < rows; i += kWarp) {
    T &x = w[int64_t{i} * n + p], &y = w[int64_t{i} * n + q];
    const T old = x;
    x = c * old - s * y;
    y = s * old + c * y;
  }
}
}  // namespace detail

/// One-sided Jacobi (Hestenes 1958): rotates the columns of w, (rows, n), until they are orthogonal. v: (n, n), gets
/// the product of the rotations; null: nobody wants it. A warp for each pair of columns; those of a round are
/// independent.
template <class T>
__device__ void orthogonalize_columns(T* w, int rows, int n, T* v) {
  constexpr int kSweeps = 60;
  const int warp = static_cast<int>(threadIdx.x) / kWarp, warps = static_cast<int>(blockDim.x) / kWarp;
  for (int64_t at = threadIdx.x; v != nullptr && at < int64_t{n} * n; at += blockDim.x) {
    v[at] = at / n == at % n ? T(1) : T(0);
  }
  __syncthreads();
  const T negligible = kRounding<T> * km::sqrt(static_cast<T>(rows));
  const int pairs = (n + 1) / 2, last = 2 * pairs - 1;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    int rotated = 0;
    for (int round = 0; round < last; ++round) {
      for (int k = warp; k < pairs; k += warps) {
        const int one = k == 0 ? last : (round + k) % last, other = k == 0 ? round : (round - k + last) % last;
        const int p = one < other ? one : other, q = one < other ? other : one;
        if (q >= n) continue;
        const T pp = detail::dot_columns(w, rows, n, p, p), qq = detail::dot_columns(w, rows, n, q, q),
                pq = detail::dot_columns(w, rows, n, p, q);
        if (!(km::abs(pq) > negligible * km::sqrt(pp) * km::sqrt(qq))) continue;
        rotated = 1;
        const T theta = (qq - pp) / (2 * pq);
        const T t = (theta < 0 ? T(-1) : T(1)) / (km::abs(theta) + km::sqrt(theta * theta + 1));
        const T c = 1 / km::sqrt(t * t + 1);
        detail::rotate_columns(w, rows, n, p, q, c, t * c);
        if (v != nullptr) detail::rotate_columns(v, n, n, p, q, c, t * c);
      }
      __syncthreads();
    }
    if (__syncthreads_or(rotated) == 0) break;
  }
}

/// lengths[j] of the columns of w, (rows, n).
template <class T>
__device__ void column_lengths(const T* w, int rows, int n, T* lengths) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp, warps = static_cast<int>(blockDim.x) / kWarp;
  for (int j = warp; j < n; j += warps) {
    const T length = km::sqrt(detail::dot_columns(w, rows, n, j, j));
    if (static_cast<int>(threadIdx.x) % kWarp == 0) lengths[j] = length;
  }
  __syncthreads();
}

/// Gives the columns j of q, (rows, columns), for which is_missing(j), unit vectors that are orthogonal to all others:
/// these are orthonormal, and the missing ones 0 before. space: rows + columns elements.
template <class T, class IsMissing>
__device__ void complete_columns(T* q, int rows, int columns, const IsMissing& is_missing, T* space) {
  using Candidate = detail::PivotCandidate<T>;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  T *const vector = space, *const along = space + rows;
  for (int j = 0; j < columns; ++j) {
    if (!is_missing(j)) continue;
    // The axis that is farthest from the others, made orthogonal to them twice for the digits.
    Candidate best = {T(-1), rows, 0};
    for (int i = thread; i < rows; i += threads) {
      T inside = 0;
      for (int k = 0; k < columns; ++k) inside += q[int64_t{i} * columns + k] * q[int64_t{i} * columns + k];
      best = detail::LargerPivot<T>{}(best, Candidate{T(2) - inside, i, 0});
    }
    best = block_reduce(best, Candidate{T(-1), rows, 0}, detail::LargerPivot<T>{});
    for (int i = thread; i < rows; i += threads) vector[i] = i == best.row ? T(1) : T(0);
    for (int pass = 0; pass < 2; ++pass) {
      __syncthreads();
      for (int k = thread; k < columns; k += threads) {
        T sum = 0;
        for (int i = 0; i < rows; ++i) sum += vector[i] * q[int64_t{i} * columns + k];
        along[k] = sum;
      }
      __syncthreads();
      for (int i = thread; i < rows; i += threads) {
        for (int k = 0; k < columns; ++k) vector[i] -= along[k] * q[int64_t{i} * columns + k];
      }
    }
    T own = 0;
    for (int i = thread; i < rows; i += threads) own += vector[i] * vector[i];
    const T length = km::sqrt(block_reduce(own, T(0), Plus<T>{}));
    for (int i = thread; i < rows; i += threads) q[int64_t{i} * columns + j] = vector[i] / length;
    __syncthreads();
  }
}

}  // namespace kusari::cuda
