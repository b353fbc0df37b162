#include <algorithm>
#include <string>
#include <type_traits>

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/libraries/matmul.h"
#include "kusari/framework/core/error.h"

namespace kusari::cuda {
namespace {

constexpr int kTile = 32, kThreads = 256, kRows = kTile * kTile / kThreads;  // of a tile of c, that a thread computes

// Integers wrap around without signs.
template <class T>
using Sum = std::conditional_t<is_integral(dtype_of<T>), unsigned long long, Compute<T>>;

// Elements `at` of the operands, for number i of the batch.
struct BatchOffsets {
  int64_t a, b, c;
};
__device__ BatchOffsets offsets_of(const MatrixProduct& p, int64_t i) {
  BatchOffsets offsets = {0, 0, 0};
  for (int axis = p.batch_axes - 1; axis >= 0; --axis) {
    const int64_t at = i % p.batch[axis].size;
    i /= p.batch[axis].size;
    offsets.a += at * p.batch[axis].a;
    offsets.b += at * p.batch[axis].b;
    offsets.c += at * p.batch[axis].c;
  }
  return offsets;
}

// Copies a tile of a matrix that begins at (row, column), zeros beyond its end. Threads go along the axis whose
// elements are closer together.
template <class T>
__device__ void load_tile(Sum<T> (*tile)[kTile + 1], const T* data, int64_t row_step, int64_t column_step, int64_t row,
                          int64_t rows, int64_t column, int64_t columns) {
  const bool by_columns = column_step <= row_step;
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kTile; i += kThreads) {
    const int fast = i % kTile, slow = i / kTile;
    const int r = by_columns ? slow : fast, c = by_columns ? fast : slow;
    const bool is_inside = row + r < rows && column + c < columns;
    tile[r][c] = is_inside ? static_cast<Sum<T>>(widen(data[(row + r) * row_step + (column + c) * column_step])) : 0;
  }
}

template <class T, class Result>
__global__ void __launch_bounds__(kThreads) multiply_tiles(MatrixProduct p, int64_t across, int64_t batch) {
  __shared__ Sum<T> left[kTile][kTile + 1], right[kTile][kTile + 1];
  const int64_t row = blockIdx.x / across * kTile, column = blockIdx.x % across * kTile;
  const int x = static_cast<int>(threadIdx.x) % kTile, y = static_cast<int>(threadIdx.x) / kTile;
  for (int64_t i = blockIdx.y; i < batch; i += gridDim.y) {
    const BatchOffsets offsets = offsets_of(p, i);
    const T* const a = reinterpret_cast<const T*>(p.a.data) + offsets.a;
    const T* const b = reinterpret_cast<const T*>(p.b.data) + offsets.b;
    Result* const c = reinterpret_cast<Result*>(p.c.data) + offsets.c;
    Sum<T> sums[kRows] = {};
    for (int64_t depth = 0; depth < p.k; depth += kTile) {
      __syncthreads();  // the tiles before these have been read
      load_tile<T>(left, a, p.a.row, p.a.column, row, p.m, depth, p.k);
      load_tile<T>(right, b, p.b.row, p.b.column, depth, p.k, column, p.n);
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kTile; ++k) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) sums[r] += left[y * kRows + r][k] * right[k][x];
      }
    }
    if (column + x >= p.n) continue;
    const Sum<T> bias =
        p.bias != nullptr ? static_cast<Sum<T>>(widen(static_cast<const Result*>(p.bias)[column + x])) : Sum<T>{0};
    for (int r = 0; r < kRows; ++r) {
      const int64_t at = row + y * kRows + r;
      if (at >= p.m) break;
      Result& element = c[at * p.c.row + (column + x) * p.c.column];
      Sum<T> sum = sums[r] + bias;
      if (p.accumulate) sum += static_cast<Sum<T>>(widen(element));
      element = narrow<Result>(sum);
    }
  }
}

template <class Word>
__global__ void __launch_bounds__(kThreads) repeat_rows(MatrixProduct p, int64_t n) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step) {
    const int64_t column = i % p.n, row = i / p.n % p.m;
    Word* const c = reinterpret_cast<Word*>(p.c.data) + offsets_of(p, i / (p.n * p.m)).c;
    c[row * p.c.row + column * p.c.column] = static_cast<const Word*>(p.bias)[column];
  }
}

int64_t batch_of(const MatrixProduct& p) {
  int64_t batch = 1;
  for (int axis = 0; axis < p.batch_axes; ++axis) batch *= p.batch[axis].size;
  return batch;
}

template <class T, class Result>
void enqueue_tiles(Context& context, const MatrixProduct& p) {
  const int64_t across = (p.n + kTile - 1) / kTile, down = (p.m + kTile - 1) / kTile, batch = batch_of(p);
  const LaunchShape shape = {{static_cast<unsigned>(across * down), blocks_for(batch, 1, 65535)}, {kThreads}};
  enqueue(context, shape, &multiply_tiles<T, Result>, p, across, batch);
}

}  // namespace

void multiply_with_tiles(Context& context, const MatrixProduct& p) {
  if (p.m == 0 || p.n == 0 || batch_of(p) == 0) return;
  if (is_half(p.a.dtype) && p.c.dtype == Dtype::float32) {
    if (p.a.dtype == Dtype::float16) return enqueue_tiles<float16, float>(context, p);
    return enqueue_tiles<bfloat16, float>(context, p);
  }
  visit_dtype(p.a.dtype, [&]<class T>() { enqueue_tiles<T, T>(context, p); });
}

void write_bias(Context& context, const MatrixProduct& p) {
  const int64_t n = p.m * p.n * batch_of(p);
  const LaunchShape shape = {{blocks_for(n, kThreads * 4, context.facts().multiprocessors * 16)}, {kThreads}};
  switch (itemsize(p.c.dtype)) {
    case 1:
      return enqueue(context, shape, &repeat_rows<uint8_t>, p, n);
    case 2:
      return enqueue(context, shape, &repeat_rows<uint16_t>, p, n);
    case 4:
      return enqueue(context, shape, &repeat_rows<uint32_t>, p, n);
    default:
      return enqueue(context, shape, &repeat_rows<uint64_t>, p, n);
  }
}

}  // namespace kusari::cuda
