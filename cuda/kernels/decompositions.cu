#include "kusari/framework/kernels/decompositions.h"

#include <algorithm>
#include <vector>

#include "kusari/cuda/kernels/jacobi.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/matrices.h"
#include "kusari/cuda/runtime/register.h"

// A block for each matrix. What the CPU refuses gives NaN: an error would have to wait for the device.
namespace kusari::cuda {
namespace {

/// Overwrites a and b, (n, n) and (n, m); b becomes the solution.
template <class T>
__global__ void __launch_bounds__(kMatrixBlock) solve_kernel(int n, int m, int* orders, T* factors, T* a, T* b) {
  a += blockIdx.x * int64_t{n} * n;
  b += blockIdx.x * int64_t{n} * m;
  int* const order = orders + blockIdx.x * int64_t{n};
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  // P a = L U: L has the pivots, U ones in the diagonal.
  if (eliminate<false>(a, n, order, factors + blockIdx.x * int64_t{n}).is_singular) {
    return fill_block(b, int64_t{n} * m, km::Real<T>::kNan);
  }
  for (int j = thread; j < m; j += threads) {
    for (int k = 0; k < n; ++k) {
      const T value = b[int64_t{k} * m + j];
      b[int64_t{k} * m + j] = b[int64_t{order[k]} * m + j];
      b[int64_t{order[k]} * m + j] = value;
    }
  }
  for (int k = 0; k < n; ++k) {
    __syncthreads();
    for (int j = thread; j < m; j += threads) b[int64_t{k} * m + j] /= a[int64_t{k} * n + k];
    __syncthreads();
    for (int64_t at = thread; at < int64_t{n - k - 1} * m; at += threads) {
      const int i = k + 1 + static_cast<int>(at / m), j = static_cast<int>(at % m);
      b[int64_t{i} * m + j] -= a[int64_t{i} * n + k] * b[int64_t{k} * m + j];
    }
  }
  for (int k = n - 1; k > 0; --k) {
    __syncthreads();
    for (int64_t at = thread; at < int64_t{k} * m; at += threads) {
      const int i = static_cast<int>(at / m), j = static_cast<int>(at % m);
      b[at] -= a[int64_t{i} * n + k] * b[int64_t{k} * m + j];
    }
  }
}

/// Overwrites a.
template <class T>
__global__ void __launch_bounds__(kMatrixBlock)
    log_determinant_kernel(int n, int* orders, T* factors, T* a, T* signs, T* logs) {
  a += blockIdx.x * int64_t{n} * n;
  int* const order = orders + blockIdx.x * int64_t{n};
  const Pivots<T> pivots = eliminate<false>(a, n, order, factors + blockIdx.x * int64_t{n});
  T log = 0;
  int changes = 0;
  for (int k = static_cast<int>(threadIdx.x); !pivots.is_singular && k < n; k += static_cast<int>(blockDim.x)) {
    const T pivot = a[int64_t{k} * n + k];
    log += km::log(km::abs(pivot));
    changes += (pivot < 0) + (order[k] != k);
  }
  log = block_reduce(log, T(0), Plus<T>{});
  changes = block_reduce(changes, 0, Plus<int>{});
  if (threadIdx.x != 0) return;
  T sign = changes % 2 == 0 ? T(1) : T(-1);
  if (pivots.is_singular) {
    sign = T(0);
    log = -km::Real<T>::kInfinity;
  }
  signs[blockIdx.x] = log == log ? sign : log;
  logs[blockIdx.x] = log;
}

/// q -> H q for the rows from `first` on, H = 1 - tau v v^T with v[first] = 1 and the rest in column `first` of a,
/// (m, n): a warp for each column of q, (m, columns), from `begin` on.
template <class T>
__device__ void reflect_columns(const T* a, int m, int n, int first, T tau, T* q, int columns, int begin) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  for (int j = begin + warp; j < columns; j += warps) {
    T sum = 0;
    for (int i = first + 1 + lane; i < m; i += kWarp) sum += a[int64_t{i} * n + first] * q[int64_t{i} * columns + j];
    T& head = q[int64_t{first} * columns + j];
    const T along = tau * (warp_reduce(sum, Plus<T>{}) + head);
    for (int i = first + 1 + lane; i < m; i += kWarp) q[int64_t{i} * columns + j] -= along * a[int64_t{i} * n + first];
    __syncwarp();
    if (lane == 0) head -= along;
  }
  __syncthreads();
}

/// Householder. a: (m, n), overwritten; q: (m, k), r: (k, n); taus: min(m, n) elements of the block's own.
template <class T>
__global__ void __launch_bounds__(kMatrixBlock) qr_kernel(int m, int n, int k, T* a, T* taus, T* q, T* r) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x), least = m < n ? m : n;
  a += blockIdx.x * int64_t{m} * n;
  q += blockIdx.x * int64_t{m} * k;
  r += blockIdx.x * int64_t{k} * n;
  taus += blockIdx.x * int64_t{least};
  if (!is_finite_block(a, int64_t{m} * n)) {
    fill_block(q, int64_t{m} * k, km::Real<T>::kNan);
    return fill_block(r, int64_t{k} * n, km::Real<T>::kNan);
  }
  for (int j = 0; j < least; ++j) {
    T own = 0;
    for (int i = j + 1 + thread; i < m; i += threads) own += a[int64_t{i} * n + j] * a[int64_t{i} * n + j];
    const T below = block_reduce(own, T(0), Plus<T>{}), head = a[int64_t{j} * n + j];
    __syncthreads();  // head has been read
    T tau = 0;
    if (below > km::Real<T>::kMinNormal) {
      const T length = km::sqrt(head * head + below), diagonal = head >= 0 ? -length : length;
      tau = (diagonal - head) / diagonal;
      for (int i = j + 1 + thread; i < m; i += threads) a[int64_t{i} * n + j] /= head - diagonal;
      if (thread == 0) a[int64_t{j} * n + j] = diagonal;
    }
    if (thread == 0) taus[j] = tau;
    __syncthreads();
    if (tau != 0) reflect_columns(a, m, n, j, tau, a, n, j + 1);
  }
  for (int64_t at = thread; at < int64_t{k} * n; at += threads) r[at] = at / n <= at % n ? a[at] : T(0);
  for (int64_t at = thread; at < int64_t{m} * k; at += threads) q[at] = at / k == at % k ? T(1) : T(0);
  __syncthreads();
  for (int j = least - 1; j >= 0; --j) reflect_columns(a, m, n, j, taus[j], q, k, 0);
}

