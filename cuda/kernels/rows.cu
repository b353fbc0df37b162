#include "kusari/framework/kernels/rows.h"

#include <bit>
#include <utility>

#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/row_index.cuh"
#include "kusari/cuda/kernels/strided_index.cuh"
#include "kusari/cuda/runtime/register.h"

namespace kusari::cuda {
namespace {

constexpr int kTakeBlock = 256;

/// y[i] = x[row(i)], rows of `units` Units.
template <class Unit>
__global__ void __launch_bounds__(kTakeBlock)
    take_units(RowIndex index, const Unit* x, Unit* y, int64_t units, Divisor divisor) {
  const int64_t total = index.count * units, step = int64_t{gridDim.x} * kTakeBlock;
  for (int64_t at = int64_t{blockIdx.x} * kTakeBlock + threadIdx.x; at < total; at += step) {
    const int64_t i = total <= kNarrow ? divisor.quotient(static_cast<uint32_t>(at)) : at / units;
    const int64_t row = index.row(i);
    y[at] = row == kNoRow ? Unit{} : x[row * units + (at - i * units)];
  }
}

template <class Unit>
bool take_as(const RowIndex& index, const Array& x, const Array& y) {
  const int64_t bytes = x.shape()[1] * itemsize(x.dtype());
  constexpr auto kUnit = static_cast<int64_t>(sizeof(Unit));
  const auto aligned = [](const Array& array) { return reinterpret_cast<uintptr_t>(array.raw_data()) % kUnit == 0; };
  if (bytes % kUnit != 0 || !aligned(x) || !aligned(y)) return false;
  const int64_t units = bytes / kUnit;
  enqueue(Context::of(x), {dim3(blocks_for(index.count * units, kTakeBlock, 1 << 16)), dim3(kTakeBlock)},
          take_units<Unit>, index, x.data<Unit>(), y.data<Unit>(), units, Divisor(units <= kNarrow ? units : 1));
  return true;
}

void take_rows(Params<kernels::RowLookup> lookup, In x, In index, Out y) {
  if (y->size() == 0) return;
  const RowIndex rows(*lookup, index, x->shape()[0]);
  if (rows.rows == 0) {
    y->fill(0.0);
    return;
  }
  take_as<uint4>(rows, x, y) || take_as<uint2>(rows, x, y) || take_as<unsigned>(rows, x, y) ||
      take_as<unsigned short>(rows, x, y) || take_as<unsigned char>(rows, x, y);
}

using Key = RowKey;

/// Keys that a block sorts by itself.
constexpr int kSortChunk = 2048;
constexpr int kSortBlock = 1024;
constexpr int kMergeBlock = 256;

/// keys[i] = row(i) << bits | i, those without a row behind all others; each chunk in ascending order (Batcher's
/// bitonic sort).
__global__ void __launch_bounds__(kSortBlock) sort_chunks(RowIndex index, int bits, Key* keys) {
  __shared__ Key shared[kSortChunk];
  const int64_t first = int64_t{blockIdx.x} * kSortChunk;
  for (int i = static_cast<int>(threadIdx.x); i < kSortChunk; i += kSortBlock) {
    const int64_t at = first + i;
    Key key = ~Key{0};
    if (at < index.count) {
      const int64_t row = index.row(at);
      key = static_cast<Key>(row == kNoRow ? index.rows : row) << bits | static_cast<Key>(at);
    }
    shared[i] = key;
  }
  for (int size = 2; size <= kSortChunk; size *= 2) {
    for (int distance = size / 2; distance > 0; distance /= 2) {
      __syncthreads();
      const int t = static_cast<int>(threadIdx.x);
      const int low = t / distance * 2 * distance + t % distance, high = low + distance;
      const bool ascending = (low & size) == 0;
      const Key a = shared[low], b = shared[high];
      if ((a > b) == ascending) {
        shared[low] = b;
        shared[high] = a;
      }
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kSortChunk; i += kSortBlock) {
    if (first + i < index.count) keys[first + i] = shared[i];
  }
}

/// Merges neighbouring runs of `run` ascending keys: each key goes behind the smaller ones of both.
__global__ void __launch_bounds__(kMergeBlock) merge_runs(const Key* from, int64_t count, int64_t run, Key* to) {
  const int64_t at = int64_t{blockIdx.x} * kMergeBlock + threadIdx.x;
  if (at >= count) return;
  const Key key = from[at];
  const int64_t own = at / run, other = own ^ 1, begin = other * run;
  int64_t low = begin < count ? begin : count;
  int64_t high = begin + run < count ? begin + run : count;
  const int64_t first = low;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (from[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  to[(own < other ? own : other) * run + (at - own * run) + (low - first)] = key;
}

constexpr int kAddColumns = 32, kAddRows = 4, kAddBlock = kAddColumns * kAddRows;

/// For each run of equal rows among the sorted keys, y[row] += the sum of x[i]. A block takes one run and
/// kAddColumns packs of columns; its kAddRows sums are combined in order.
template <class X, class Y>
__global__ void __launch_bounds__(kAddBlock) add_sorted(const Key* keys, int64_t count, int bits, int64_t rows,
                                                        const X* x, Y* y, int64_t n, int64_t tiles, bool packed) {
  using C = Compute<X>;
  constexpr int kPack = kPackSize<X>, kInFlight = 4;
  __shared__ C shared[kAddRows][kPack][kAddColumns];
  const int64_t head = blockIdx.x / tiles, tile = blockIdx.x - head * tiles;
  const Key row = keys[head] >> bits;
  if (static_cast<int64_t>(row) >= rows || (head > 0 && keys[head - 1] >> bits == row)) return;  // the whole block
  const Key mask = (Key{1} << bits) - 1;
  const int lane = static_cast<int>(threadIdx.x) % kAddColumns, part = static_cast<int>(threadIdx.x) / kAddColumns;
  const int64_t first = tile * kAddColumns * kPack + (packed ? lane * kPack : lane);
  const int apart = packed ? 1 : kAddColumns;
  C sum[kPack] = {};
  for (int64_t at = head + part; at < count; at += kInFlight * kAddRows) {
    bool same = false;
    Pack<X, kPack> values[kInFlight];
    bool counts[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const int64_t place = at + j * kAddRows;
      const Key key = place < count ? keys[place] : ~Key{0};
      counts[j] = place < count && key >> bits == row;
      same = counts[j];
      const X* const from = x + static_cast<int64_t>(key & mask) * n + first;
      if (counts[j] && packed) {
        if (first < n) values[j] = load_pack<kPack>(from, 0);
      } else if (counts[j]) {
#pragma unroll
        for (int k = 0; k < kPack; ++k) {
          if (first + k * kAddColumns < n) values[j].at[k] = from[k * kAddColumns];
        }
      }
    }
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      if (!counts[j]) continue;
#pragma unroll
      for (int k = 0; k < kPack; ++k) {
        if (first + k * apart < n) sum[k] += widen(values[j].at[k]);
      }
    }
    if (!same) break;
  }
#pragma unroll
  for (int k = 0; k < kPack; ++k) shared[part][k][lane] = sum[k];
  __syncthreads();
  if (part != 0) return;
#pragma unroll
  for (int k = 0; k < kPack; ++k) {
    if (first + k * apart >= n) continue;
    C total = shared[0][k][lane];
    for (int other = 1; other < kAddRows; ++other) total += shared[other][k][lane];
    Y* const to = y + static_cast<int64_t>(row) * n + first + k * apart;
    *to = narrow<Y>(static_cast<C>(widen(*to)) + total);
  }
}

template <class X, class Y>
void add_rows_of(Context& context, const Key* keys, int64_t count, int bits, const Array& x, const Array& y) {
  const int64_t n = y.shape()[1];
  const bool packed = n % kPackSize<X> == 0 && is_pack_aligned(x.raw_data());
  const int64_t tiles = (n + kAddColumns * kPackSize<X> - 1) / (kAddColumns * kPackSize<X>);
  enqueue(context, {dim3(static_cast<unsigned>(count * tiles)), dim3(kAddBlock)}, add_sorted<X, Y>, keys, count, bits,
          y.shape()[0], x.data<X>(), y.data<Y>(), n, tiles, packed);
}

void add_rows(Params<kernels::RowLookup> lookup, In x, In index, InOut y) {
  const int64_t count = index->size();
  if (count == 0 || y->size() == 0) return;
  Context& context = Context::of(*y);
  const RowIndex rows(*lookup, index, y->shape()[0]);
  const SortedRows sorted(context, rows);
  const Key* const keys = sorted.keys();
  const int bits = sorted.bits();
  visit_dtype(x->dtype(), [&]<class X>() {
    if constexpr (dtype_of<X> == Dtype::float16 || dtype_of<X> == Dtype::bfloat16) {
      if (y->dtype() == Dtype::float32) return add_rows_of<X, float>(context, keys, count, bits, x, y);
    }
    add_rows_of<X, X>(context, keys, count, bits, x, y);
  });
}

/// The places are positive, so that their order is that of unsigned numbers.
__global__ void __launch_bounds__(kTakeBlock) raise_places(RowIndex index, unsigned long long* last) {
  const int64_t step = int64_t{gridDim.x} * kTakeBlock;
  for (int64_t i = int64_t{blockIdx.x} * kTakeBlock + threadIdx.x; i < index.count; i += step) {
    const int64_t row = index.row(i);
    if (row != kNoRow) atomicMax(last + row, static_cast<unsigned long long>(i + 1));
  }
}

void last_places(Params<kernels::RowLookup> lookup, In index, InOut last) {
  if (index->size() == 0 || last->size() == 0) return;
  const RowIndex rows(*lookup, index, last->shape()[0]);
  enqueue(Context::of(*last), {dim3(blocks_for(rows.count, kTakeBlock, 1 << 16)), dim3(kTakeBlock)}, raise_places, rows,
          reinterpret_cast<unsigned long long*>(last->data<int64_t>()));
}

}  // namespace

SortedRows::SortedRows(Context& context, const RowIndex& index)
    : bits_{static_cast<int>(std::bit_width(static_cast<uint64_t>(index.count)))},
      scratch_{context, 2 * static_cast<size_t>(index.count) * sizeof(RowKey)},
      keys_{scratch_.data<RowKey>()} {
  const int64_t count = index.count;
  RowKey* other = keys_ + count;
  enqueue(context, {dim3(blocks_for(count, kSortChunk)), dim3(kSortBlock)}, sort_chunks, index, bits_, keys_);
  for (int64_t run = kSortChunk; run < count; run *= 2) {
    enqueue(context, {dim3(blocks_for(count, kMergeBlock)), dim3(kMergeBlock)}, merge_runs, keys_, count, run, other);
    std::swap(keys_, other);
  }
}

void register_rows(Backend& backend) {
  backend.add<kernels::TakeRows>(take_rows);
  backend.add<kernels::AddRows>(add_rows);
  backend.add<kernels::LastPlaces>(last_places);
}

}  // namespace kusari::cuda
