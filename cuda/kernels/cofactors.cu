#include "kusari/cuda/kernels/elimination.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/matrices.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/kernels/linear_algebra.h"

// Derivatives of the determinant, a block for each matrix, in float64 as on the CPU: products of many singular values
// leave the range of float32 soon.
namespace kusari::cuda {
namespace {

/// Memory of one block.
struct CofactorSpace {
  double *w, *u, *v, *h;  // (n, n) each
  double *values, *factors;
  int* order;

  static size_t bytes(int64_t n) {
    return static_cast<size_t>(4 * n * n + 2 * n) * sizeof(double) + static_cast<size_t>(n + n % 2) * sizeof(int);
  }
  __device__ CofactorSpace(char* all, size_t bytes_each, int n) {
    const int64_t square = int64_t{n} * n;
    w = reinterpret_cast<double*>(all + blockIdx.x * bytes_each);
    u = w + square;
    v = u + square;
    h = v + square;
    values = h + square;
    factors = values + n;
    order = reinterpret_cast<int*>(factors + n);
  }
};

template <class Body>
__device__ __forceinline__ void for_elements(int n, const Body& body) {
  for (int64_t at = threadIdx.x; at < int64_t{n} * n; at += blockDim.x) {
    body(at, static_cast<int>(at / n), static_cast<int>(at % n));
  }
  __syncthreads();
}

/// c = op(a) op(b).
template <bool kTransA, bool kTransB>
__device__ void multiply_block(int n, const double* a, const double* b, double* c) {
  for_elements(n, [&](int64_t at, int i, int j) {
    double sum = 0;
    for (int k = 0; k < n; ++k) {
      sum +=
          a[kTransA ? int64_t{k} * n + i : int64_t{i} * n + k] * b[kTransB ? int64_t{j} * n + k : int64_t{k} * n + j];
    }
    c[at] = sum;
  });
}

__device__ double dot_columns(const double* w, int n, int p, int q) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += w[int64_t{i} * n + p] * w[int64_t{i} * n + q];
  return sum;
}

/// One-sided Jacobi (Hestenes 1958): the columns of w = a v become orthogonal. Then a = u diag(values) v^T; columns of
/// u without a value complete it. Returns the sign of det(u) det(v).
__device__ __attribute__((noinline)) double decompose(const double* a, int n, const CofactorSpace& s) {
  constexpr int kSweeps = 60;
  constexpr double kEpsilon = 0x1p-52;
  for_elements(n, [&](int64_t at, int i, int j) {
    s.w[at] = a[at];
    s.v[at] = i == j ? 1 : 0;
  });
  const int pairs = (n + 1) / 2, last = 2 * pairs - 1;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    int rotated = 0;
    for (int round = 0; round < last; ++round) {
      for (int k = static_cast<int>(threadIdx.x); k < pairs; k += static_cast<int>(blockDim.x)) {
        const int one = k == 0 ? last : (round + k) % last, other = k == 0 ? round : (round - k + last) % last;
        const int p = one < other ? one : other, q = one < other ? other : one;
        if (q >= n) continue;
        const double pp = dot_columns(s.w, n, p, p), qq = dot_columns(s.w, n, q, q), pq = dot_columns(s.w, n, p, q);
        if (!(km::abs(pq) > kEpsilon * km::sqrt(pp) * km::sqrt(qq))) continue;
        rotated = 1;
        const double theta = (qq - pp) / (2 * pq);
        const double t = (theta < 0 ? -1.0 : 1.0) / (km::abs(theta) + km::sqrt(theta * theta + 1));
        const double c = 1 / km::sqrt(t * t + 1), sine = t * c;
        for (double* const m : {s.w, s.v}) {
          for (int i = 0; i < n; ++i) {
            double &x = m[int64_t{i} * n + p], &y = m[int64_t{i} * n + q];
            const double old = x;
            x = c * old - sine * y;
            y = sine * old + c * y;
          }
        }
      }
      __syncthreads();
    }
    if (__syncthreads_or(rotated) == 0) break;
  }
  for (int j = static_cast<int>(threadIdx.x); j < n; j += static_cast<int>(blockDim.x)) {
    s.values[j] = km::sqrt(dot_columns(s.w, n, j, j));
  }
  __syncthreads();
  double largest = 0;
  for (int j = 0; j < n; ++j) largest = s.values[j] > largest ? s.values[j] : largest;
  const double negligible = kEpsilon * n * largest;
  for_elements(n, [&](int64_t at, int, int j) { s.u[at] = s.values[j] > negligible ? s.w[at] / s.values[j] : 0; });
  if (threadIdx.x == 0) {
    for (int j = 0; j < n; ++j) {
      if (s.values[j] > negligible) continue;
      s.values[j] = 0;
      // The axis that is farthest from the others, made orthogonal to them twice for the digits.
      int axis = 0;
      double least = 2;
      for (int i = 0; i < n; ++i) {
        double inside = 0;
        for (int k = 0; k < n; ++k) inside += s.u[int64_t{i} * n + k] * s.u[int64_t{i} * n + k];
        if (inside < least) {
          least = inside;
          axis = i;
        }
      }
      for (int i = 0; i < n; ++i) s.factors[i] = i == axis ? 1 : 0;
      for (int pass = 0; pass < 2; ++pass) {
        for (int k = 0; k < n; ++k) {
          double along = 0;
          for (int i = 0; i < n; ++i) along += s.factors[i] * s.u[int64_t{i} * n + k];
          for (int i = 0; i < n; ++i) s.factors[i] -= along * s.u[int64_t{i} * n + k];
        }
      }
      double length = 0;
      for (int i = 0; i < n; ++i) length += s.factors[i] * s.factors[i];
      length = km::sqrt(length);
      for (int i = 0; i < n; ++i) s.u[int64_t{i} * n + j] = s.factors[i] / length;
    }
  }
  __syncthreads();
  for_elements(n, [&](int64_t at, int, int) { s.w[at] = s.u[at]; });
  const Pivots<double> of_u = eliminate<false>(s.w, n, s.order, s.factors);
  return of_u.determinant < 0 ? -1 : 1;  // v is a product of rotations
}