/// Sizes of what a block needs to decompose a (m, n) matrix by the columns of the taller of a and a^T.
struct SingularSizes {
  int m, n;
  int columns;  // of the left factor of the taller one; 0: no factors

  KUSARI_HOST_DEVICE int tall() const { return m > n ? m : n; }
  KUSARI_HOST_DEVICE int flat() const { return m > n ? n : m; }
  KUSARI_HOST_DEVICE int64_t elements() const {
    const int64_t rotations = columns > 0 ? int64_t{flat()} * flat() : 0;
    return int64_t{tall()} * (flat() + columns) + rotations + 2 * int64_t{flat()} + tall() + columns;
  }
};

/// s: (min(m, n)). u: (m, ku) and vt: (kv, n), or null.
template <class T>
__global__ void __launch_bounds__(kMatrixBlock, 1)  // it would spill for a second block
    singular_kernel(SingularSizes sizes, const T* a, T* space, int ku, int kv, T* u, T* s, T* vt) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int m = sizes.m, n = sizes.n, tall = sizes.tall(), flat = sizes.flat(), columns = sizes.columns;
  const bool has_factors = u != nullptr;
  a += blockIdx.x * int64_t{m} * n;
  s += blockIdx.x * int64_t{flat};
  u += has_factors ? blockIdx.x * int64_t{m} * ku : 0;
  vt += has_factors ? blockIdx.x * int64_t{kv} * n : 0;
  if (!is_finite_block(a, int64_t{m} * n)) {
    fill_block(s, flat, km::Real<T>::kNan);
    if (!has_factors) return;
    fill_block(u, int64_t{m} * ku, km::Real<T>::kNan);
    return fill_block(vt, int64_t{kv} * n, km::Real<T>::kNan);
  }
  T* const w = space + blockIdx.x * sizes.elements();
  T* const q = w + int64_t{tall} * flat;
  T* const v = q + int64_t{tall} * columns;
  T* const lengths = v + (has_factors ? int64_t{flat} * flat : 0);
  T* const places = lengths + flat;  // an index below 2^24 is exact in any T
  T* const completion = places + flat;
  for (int64_t at = thread; at < int64_t{tall} * flat; at += threads) {
    w[at] = m >= n ? a[at] : a[at % flat * n + at / flat];
  }
  __syncthreads();
  orthogonalize_columns(w, tall, flat, has_factors ? v : nullptr);
  column_lengths(w, tall, flat, lengths);
  for (int j = thread; j < flat; j += threads) {
    int place = 0;
    for (int other = 0; other < flat; ++other) {
      place += lengths[other] > lengths[j] || (lengths[other] == lengths[j] && other < j);
    }
    places[j] = static_cast<T>(place);
    s[place] = lengths[j];
  }
  __syncthreads();
  if (!has_factors) return;
  const T negligible = flat > 0 ? kRounding<T> * static_cast<T>(tall) * s[0] : T(0);
  for (int64_t at = thread; at < int64_t{tall} * columns; at += threads) q[at] = T(0);
  __syncthreads();
  for (int64_t at = thread; at < int64_t{tall} * flat; at += threads) {
    const int j = static_cast<int>(at % flat);
    if (lengths[j] > negligible) q[at / flat * columns + static_cast<int>(places[j])] = w[at] / lengths[j];
  }
  __syncthreads();
  complete_columns(
      q, tall, columns, [&](int j) { return j >= flat || !(s[j] > negligible); }, completion);
  // a = q s v^T, or its transpose is that.
  for (int64_t at = thread; at < int64_t{tall} * columns; at += threads) {
    (m >= n ? u[at] : vt[at % columns * n + at / columns]) = q[at];
  }
  for (int64_t at = thread; at < int64_t{flat} * flat; at += threads) {
    const auto place = static_cast<int64_t>(places[at % flat]);
    (m >= n ? vt[place * n + at / flat] : u[at / flat * ku + place]) = v[at];
  }
}

