#include "kusari/cuda/kernels/jacobi.cuh"
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
  double *values, *factors, *completion;
  int* order;

  static size_t bytes(int64_t n) {
    return static_cast<size_t>(4 * n * n + 4 * n) * sizeof(double) + static_cast<size_t>(n + n % 2) * sizeof(int);
  }
  __device__ CofactorSpace(char* all, size_t bytes_each, int n) {
    const int64_t square = int64_t{n} * n;
    w = reinterpret_cast<double*>(all + blockIdx.x * bytes_each);
    u = w + square;
    v = u + square;
    h = v + square;
    values = h + square;
    factors = values + n;
    completion = factors + n;
    order = reinterpret_cast<int*>(completion + 2 * n);
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

/// a = u diag(values) v^T; columns of u without a value complete it. Returns the sign of det(u) det(v).
__device__ __attribute__((noinline)) double decompose(const double* a, int n, const CofactorSpace& s) {
  for_elements(n, [&](int64_t at, int, int) { s.w[at] = a[at]; });
  orthogonalize_columns(s.w, n, n, s.v);
  column_lengths(s.w, n, n, s.values);
  double largest = 0;
  for (int j = 0; j < n; ++j) largest = s.values[j] > largest ? s.values[j] : largest;
  const double negligible = kRounding<double> * n * largest;
  const auto is_missing = [&](int j) { return !(s.values[j] > negligible); };
  for_elements(n, [&](int64_t at, int, int j) { s.u[at] = is_missing(j) ? 0 : s.w[at] / s.values[j]; });
  complete_columns(s.u, n, n, is_missing, s.completion);
  for (int j = static_cast<int>(threadIdx.x); j < n; j += static_cast<int>(blockDim.x)) {
    if (is_missing(j)) s.values[j] = 0;
  }
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
  for_elements(n, [&](int64_t at, int, int) { s.w[at] = a[at]; });
  const bool is_finite = is_finite_block(a, int64_t{n} * n);
  const Pivots<double> pivots = eliminate<true>(s.w, n, s.order, s.factors);
  *determinant = pivots.determinant;
  if (!is_finite) {
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
