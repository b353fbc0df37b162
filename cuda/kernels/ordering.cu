#include "kusari/framework/kernels/ordering.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/row_index.cuh"
#include "kusari/cuda/runtime/register.h"

namespace kusari::cuda {
namespace {

constexpr int kBlock = 256;

/// Numbers in the order of the elements, equal for equal ones: NaN is one value, above all others.
template <class X>
__device__ __forceinline__ km::u64 order_of(X element) {
  constexpr km::u64 kSign = km::u64{1} << 63;
  const Compute<X> value = widen(element);
  if constexpr (std::is_same_v<Compute<X>, km::i64>) {
    return static_cast<km::u64>(value) ^ kSign;
  } else {
    if (value != value) return ~km::u64{0};
    const auto bits = km::bit_cast<km::u64>(value == 0 ? 0.0 : static_cast<double>(value));
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  }
}

/// An element of a row that is sorted.
struct Placed {
  km::u64 order;
  int64_t place;
};
__device__ __forceinline__ bool operator<(const Placed& a, const Placed& b) {
  return a.order < b.order || (a.order == b.order && a.place < b.place);
}

/// Elements that a block sorts by itself.
constexpr int kChunk = 1024;
constexpr int kChunkBlock = kChunk / 2;

/// A block for each chunk of a row (Batcher's bitonic sort).
template <class X>
__global__ void __launch_bounds__(kChunkBlock) sort_row_chunks(const X* x, int64_t n, int64_t chunks, Placed* to) {
  __shared__ __align__(16) unsigned char shared_bytes[kChunk * sizeof(Placed)];
  Placed* const shared = reinterpret_cast<Placed*>(shared_bytes);
  const int64_t row = blockIdx.x / chunks, first = (blockIdx.x - row * chunks) * kChunk;
  x += row * n;
  to += row * n;
  for (int i = static_cast<int>(threadIdx.x); i < kChunk; i += kChunkBlock) {
    const int64_t at = first + i;
    shared[i] = at < n ? Placed{order_of(x[at]), at} : Placed{~km::u64{0}, INT64_MAX};
  }
  for (int size = 2; size <= kChunk; size *= 2) {
    for (int distance = size / 2; distance > 0; distance /= 2) {
      __syncthreads();
      const int t = static_cast<int>(threadIdx.x);
      const int low = t / distance * 2 * distance + t % distance, high = low + distance;
      const Placed a = shared[low], b = shared[high];
      if ((b < a) == ((low & size) == 0)) {
        shared[low] = b;
        shared[high] = a;
      }
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kChunk; i += kChunkBlock) {
    if (first + i < n) to[first + i] = shared[i];
  }
}

/// Merges neighbouring runs of `run` sorted elements of each row: each goes behind the smaller ones of both.
__global__ void __launch_bounds__(kBlock)
    merge_row_runs(const Placed* from, int64_t total, int64_t n, int64_t run, Placed* to) {
  const int64_t index = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (index >= total) return;
  const int64_t row = index / n, at = index - row * n;
  from += row * n;
  to += row * n;
  const Placed element = from[at];
  const int64_t own = at / run, other = own ^ 1, begin = other * run;
  int64_t low = begin < n ? begin : n;
  int64_t high = begin + run < n ? begin + run : n;
  const int64_t first = low;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (from[middle] < element) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  to[(own < other ? own : other) * run + (at - own * run) + (low - first)] = element;
}

__global__ void __launch_bounds__(kBlock) read_places(const Placed* from, int64_t total, int64_t* to) {
  const int64_t index = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (index < total) to[index] = from[index].place;
}

LaunchShape thread_for_each(int64_t count) { return {dim3(blocks_for(count, kBlock)), dim3(kBlock)}; }

void argsort_rows(In x, Out indices) {
  const int64_t total = x->size();
  if (total == 0) return;
  const int64_t rows = x->shape()[0], n = x->shape()[1], chunks = (n + kChunk - 1) / kChunk;
  Context& context = Context::of(x);
  const Scratch scratch(context, (n > kChunk ? 2 : 1) * static_cast<size_t>(total) * sizeof(Placed));
  Placed *from = scratch.data<Placed>(), *other = from + total;
  visit_dtype(x->dtype(), [&]<class X>() {
    enqueue(context, {dim3(static_cast<unsigned>(rows * chunks)), dim3(kChunkBlock)}, sort_row_chunks<X>, x->data<X>(),
            n, chunks, from);
  });
  for (int64_t run = kChunk; run < n; run *= 2) {
    enqueue(context, thread_for_each(total), merge_row_runs, from, total, n, run, other);
    std::swap(from, other);
  }
  enqueue(context, thread_for_each(total), read_places, from, total, indices->data<int64_t>());
}

template <class X>
__global__ void __launch_bounds__(kBlock)
    search_sorted_kernel(bool right, const X* sorted, int64_t n, const X* values, int64_t count, int64_t* places) {
  const int64_t at = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (at >= count) return;
  const km::u64 value = order_of(values[at]);
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const km::u64 order = order_of(sorted[middle]);
    if (order < value || (right && order == value)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  places[at] = low;
}

void search_sorted(Params<kernels::InsertionSide> side, In sorted, In values, Out places) {
  const int64_t count = values->size();
  if (count == 0) return;
  visit_dtype(sorted->dtype(), [&]<class X>() {
    enqueue(Context::of(values), thread_for_each(count), search_sorted_kernel<X>, side->right, sorted->data<X>(),
            sorted->size(), values->data<X>(), count, places->data<int64_t>());
  });
}

/// Of places that go to one row, the last alone: keys are sorted.
template <class Unit>
__global__ void __launch_bounds__(kBlock)
    put_sorted(const RowKey* keys, int64_t count, int bits, int64_t rows, const Unit* x, Unit* y, int64_t units) {
  const int64_t index = int64_t{blockIdx.x} * kBlock + threadIdx.x, at = index / units;
  if (at >= count) return;
  const RowKey key = keys[at];
  const auto row = static_cast<int64_t>(key >> bits);
  if (row >= rows || (at + 1 < count && keys[at + 1] >> bits == key >> bits)) return;
  const int64_t unit = index - at * units;
  const auto from = static_cast<int64_t>(key & ((RowKey{1} << bits) - 1));
  y[row * units + unit] = x[from * units + unit];
}

void put_rows(In x, In index, InOut y) {
  const int64_t count = index->size();
  if (count == 0 || x->size() == 0) return;
  Context& context = Context::of(*y);
  const int64_t rows = y->shape()[0], columns = x->shape()[1];
  const SortedRows sorted(context,
                          RowIndex({.call = kernels::PutRows::kName, .has_ignored = true, .ignored = -1}, index, rows));
  const auto put = [&]<class Unit>(Unit) {
    enqueue(context, thread_for_each(count * columns), put_sorted<Unit>, sorted.keys(), count, sorted.bits(), rows,
            x->data<Unit>(), y->data<Unit>(), columns);
  };
  switch (itemsize(x->dtype())) {
    case 1:
      return put(static_cast<unsigned char>(0));
    case 2:
      return put(static_cast<unsigned short>(0));
    case 4:
      return put(0U);
    default:
      return put(0ULL);
  }
}

}  // namespace

void register_ordering(Backend& backend) {
  backend.add<kernels::ArgsortRows>(argsort_rows);
  backend.add<kernels::SearchSorted>(search_sorted);
  backend.add<kernels::PutRows>(put_rows);
}

}  // namespace kusari::cuda
