#include "kusari/framework/kernels/row_products.h"

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/row_index.cuh"
#include "kusari/cuda/runtime/register.h"

namespace kusari::cuda {
namespace {

constexpr int kProductBlock = 256;
constexpr int kProductWarps = kProductBlock / kWarp;

/// A matrix of any floating dtype, read as C.
template <class C>
struct AnyMatrix {
  const void* data;
  Dtype dtype;
  int64_t columns;

  explicit AnyMatrix(const Array& W) : data{W.raw_data()}, dtype{W.dtype()}, columns{W.shape()[1]} {}
  __device__ __forceinline__ C at(int64_t row, int64_t column) const {
    return load_as<C>(data, dtype, row * columns + column);
  }
};

Array flat(const Array& rows) { return rows.contiguous().reshape({rows.size()}); }

/// A warp for each element of y.
template <class T>
__global__ void __launch_bounds__(kProductBlock)
    row_dots_kernel(RowIndex index, int64_t per_example, const T* x, AnyMatrix<T> W, T* y) {
  const int64_t at = int64_t{blockIdx.x} * kProductWarps + threadIdx.x / kWarp;
  if (at >= index.count) return;  // the whole warp
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t row = index.row(at), columns = W.columns;
  const T* const own = x + at / per_example * columns;
  T sum = T(0);
  if (row != kNoRow) {
    for (int64_t d = lane; d < columns; d += kWarp) sum += own[d] * W.at(row, d);
  }
  sum = warp_reduce(sum, Plus<T>{});
  if (lane == 0) y[at] = sum;
}

/// A thread for each element of y.
template <class T>
__global__ void __launch_bounds__(kProductBlock)
    row_combinations_kernel(RowIndex index, int64_t per_example, const T* g, AnyMatrix<T> W, T* y, int64_t size) {
  const int64_t at = int64_t{blockIdx.x} * kProductBlock + threadIdx.x;
  if (at >= size) return;
  const int64_t i = at / W.columns, d = at - i * W.columns;
  T sum = T(0);
  for (int64_t j = i * per_example; j < (i + 1) * per_example; ++j) {
    const int64_t row = index.row(j);
    if (row != kNoRow) sum += g[j] * W.at(row, d);
  }
  y[at] = sum;
}

constexpr int kSumColumns = 32, kSumParts = 4;

/// For each run of equal rows among the sorted keys, y[row] = the sum of g[place] x[place / per_example]. A block takes
/// one run and kSumColumns columns; its parts' sums are combined in order.
template <class T>
__global__ void __launch_bounds__(kSumColumns* kSumParts)
    row_sums_kernel(const RowKey* keys, int64_t count, int bits, int64_t rows, int64_t per_example, const T* g,
                    const T* x, T* y, int64_t columns, int64_t tiles) {
  __shared__ T shared[kSumParts][kSumColumns];
  const int64_t head = blockIdx.x / tiles, tile = blockIdx.x - head * tiles;
  const RowKey row = keys[head] >> bits;
  if (static_cast<int64_t>(row) >= rows || (head > 0 && keys[head - 1] >> bits == row)) return;  // the whole block
  const RowKey mask = (RowKey{1} << bits) - 1;
  const int lane = static_cast<int>(threadIdx.x) % kSumColumns, part = static_cast<int>(threadIdx.x) / kSumColumns;
  const int64_t d = tile * kSumColumns + lane;
  T sum = T(0);
  for (int64_t at = head + part; at < count && keys[at] >> bits == row; at += kSumParts) {
    const auto place = static_cast<int64_t>(keys[at] & mask);
    if (d < columns) sum += g[place] * x[place / per_example * columns + d];
  }
  shared[part][lane] = sum;
  __syncthreads();
  if (part != 0 || d >= columns) return;
  for (int other = 1; other < kSumParts; ++other) sum += shared[other][lane];
  y[static_cast<int64_t>(row) * columns + d] = sum;
}

template <class Run>
void in_result_type(const Array& y, const Run& run) {
  if (y.dtype() == Dtype::float64) return run.template operator()<double>();
  run.template operator()<float>();
}

void row_dots(Params<kernels::RowLookup> lookup, In x, In W, In rows, Out y) {
  if (y->size() == 0) return;
  const Array places = flat(*rows);
  const RowIndex index(*lookup, places, W->shape()[0]);
  in_result_type(*y, [&]<class T>() {
    enqueue(Context::of(*y), {dim3(blocks_for(index.count, kProductWarps)), dim3(kProductBlock)}, row_dots_kernel<T>,
            index, rows->shape()[1], x->data<T>(), AnyMatrix<T>(*W), y->data<T>());
  });
}

void row_combinations(Params<kernels::RowLookup> lookup, In g, In W, In rows, Out y) {
  if (y->size() == 0) return;
  const Array places = flat(*rows);
  const RowIndex index(*lookup, places, W->shape()[0]);
  in_result_type(*y, [&]<class T>() {
    enqueue(Context::of(*y), {dim3(blocks_for(y->size(), kProductBlock)), dim3(kProductBlock)},
            row_combinations_kernel<T>, index, rows->shape()[1], g->data<T>(), AnyMatrix<T>(*W), y->data<T>(),
            y->size());
  });
}

void row_sums(Params<kernels::RowLookup> lookup, In g, In x, In rows, Out y) {
  if (y->size() == 0) return;
  y->fill(0.0);
  if (g->size() == 0) return;
  Context& context = Context::of(*y);
  const Array places = flat(*rows);
  const RowIndex index(*lookup, places, y->shape()[0]);
  const SortedRows sorted(context, index);
  const int64_t columns = y->shape()[1], tiles = (columns + kSumColumns - 1) / kSumColumns;
  in_result_type(*y, [&]<class T>() {
    enqueue(context, {dim3(static_cast<unsigned>(index.count * tiles)), dim3(kSumColumns * kSumParts)},
            row_sums_kernel<T>, sorted.keys(), index.count, sorted.bits(), y->shape()[0], rows->shape()[1],
            g->data<T>(), x->data<T>(), y->data<T>(), columns, tiles);
  });
}

}  // namespace

void register_row_products(Backend& backend) {
  backend.add<kernels::RowDots>(row_dots);
  backend.add<kernels::RowCombinations>(row_combinations);
  backend.add<kernels::RowSums>(row_sums);
}

}  // namespace kusari::cuda
