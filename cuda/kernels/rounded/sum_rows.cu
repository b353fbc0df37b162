#include "kusari/framework/kernels/sum_rows.h"

#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/runtime/register.h"

namespace kusari::cuda {
namespace {

constexpr int kBlock = 256;
constexpr int kLevels = 11;  // sums of 1, 2, 4, .., 1024 rows

/// A sum that grows row by row in the tree of first_half: what has been added is kept as sums of powers of two, the
/// largest first, and a row completes as many of them as its count has zeros at the end.
template <class C>
struct TreeSum {
  C parts[kLevels];
  int size = 0;

  __device__ void add(C value, int64_t count) {  // count: with this row
    for (; (count & 1) == 0; count /= 2) value = parts[--size] + value;
    parts[size++] = value;
  }
  __device__ C total() {
    C sum = parts[--size];
    while (size > 0) sum = parts[--size] + sum;
    return sum;
  }
};

/// Integers are added as unsigned ones, which wrap.
template <class X>
using Added = std::conditional_t<std::is_same_v<Compute<X>, km::i64>, km::u64, Compute<X>>;

template <class X>
__global__ void __launch_bounds__(kBlock) sum_rows_kernel(const X* rows, int64_t count, int64_t stride,
                                                          const double* weights, double scale, X* y, int64_t n) {
  const int64_t column = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (column >= n) return;
  using C = Added<X>;
  TreeSum<C> sum;
  for (int64_t r = 0; r < count; ++r) {
    C value = C(0);
    if (weights == nullptr) {
      value = static_cast<C>(widen(rows[r * stride + column]));
    } else if (weights[r] != 0) {
      value = static_cast<C>(widen(rows[r * stride + column])) * static_cast<C>(weights[r]);
    }
    sum.add(value, r + 1);
  }
  C total = sum.total();
  if (scale != 1) total *= static_cast<C>(scale);
  y[column] = narrow<X>(static_cast<Compute<X>>(total));
}

void sum_rows(In rows, In weights, Params<double> scale, Out y) {
  if (y->size() == 0) return;
  visit_dtype(y->dtype(), [&]<class X>() {
    enqueue(Context::of(y), {dim3(blocks_for(y->size(), kBlock)), dim3(kBlock)}, sum_rows_kernel<X>, rows->data<X>(),
            rows->shape(0), rows->strides()[0], weights ? weights->data<double>() : nullptr, *scale, y->data<X>(),
            y->size());
  });
}

}  // namespace

void register_sum_rows(Backend& backend) { backend.add<kernels::SumRows>(sum_rows); }

}  // namespace kusari::cuda
