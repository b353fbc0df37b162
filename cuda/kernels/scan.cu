#include "kusari/framework/kernels/scan.h"

#include <type_traits>

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/source.cuh"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/kernels/math.h"

namespace kusari::cuda {
namespace {

enum class ScanKind { sum, product, recurrence };

/// A C-ordered array as (outer, n, inner).
struct ScanShape {
  int64_t outer = 1, n = 1, inner = 1;
  bool reverse = false;

  ScanShape(const Shape& shape, const kernels::ScanAxis& along) : n{shape[along.axis]}, reverse{along.reverse} {
    for (int i = 0; i < shape.ndim(); ++i) {
      if (i < along.axis) outer *= shape[i];
      if (i > along.axis) inner *= shape[i];
    }
  }
  int64_t lines() const { return outer * inner; }
};

/// One line of it, in the order in which it is run through.
struct Line {
  int64_t row, column, n, inner;
  bool reverse;

  __device__ __forceinline__ Line(const ScanShape& shape, int64_t line)
      : row{line / shape.inner},
        column{line - row * shape.inner},
        n{shape.n},
        inner{shape.inner},
        reverse{shape.reverse} {}
  __device__ __forceinline__ int64_t place(int64_t i) const {
    return (row * n + (reverse ? n - 1 - i : i)) * inner + column;
  }
  /// Of the factor that leads to element i, in an array with one element less along the axis.
  __device__ __forceinline__ int64_t factor_place(int64_t i) const {
    return (row * (n - 1) + (reverse ? n - 1 - i : i - 1)) * inner + column;
  }
};

/// What comes after `last`.
template <ScanKind kKind, class C>
__device__ __forceinline__ C next(C last, C factor, C x) {
  if constexpr (kKind == ScanKind::sum) return last + x;
  if constexpr (kKind == ScanKind::product) return last * x;
  return factor * last + x;
}

template <ScanKind kKind, class T>
__device__ __forceinline__ Compute<T> factor_of(const T* a, const Line& line, int64_t i) {
  if constexpr (kKind == ScanKind::recurrence) return i == 0 ? Compute<T>(0) : widen(a[line.factor_place(i)]);
  return Compute<T>(0);
}

constexpr int kScanBlock = 256;
constexpr int kScanWarps = kScanBlock / kWarp;

/// A line for each thread. a: factors of a recurrence.
template <ScanKind kKind, class T>
__global__ void __launch_bounds__(kScanBlock) scan_lines(ScanShape shape, int64_t lines, const T* a, const T* x, T* y) {
  using C = Compute<T>;
  const int64_t index = int64_t{blockIdx.x} * kScanBlock + threadIdx.x;
  if (index >= lines) return;
  const Line line(shape, index);
  C last = C(0);
  for (int64_t i = 0; i < line.n; ++i) {
    const C value = widen(x[line.place(i)]);
    last = i == 0 ? value : next<kKind>(last, factor_of<kKind>(a, line, i), value);
    y[line.place(i)] = narrow<T>(last);
  }
}

/// A line by a warp: its lanes read and write neighbours, and all compute the same chain.
template <ScanKind kKind, class T>
__device__ void scan_by_warp(const Line& line, const T* a, const T* x, T* y) {
  using C = Compute<T>;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  C last = C(0);
  for (int64_t first = 0; first < line.n; first += kWarp) {
    const int64_t own = first + lane;
    const C value = own < line.n ? static_cast<C>(widen(x[line.place(own)])) : C(0);
    const C factor = own < line.n ? factor_of<kKind>(a, line, own) : C(0);
    C result = C(0);
    for (int i = 0; i < kWarp; ++i) {
      const C that = __shfl_sync(kAllLanes, value, i);
      const C that_factor = kKind == ScanKind::recurrence ? __shfl_sync(kAllLanes, factor, i) : C(0);
      last = first + i == 0 ? that : next<kKind>(last, that_factor, that);
      if (i == lane) result = last;
    }
    if (own < line.n) y[line.place(own)] = narrow<T>(result);
  }
}

/// A line for each warp.
template <ScanKind kKind, class T>
__global__ void __launch_bounds__(kScanBlock) scan_warps(ScanShape shape, int64_t lines, const T* a, const T* x, T* y) {
  const int64_t index = int64_t{blockIdx.x} * kScanWarps + threadIdx.x / kWarp;
  if (index >= lines) return;  // the whole warp
  scan_by_warp<kKind>(Line(shape, index), a, x, y);
}

/// Neighbouring elements that a thread of sum_block sums by itself.
constexpr int kScanItems = 8;

/// Sums of a line for each block.
template <class T>
__global__ void __launch_bounds__(kScanBlock) sum_block(ScanShape shape, const T* x, T* y) {
  using C = Compute<T>;
  __shared__ C of_warp[kScanWarps];
  const Line line(shape, blockIdx.x);
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  C last = C(0);  // of the elements before `first`
  for (int64_t first = 0; first < line.n; first += int64_t{kScanBlock} * kScanItems) {
    const int64_t own = first + int64_t{threadIdx.x} * kScanItems;
    C value[kScanItems];
    C all = C(0);
#pragma unroll
    for (int i = 0; i < kScanItems; ++i) {
      if (own + i < line.n) all += static_cast<C>(widen(x[line.place(own + i)]));
      value[i] = all;
    }
    C inclusive = all;  // of the lanes up to this one
    for (int distance = 1; distance < kWarp; distance *= 2) {
      const C other = __shfl_up_sync(kAllLanes, inclusive, distance);
      if (lane >= distance) inclusive += other;
    }
    const C left = __shfl_up_sync(kAllLanes, inclusive, 1);
    __syncthreads();  // the last round's sums have been read
    if (lane == kWarp - 1) of_warp[warp] = inclusive;
    __syncthreads();
    C start = last;
    for (int i = 0; i < warp; ++i) start += of_warp[i];
    if (lane > 0) start += left;
#pragma unroll
    for (int i = 0; i < kScanItems; ++i) {
      if (own + i < line.n) y[line.place(own + i)] = narrow<T>(start + value[i]);
    }
    for (int i = 0; i < kScanWarps; ++i) last += of_warp[i];
  }
  if constexpr (std::is_floating_point_v<C>) {
    // A part may have overflowed by itself where the sum from the start does not: what is no number stays so to the
    // end.
    if (km::isfinite(last)) return;  // the whole block
    __syncthreads();
    if (warp == 0) scan_by_warp<ScanKind::sum, T>(line, nullptr, x, y);
  }
}

/// Lines at least as long are cut among the threads of a block, if they are few. Sums alone: the product of a later
/// part may overflow where the product from the start is small.
constexpr int64_t kLongLine = 512;
/// So many lines give every thread of a card one.
constexpr int64_t kManyLines = 1 << 15;

template <ScanKind kKind>
void scan(const kernels::ScanAxis& along, const Array& a, const Array& x, const Array& y) {
  if (y.size() == 0) return;
  const ScanShape shape(x.shape(), along);
  const int64_t lines = shape.lines();
  const auto run = [&]<class T>() {
    const auto prepared = [](const Array& array) {
      return array.is_defined() ? array.astype(dtype_of<T>).contiguous() : array;
    };
    const Array factors = prepared(a), from = prepared(x);
    const bool is_direct = y.dtype() == dtype_of<T> && y.is_contiguous();
    const Array to = is_direct ? y : empty(y.shape(), dtype_of<T>, y.device());
    const T* const factor_data = factors.is_defined() ? factors.data<T>() : nullptr;
    Context& context = Context::of(y);
    const bool is_few = lines < kManyLines;
    if (kKind == ScanKind::sum && is_few && shape.n >= kLongLine) {
      enqueue(context, {dim3(static_cast<unsigned>(lines)), dim3(kScanBlock)}, sum_block<T>, shape, from.data<T>(),
              to.data<T>());
    } else if (shape.inner == 1 || is_few) {
      enqueue(context, {dim3(blocks_for(lines, kScanWarps)), dim3(kScanBlock)}, scan_warps<kKind, T>, shape, lines,
              factor_data, from.data<T>(), to.data<T>());
    } else {
      enqueue(context, {dim3(blocks_for(lines, kScanBlock)), dim3(kScanBlock)}, scan_lines<kKind, T>, shape, lines,
              factor_data, from.data<T>(), to.data<T>());
    }
    if (!is_direct) y.copy_from(to);
  };
  if (!visit_floating(x.dtype(), run)) run.template operator()<int64_t>();
}

void cumulative_sum(Params<kernels::ScanAxis> along, In x, Out y) { scan<ScanKind::sum>(*along, Array(), *x, *y); }
void cumulative_product(Params<kernels::ScanAxis> along, In x, Out y) {
  scan<ScanKind::product>(*along, Array(), *x, *y);
}
void linear_recurrence(Params<kernels::ScanAxis> along, In a, In b, Out y) {
  scan<ScanKind::recurrence>(*along, *a, *b, *y);
}

}  // namespace

void register_scan(Backend& backend) {
  backend.add<kernels::CumulativeSum>(cumulative_sum);
  backend.add<kernels::CumulativeProduct>(cumulative_product);
  backend.add<kernels::LinearRecurrence>(linear_recurrence);
}

}  // namespace kusari::cuda