LaunchShape block_for_each(int64_t count, int64_t most) {
  return {dim3(static_cast<unsigned>(count)), dim3(threads_for_matrix(most))};
}

/// A copy that a kernel may overwrite.
template <class T>
Array overwritable(const Array& a) {
  const Array copy = empty(a.shape(), dtype_of<T>, a.device());
  copy.copy_from(a);
  return copy;
}

void solve_linear(Params<kernels::MatrixCall>, In a, In b, Out x) {
  if (x->size() == 0) return;
  in_matrix_type(*a, [&]<class T>() {
    const Matrices<T> left(overwritable<T>(*a)), to(*x);
    to.array().copy_from(*b);
    const EliminationSpace<T> space(left);
    enqueue(to.context(), left.shape(), solve_kernel<T>, left.n(), to.n(), space.orders(), space.factors(),
            left.result(), to.result());
    to.finish();
  });
}

void log_determinant(In a, Out sign, Out log) {
  if (sign->size() == 0) return;
  if (a->size() == 0) {
    sign->fill(1.0);
    return log->fill(0.0);
  }
  in_matrix_type(*a, [&]<class T>() {
    const Matrices<T> matrices(overwritable<T>(*a));
    const EliminationSpace<T> space(matrices);
    const Array signs = empty(sign->shape(), dtype_of<T>, a->device()), logs = empty_like(signs);
    enqueue(matrices.context(), matrices.shape(), log_determinant_kernel<T>, matrices.n(), space.orders(),
            space.factors(), matrices.result(), signs.data<T>(), logs.data<T>());
    sign->copy_from(signs);
    log->copy_from(logs);
  });
}

void qr_decomposition(In a, Out q, Out r) {
  if (q->size() == 0 && r->size() == 0) return;  // of however many matrices
  in_matrix_type(*a, [&]<class T>() {
    const Matrices<T> from(overwritable<T>(*a)), to_q(*q), to_r(*r);
    if (from.count() == 0) return;
    const Scratch taus(from.context(), std::max<size_t>(1, static_cast<size_t>(from.count() * from.n())) * sizeof(T));
    enqueue(from.context(), block_for_each(from.count(), std::max(from.rows(), from.n())), qr_kernel<T>, from.rows(),
            from.n(), to_q.n(), from.result(), taus.template data<T>(), to_q.result(), to_r.result());
    to_q.finish();
    to_r.finish();
  });
}

void set_identity(const Array& matrices) {
  if (matrices.size() == 0) return;
  const auto n = static_cast<size_t>(matrices.shape(-1));
  std::vector<float> rows(n * n);
  for (size_t i = 0; i < n; ++i) rows[i * (n + 1)] = 1;
  const Shape shape{matrices.shape(-1), matrices.shape(-1)};
  matrices.copy_from(from_host(rows.data(), shape, Dtype::float32, matrices.device()).broadcast_to(matrices.shape()));
}

void singular_value_decomposition(In a, Out u, Out s, Out vt) {
  if (s->size() == 0) {  // the factors of matrices without rows or columns
    if (u) set_identity(*u);
    if (vt) set_identity(*vt);
    return;
  }
  in_matrix_type(*a, [&]<class T>() {
    const Matrices<T> from(*a), to_s(s->expand_dims(-2));
    if (from.count() == 0) return;
    const bool has_factors = static_cast<bool>(u);
    const Matrices<T> to_u(has_factors ? *u : to_s.array()), to_vt(has_factors ? *vt : to_s.array());
    const int columns = !has_factors ? 0 : from.rows() >= from.n() ? to_u.n() : to_vt.rows();
    const SingularSizes sizes{from.rows(), from.n(), columns};
    const Scratch space(from.context(), static_cast<size_t>(from.count() * sizes.elements() + 1) * sizeof(T));
    enqueue(from.context(), block_for_each(from.count(), sizes.tall()), singular_kernel<T>, sizes, from.read(),
            space.template data<T>(), to_u.n(), to_vt.rows(), has_factors ? to_u.result() : nullptr, to_s.result(),
            has_factors ? to_vt.result() : nullptr);
    to_s.finish();
    if (!has_factors) return;
    to_u.finish();
    to_vt.finish();
  });
}

}  // namespace

void register_decompositions(Backend& backend) {
  backend.add<kernels::QrDecomposition>(qr_decomposition);
  backend.add<kernels::SingularValueDecomposition>(singular_value_decomposition);
  backend.add<kernels::SolveLinear>(solve_linear);
  backend.add<kernels::LogDeterminant>(log_determinant);
}

}  // namespace kusari::cuda
