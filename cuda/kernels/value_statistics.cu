#include <span>
#include <string>

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/pack_access.cuh"
#include "kusari/cuda/plans/chunk_tables.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/value_statistics.h"

namespace kusari::cuda {
namespace {

using kernels::ValueClasses;
using kernels::ValueCounts;
using kernels::ValueRange;

constexpr int kThreads = 256;

/// What a thread has seen.
template <class C>
struct Tally {
  double sum;
  km::u32 zeros, subnormals, infinities, nans;
  C smallest, largest;

  __device__ __forceinline__ static Tally none() { return {0, 0, 0, 0, 0, km::Real<C>::kInfinity, 0}; }
  __device__ __forceinline__ void add(C value, const ValueClasses<C>& classes) {
    classes.count(value, zeros, subnormals, infinities, nans, smallest, largest);
    sum += static_cast<double>(classes.finite(value));
  }
  __device__ __forceinline__ ValueCounts counts(double size) const {
    return {static_cast<double>(zeros),
            static_cast<double>(subnormals),
            static_cast<double>(infinities),
            static_cast<double>(nans),
            static_cast<double>(smallest),
            static_cast<double>(largest),
            sum,
            size};
  }
};

struct Merge {
  template <class C>
  __device__ __forceinline__ Tally<C> operator()(const Tally<C>& a, const Tally<C>& b) const {
    return {a.sum + b.sum,
            a.zeros + b.zeros,
            a.subnormals + b.subnormals,
            a.infinities + b.infinities,
            a.nans + b.nans,
            km::min(a.smallest, b.smallest),
            km::max(a.largest, b.largest)};
  }
  __device__ __forceinline__ ValueCounts operator()(ValueCounts a, const ValueCounts& b) const {
    a.merge(b);
    return a;
  }
};

/// What each block's chunk holds, to partial[blockIdx.x].
template <class T>
__global__ __launch_bounds__(kThreads) void count_chunks_kernel(const __grid_constant__ ChunkTable<1> table,
                                                                ValueRange range, ValueCounts* partial) {
  using C = Compute<T>;
  constexpr int kPack = kPackSize<T>;
  const ValueClasses<C> classes = ValueClasses<C>::of(range);
  const Chunk chunk = find_chunk(table, blockIdx.x);
  const T* const x = static_cast<const T*>(table.data[0][chunk.tensor]) + chunk.begin;
  const bool aligned = reinterpret_cast<uintptr_t>(x) % 16 == 0;
  const int n = static_cast<int>(chunk.count), packs = aligned ? n / kPack : 0;
  Tally<C> tally = Tally<C>::none();
#pragma unroll 4
  for (int at = static_cast<int>(threadIdx.x); at < packs; at += kThreads) {
    const Pack<T, kPack> pack = load_pack<kPack>(x, at);
#pragma unroll
    for (int i = 0; i < kPack; ++i) tally.add(widen(pack.at[i]), classes);
  }
  for (int i = packs * kPack + static_cast<int>(threadIdx.x); i < n; i += kThreads) tally.add(widen(x[i]), classes);
  tally = block_reduce(tally, Tally<C>::none(), Merge{});
  if (threadIdx.x == 0) partial[blockIdx.x] = tally.counts(static_cast<double>(n));
}

/// A block for each tensor of the table merges what its chunks have left in `partial` into the tensor's row.
__global__ __launch_bounds__(kThreads) void merge_chunks_kernel(const __grid_constant__ ChunkTable<1> table,
                                                                const ValueCounts* partial, ValueCounts* rows) {
  const auto tensor = static_cast<int>(blockIdx.x);
  const uint32_t first = tensor == 0 ? 0 : table.end[tensor - 1], end = table.end[tensor];
  ValueCounts counts = ValueCounts::none();
  for (uint32_t i = first + threadIdx.x; i < end; i += kThreads) counts.merge(partial[i]);
  counts = block_reduce(counts, ValueCounts::none(), Merge{});
  if (threadIdx.x == 0) rows[table.index[tensor]].merge(counts);
}

void value_statistics(InList x, Params<kernels::ValueCounting> counting, InOut counts) {
  const std::span<const Array> tensors = x.arrays();
  Context& context = Context::of(*counts);
  uint32_t chunks = 0;
  bool is_present[kDtypeCount] = {};
  for (const Array& tensor : tensors) {
    if (!is_floating(tensor.dtype())) {
      throw TypeError(std::string("value_statistics: the tensors have dtype ") + name(tensor.dtype()) +
                      ": it must be floating");
    }
    chunks += chunks_of(tensor.size());
    is_present[static_cast<size_t>(tensor.dtype())] = true;
  }
  if (chunks == 0) return;
  const Scratch scratch(context, size_t{chunks} * sizeof(ValueCounts));
  auto* partial = scratch.data<ValueCounts>();
  auto* const rows = static_cast<ValueCounts*>(counts->raw_data());
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    if (!is_present[static_cast<size_t>(dtype)]) continue;
    const ValueRange range = counting->range(dtype);
    const auto data = [&](int, size_t i) { return tensors[i].raw_data(); };
    visit_floating(dtype, [&]<class T>() {
      for_each_table<1>(tensors, dtype, data, [&](const ChunkTable<1>& table) {
        if (table.chunks() == 0) return;
        enqueue(context, {dim3(table.chunks()), dim3(kThreads)}, count_chunks_kernel<T>, table, range, partial);
        enqueue(context, {dim3(static_cast<unsigned>(table.count)), dim3(kThreads)}, merge_chunks_kernel, table,
                partial, rows);
        partial += table.chunks();
      });
    });
  }
}

}  // namespace

void register_value_statistics(Backend& backend) { backend.add<kernels::ValueStatistics>(value_statistics); }

}  // namespace kusari::cuda