__device__ double product_without(const double* values, int n, int i, int j) {
  double product = 1;
  for (int k = 0; k < n; ++k) {
    if (k != i && k != j) product *= values[k];
  }
  return product;
}

/// The inverse in s.w, and whether it can be trusted: a small pivot may be rounding alone.
__device__ __attribute__((noinline)) bool invert(const double* a, int n, const CofactorSpace& s, double* determinant) {
  int is_infinite = 0;
  for_elements(n, [&](int64_t at, int, int) {
    s.w[at] = a[at];
    is_infinite |= !km::isfinite(a[at]);
  });
  const bool has_infinite = __syncthreads_or(is_infinite) != 0;
  const Pivots<double> pivots = eliminate<true>(s.w, n, s.order, s.factors);
  *determinant = pivots.determinant;
  if (has_infinite) {
    *determinant = km::Real<double>::kNan;
    return true;
  }
  return !pivots.is_singular && pivots.least > 0x1p-26 * pivots.largest;
}

__global__ void __launch_bounds__(kMatrixBlock)
    cofactors_kernel(int n, const double* a, char* space, size_t bytes_each, double* y) {
  const CofactorSpace s(space, bytes_each, n);
  a += blockIdx.x * int64_t{n} * n;
  y += blockIdx.x * int64_t{n} * n;
  double determinant;
  if (invert(a, n, s, &determinant)) {
    for_elements(n, [&](int64_t at, int i, int j) { y[at] = determinant * s.w[int64_t{j} * n + i]; });
    return;
  }
  const double sign = decompose(a, n, s);
  for_elements(n, [&](int64_t at, int, int j) { s.h[at] = sign * s.u[at] * product_without(s.values, n, j, j); });
  multiply_block<false, true>(n, s.h, s.v, y);
}

/// With a = U S V^T, cofactors(a) = det(U V) U cofactors(S) V^T, and a change D of S changes the cofactor (i, i) of a
/// diagonal S by D[j][j] and (i, j) by -D[j][i], times the product of the other values.
__global__ void __launch_bounds__(kMatrixBlock)
    cofactors_grad_kernel(int n, const double* a, const double* g, char* space, size_t bytes_each, double* y) {
  const CofactorSpace s(space, bytes_each, n);
  a += blockIdx.x * int64_t{n} * n;
  g += blockIdx.x * int64_t{n} * n;
  y += blockIdx.x * int64_t{n} * n;
  double determinant;
  if (invert(a, n, s, &determinant)) {
    double own = 0;
    for_elements(n, [&](int64_t at, int i, int j) { own += g[at] * s.w[int64_t{j} * n + i]; });
    const double dot = block_reduce(own, 0.0, Plus<double>{});
    multiply_block<true, true>(n, s.w, g, s.u);
    multiply_block<false, true>(n, s.u, s.w, s.h);
    for_elements(n, [&](int64_t at, int i, int j) { y[at] = determinant * (s.w[int64_t{j} * n + i] * dot - s.h[at]); });
    return;
  }
  const double sign = decompose(a, n, s);
  multiply_block<true, false>(n, s.u, g, s.w);
  multiply_block<false, false>(n, s.w, s.v, s.h);
  for_elements(n, [&](int64_t at, int i, int j) {
    double d = 0;
    if (i != j) {
      d = -product_without(s.values, n, i, j) * s.h[int64_t{j} * n + i];
    } else {
      for (int k = 0; k < n; ++k) {
        if (k != i) d += product_without(s.values, n, i, k) * s.h[int64_t{k} * n + k];
      }
    }
    s.w[at] = sign * d;
  });
  multiply_block<false, false>(n, s.u, s.w, s.h);
  multiply_block<false, true>(n, s.h, s.v, y);
}

void cofactors(In a, Out y) {
  if (y->size() == 0) return;
  const Matrices<double> from(*a), to(*y);
  const size_t each = CofactorSpace::bytes(to.n());
  const Scratch space(to.context(), each * static_cast<size_t>(to.count()));
  enqueue(to.context(), to.shape(), cofactors_kernel, to.n(), from.read(), space.data<char>(), each, to.result());
  to.finish();
}

void cofactors_grad(In a, In g, Out y) {
  if (y->size() == 0) return;
  const Matrices<double> from(*a), weights(*g), to(*y);
  const size_t each = CofactorSpace::bytes(to.n());
  const Scratch space(to.context(), each * static_cast<size_t>(to.count()));
  enqueue(to.context(), to.shape(), cofactors_grad_kernel, to.n(), from.read(), weights.read(), space.data<char>(),
          each, to.result());
  to.finish();
}

}  // namespace

void register_cofactors(Backend& backend) {
  backend.add<kernels::Cofactors>(cofactors);
  backend.add<kernels::CofactorsGrad>(cofactors_grad);
}

}  // namespace kusari::cuda
