#include "kusari/framework/kernels/symmetric_eigen.h"

#include <algorithm>

#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/kernels/math.h"

namespace kusari::cuda {
namespace {

constexpr int kMostThreads = 512;
constexpr int kSweeps = 40;  // convergence is quadratic: 6 to 10 do for matrices of some hundred rows

template <class T>
constexpr T kEpsilon = sizeof(T) == 4 ? T(0x1p-23) : T(0x1p-52);

/// Sizes of what a block keeps: the matrix and the transposed eigenvectors with rows of `pitch` elements (odd, so that
/// neither rows nor columns collide in shared memory), then a rotation for each pair and the ascending order of the
/// eigenvalues (an index below 2^24 is exact in any T).
struct Layout {
  int n;
  int pitch;
  int pairs;  // of a round; the last one of an odd n rests

  explicit Layout(int64_t size) : n{static_cast<int>(size)}, pitch{n | 1}, pairs{(n + 1) / 2} {}
  size_t matrix_elements() const { return 2 * static_cast<size_t>(n) * static_cast<size_t>(pitch); }
  size_t shared_elements() const { return 2 * static_cast<size_t>(pairs) + static_cast<size_t>(n); }
};

/// Pair k of round `round` of a tournament in which everybody meets everybody once: rotations of a round are
/// independent.
__device__ __forceinline__ void meet(const Layout& layout, int round, int k, int* p, int* q) {
  const int last = 2 * layout.pairs - 1;
  const int a = k == 0 ? last : (round + k) % last, b = k == 0 ? round : (round - k + last) % last;
  *p = a < b ? a : b;
  *q = a < b ? b : a;
}

/// The rotation (c, s) that makes a[p][q] zero; Golub & Van Loan, 8.5.2.
template <class T>
__device__ __forceinline__ void rotation(T pp, T pq, T qq, T* c, T* s) {
  const T theta = (qq - pp) / (2 * pq);
  const T t = (theta < 0 ? T(-1) : T(1)) / (km::abs(theta) + km::sqrt(theta * theta + 1));
  *c = T(1) / km::sqrt(t * t + 1);
  *s = t * *c;
}

/// Cyclic Jacobi, a block for each matrix. `work`: memory for the matrices, or null where shared memory has them too.
template <class T>
__global__ void __launch_bounds__(kMostThreads)
    jacobi_kernel(Layout layout, const T* from, T* work, T* values, T* vectors) {
  KUSARI_DYNAMIC_SHARED(T, shared);
  const int n = layout.n, pitch = layout.pitch, pairs = layout.pairs;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int64_t matrix = blockIdx.x, square = static_cast<int64_t>(n) * n;
  T* const cosines = shared;
  T* const sines = shared + pairs;
  T* const order = shared + 2 * pairs;
  T* const a = work == nullptr ? order + n : work + matrix * 2 * n * pitch;
  T* const v = a + static_cast<int64_t>(n) * pitch;
  from += matrix * square;
  values += matrix * n;
  vectors += matrix * square;

  int has_nan = 0;
  for (int i = thread; i < square; i += threads) {
    const int row = i / n, column = i % n;
    const T value = from[row >= column ? i : column * n + row];
    has_nan |= !km::isfinite(value);
    a[row * pitch + column] = value;
    v[row * pitch + column] = row == column ? T(1) : T(0);
  }
  if (__syncthreads_or(has_nan) != 0) {
    for (int i = thread; i < square; i += threads) vectors[i] = km::Real<T>::kNan;
    for (int i = thread; i < n; i += threads) values[i] = km::Real<T>::kNan;
    return;
  }

  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    int rotated = 0;
    for (int round = 0; round < 2 * pairs - 1; ++round) {
      for (int k = thread; k < pairs; k += threads) {
        int p, q;
        meet(layout, round, k, &p, &q);
        T c = 1, s = 0;
        if (q < n) {
          const T pp = a[p * pitch + p], pq = a[p * pitch + q], qq = a[q * pitch + q];
          if (km::abs(pq) > kEpsilon<T> * km::sqrt(km::abs(pp)) * km::sqrt(km::abs(qq))) {
            rotation(pp, pq, qq, &c, &s);
            rotated = 1;
          }
        }
        cosines[k] = c;
        sines[k] = s;
      }
      __syncthreads();
      for (int i = thread; i < pairs * n; i += threads) {
        const int k = i / n, column = i % n;
        const T c = cosines[k], s = sines[k];
        if (s == 0) continue;
        int p, q;
        meet(layout, round, k, &p, &q);
        for (T* const rows : {a, v}) {
          T &x = rows[p * pitch + column], &y = rows[q * pitch + column];
          const T old = x;
          x = c * old - s * y;
          y = s * old + c * y;
        }
      }
      __syncthreads();
      for (int i = thread; i < pairs * n; i += threads) {
        const int k = i / n, row = i % n;
        const T c = cosines[k], s = sines[k];
        if (s == 0) continue;
        int p, q;
        meet(layout, round, k, &p, &q);
        T &x = a[row * pitch + p], &y = a[row * pitch + q];
        const T old = x;
        x = row == q ? T(0) : c * old - s * y;
        y = row == p ? T(0) : s * old + c * y;
      }
      __syncthreads();
    }
    if (__syncthreads_or(rotated) == 0) break;
  }

  for (int i = thread; i < n; i += threads) {
    const T value = a[i * pitch + i];
    int place = 0;
    for (int j = 0; j < n; ++j) {
      const T other = a[j * pitch + j];
      place += other < value || (other == value && j < i);
    }
    values[place] = value;
    order[place] = static_cast<T>(i);
  }
  __syncthreads();
  for (int i = thread; i < square; i += threads) {
    vectors[i] = v[static_cast<int>(order[i % n]) * pitch + i / n];
  }
}

template <class T>
void decompose(const Array& a, const Array& values, const Array& vectors) {
  const Layout layout(a.shape()[a.ndim() - 1]);
  if (a.size() == 0) return;
  const auto count = static_cast<unsigned>(a.size() / layout.n / layout.n);
  Context& context = Context::of(a);
  const size_t all = (layout.shared_elements() + layout.matrix_elements()) * sizeof(T);
  const bool fits = all <= static_cast<size_t>(context.facts().shared_per_block_opt_in);
  const size_t shared = fits ? all : layout.shared_elements() * sizeof(T);
  if (shared > static_cast<size_t>(context.facts().shared_per_block)) allow_shared(jacobi_kernel<T>, shared);
  const Scratch scratch(context, fits ? 1 : count * layout.matrix_elements() * sizeof(T));
  const int threads = std::clamp(layout.pairs * layout.n / 32 * 32, 32, kMostThreads);
  enqueue(context, {dim3(count), dim3(static_cast<unsigned>(threads)), shared}, jacobi_kernel<T>, layout, a.data<T>(),
          fits ? nullptr : scratch.data<T>(), values.data<T>(), vectors.data<T>());
}

void symmetric_eigen(In a, Out values, Out vectors) {
  const Dtype dtype = a->dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  const Array from = a->astype(dtype).contiguous();
  const auto is_direct = [&](const Array& array) { return array.dtype() == dtype && array.is_contiguous(); };
  const Array to = is_direct(values) ? *values : empty(values->shape(), dtype, a->device());
  const Array columns = is_direct(vectors) ? *vectors : empty(vectors->shape(), dtype, a->device());
  (dtype == Dtype::float64 ? decompose<double> : decompose<float>)(from, to, columns);
  if (!to.is_same(values)) values->copy_from(to);
  if (!columns.is_same(vectors)) vectors->copy_from(columns);
}

}  // namespace

void register_symmetric_eigen(Backend& backend) { backend.add<kernels::SymmetricEigen>(symmetric_eigen); }

}  // namespace kusari::cuda
