#pragma once

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/source.cuh"
#include "kusari/cuda/plans/reduction_plan.h"

// Reductions by an Op, which has the types Value (what it reads) and Acc (a partial result), and the functions
// identity(), map(value, place among the reduced elements), combine(a, b) and store(target, at, acc, count).
namespace kusari::cuda {

/// A reducer of kernels/reducers.h, computing in C.
template <class R, class C>
struct PlainReducer {
  using Value = C;
  using Acc = C;
  R op;

  __device__ __forceinline__ C identity() const { return op.template identity<C>(); }
  __device__ __forceinline__ C map(C x, int64_t) const { return op.map(x); }
  __device__ __forceinline__ C combine(C a, C b) const { return op.combine(a, b); }
  __device__ __forceinline__ void store(const Target& y, int64_t at, C acc, int64_t count) const {
    y.store(at, op.finish(acc, static_cast<C>(count)));
  }
};

template <class Op>
struct Combiner {
  Op op;
  __device__ __forceinline__ typename Op::Acc operator()(typename Op::Acc a, typename Op::Acc b) const {
    return op.combine(a, b);
  }
};

/// Accumulators of one thread, a pack of them side by side.
template <class Op, class Source>
struct Accumulators {
  using Acc = typename Op::Acc;
  static constexpr int kPack = Source::kPack;
  Acc at[kPack];

  __device__ __forceinline__ explicit Accumulators(const Op& op) {
#pragma unroll
    for (int k = 0; k < kPack; ++k) at[k] = op.identity();
  }
  template <class Packed>
  __device__ __forceinline__ void add(const Op& op, const Packed& pack, int64_t place, int step) {
#pragma unroll
    for (int k = 0; k < kPack; ++k) at[k] = op.combine(at[k], op.map(widen(pack.at[k]), place + k * step));
  }
  __device__ __forceinline__ void add_one(const Op& op, typename Op::Value value, int64_t place) {
    at[0] = op.combine(at[0], op.map(value, place));
  }
  __device__ __forceinline__ Acc total(const Op& op) {
#pragma unroll
    for (int distance = kPack / 2; distance > 0; distance /= 2) {
#pragma unroll
      for (int k = 0; k < distance; ++k) at[k] = op.combine(at[k], at[k + distance]);
    }
    return at[0];
  }
};

/// Values that one thread has read and not used yet.
template <class Source>
struct Loaded {
  typename Source::Value at[Source::kPack];
};

namespace detail {

__device__ __forceinline__ int64_t offset_of(const AxisList<1>& axes, int64_t index) {
  int64_t offset[1];
  axes.locate(index, offset);
  return offset[0];
}

/// Elements `begin` .. `end` behind the result at `from`, by `width` threads that read packs.
template <class Op, class Source>
__device__ __forceinline__ void accumulate_packs(const Op& op, const Source& x, const AxisList<1>& reduced,
                                                 int64_t from, int64_t begin, int64_t end, int member, int width,
                                                 Accumulators<Op, Source>& acc) {
  constexpr int kPack = Source::kPack, kInFlight = 4;
  const auto misaligned =
      static_cast<int>(reinterpret_cast<uintptr_t>(x.data + from + offset_of(reduced, begin)) / Source::kBytes % kPack);
  int64_t head = begin + (kPack - misaligned) % kPack;
  head = head < end ? head : end;
  for (int64_t i = begin + member; i < head; i += width) {
    acc.add_one(op, x.load(from + offset_of(reduced, i)), i);
  }
  const int64_t packs_end = head + (end - head) / kPack * kPack;
  const int64_t step = int64_t{width} * kPack;
  int64_t i = head + int64_t{member} * kPack;
  for (; i + (kInFlight - 1) * step < packs_end; i += kInFlight * step) {
    decltype(x.load_pack(0)) packs[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) packs[k] = x.load_pack(from + offset_of(reduced, i + k * step));
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) acc.add(op, packs[k], i + k * step, 1);
  }
  for (; i < packs_end; i += step) acc.add(op, x.load_pack(from + offset_of(reduced, i)), i, 1);
  for (i = packs_end + member; i < end; i += width) acc.add_one(op, x.load(from + offset_of(reduced, i)), i);
}

/// The same one element at a time: `member`, `member + width`, ...
template <class Op, class Source>
__device__ __forceinline__ void accumulate_elements(const Op& op, const Source& x, const AxisList<1>& reduced,
                                                    int64_t from, int64_t begin, int64_t end, int member, int width,
                                                    Accumulators<Op, Source>& acc) {
  constexpr int kPack = Source::kPack;
  int64_t i = begin + member;
  for (; i + (kPack - 1) * width < end; i += kPack * width) {
    Loaded<Source> values;
#pragma unroll
    for (int k = 0; k < kPack; ++k) values.at[k] = x.load(from + offset_of(reduced, i + k * width));
    acc.add(op, values, i, width);
  }
  for (; i < end; i += width) acc.add_one(op, x.load(from + offset_of(reduced, i)), i);
}

}  // namespace detail

/// `plan.width` threads for each result; parts [split][result] are written where there are several splits.
template <class Op, class Source>
__global__ void __launch_bounds__(kReductionBlock)
    reduce_rows(Op op, Source x, ReductionPlan plan, Target y, typename Op::Acc* parts) {
  const int width = plan.width, member = static_cast<int>(threadIdx.x) & (width - 1);
  const int64_t result = int64_t{blockIdx.x} * (kReductionBlock / width) + static_cast<int>(threadIdx.x) / width;
  const bool active = result < plan.result_count;
  int64_t at[2] = {};
  Accumulators<Op, Source> acc(op);
  if (active) {
    plan.results.locate(result, at);
    const int64_t begin = blockIdx.y * plan.per_split, last = begin + plan.per_split;
    const int64_t end = last < plan.reduced.total ? last : plan.reduced.total;
    if constexpr (requires { x.load_pack(0); }) {
      if (plan.packed) {
        detail::accumulate_packs(op, x, plan.reduced, at[0], begin, end, member, width, acc);
      } else {
        detail::accumulate_elements(op, x, plan.reduced, at[0], begin, end, member, width, acc);
      }
    } else {
      detail::accumulate_elements(op, x, plan.reduced, at[0], begin, end, member, width, acc);
    }
  }
  typename Op::Acc total = acc.total(op);
  if (width > kWarp) {
    total = block_reduce(total, op.identity(), Combiner<Op>{op});
  } else {
    for (int distance = width / 2; distance > 0; distance /= 2) {
      total = op.combine(total, shuffle_xor(total, distance));
    }
  }
  if (!active || member != 0) return;
  if (parts != nullptr) {
    parts[blockIdx.y * plan.result_count + result] = total;
  } else {
    op.store(y, at[1], total, plan.reduced.total);
  }
}

/// A block of `plan.width` neighbours by kReductionBlock / plan.width reduced elements at a time.
template <class Op, class Source>
__global__ void __launch_bounds__(kReductionBlock)
    reduce_columns(Op op, Source x, ReductionPlan plan, Target y, typename Op::Acc* parts) {
  using Acc = typename Op::Acc;
  constexpr int kPack = Source::kPack;
  alignas(16) __shared__ unsigned char shared_bytes[kReductionBlock * kPack * sizeof(Acc)];
  Acc* const shared = reinterpret_cast<Acc*>(shared_bytes);
  const int width = plan.width, height = kReductionBlock / width;
  const int tx = static_cast<int>(threadIdx.x) & (width - 1), ty = static_cast<int>(threadIdx.x) / width;
  const int per_thread = plan.packed ? kPack : 1;
  const int last_axis = plan.results.count - 1;
  const int64_t outer = blockIdx.x / plan.tiles, columns = plan.results.size[last_axis];
  const int64_t column = ((blockIdx.x - outer * plan.tiles) * width + tx) * per_thread;
  const bool active = column < columns;
  int64_t at[2];
  plan.results.locate(outer, last_axis, at);
  const int64_t from = at[0] + column * plan.results.stride[last_axis][0];
  const int64_t begin = blockIdx.y * plan.per_split, stop = begin + plan.per_split;
  const int64_t end = stop < plan.reduced.total ? stop : plan.reduced.total;
  Accumulators<Op, Source> acc(op);
  if (active) {
    bool done = false;
    if constexpr (requires { x.load_pack(0); }) {
      if (plan.packed) {
        constexpr int kInFlight = 4;
        int64_t i = begin + ty;
        for (; i + (kInFlight - 1) * height < end; i += kInFlight * height) {
          decltype(x.load_pack(0)) packs[kInFlight];
#pragma unroll
          for (int k = 0; k < kInFlight; ++k) {
            packs[k] = x.load_pack(from + detail::offset_of(plan.reduced, i + k * height));
          }
#pragma unroll
          for (int k = 0; k < kInFlight; ++k) acc.add(op, packs[k], i + k * height, 0);
        }
        for (; i < end; i += height) acc.add(op, x.load_pack(from + detail::offset_of(plan.reduced, i)), i, 0);
        done = true;
      }
    }
    if (!done) {
      detail::accumulate_elements(op, x, plan.reduced, from, begin, end, ty, height, acc);
      acc.total(op);
    }
  }
  for (int k = 0; k < per_thread; ++k) shared[k * kReductionBlock + threadIdx.x] = acc.at[0];
#pragma unroll
  for (int k = 1; k < kPack; ++k) {
    if (k < per_thread) shared[k * kReductionBlock + threadIdx.x] = acc.at[k];
  }
  for (int rows = height / 2; rows > 0; rows /= 2) {
    __syncthreads();
    if (ty < rows) {
      for (int k = 0; k < per_thread; ++k) {
        Acc* const mine = shared + k * kReductionBlock + threadIdx.x;
        *mine = op.combine(*mine, mine[rows * width]);
      }
    }
  }
  if (!active || ty != 0) return;
  for (int k = 0; k < per_thread; ++k) {
    const Acc total = shared[k * kReductionBlock + threadIdx.x];
    if (parts != nullptr) {
      parts[blockIdx.y * plan.result_count + outer * columns + column + k] = total;
    } else {
      op.store(y, at[1] + (column + k) * plan.results.stride[last_axis][1], total, plan.reduced.total);
    }
  }
}

/// y from parts [split][result]; `width` results side by side.
template <class Op>
__global__ void __launch_bounds__(kReductionBlock)
    combine_parts(Op op, const typename Op::Acc* parts, ReductionPlan plan, int width, Target y) {
  using Acc = typename Op::Acc;
  alignas(16) __shared__ unsigned char shared_bytes[kReductionBlock * sizeof(Acc)];
  Acc* const shared = reinterpret_cast<Acc*>(shared_bytes);
  const int tx = static_cast<int>(threadIdx.x) & (width - 1), ty = static_cast<int>(threadIdx.x) / width;
  const int height = kReductionBlock / width;
  const int64_t result = int64_t{blockIdx.x} * width + tx;
  Acc total = op.identity();
  if (result < plan.result_count) {
    for (int split = ty; split < plan.splits; split += height) {
      total = op.combine(total, parts[split * plan.result_count + result]);
    }
  }
  shared[threadIdx.x] = total;
  for (int rows = height / 2; rows > 0; rows /= 2) {
    __syncthreads();
    if (ty < rows) shared[threadIdx.x] = op.combine(shared[threadIdx.x], shared[threadIdx.x + rows * width]);
  }
  if (ty != 0 || result >= plan.result_count) return;
  int64_t at[2];
  plan.results.locate(result, at);
  op.store(y, at[1], shared[threadIdx.x], plan.reduced.total);
}

template <class Op, class Source>
void enqueue_reduction(Context& context, const ReductionPlan& plan, const Op& op, const Source& x, const Target& y) {
  using Acc = typename Op::Acc;
  const auto run = [&](Acc* parts) {
    const auto splits = static_cast<unsigned>(plan.splits);
    if (plan.by_columns) {
      const auto blocks = static_cast<unsigned>(plan.result_count / plan.columns() * plan.tiles);
      enqueue(context, {dim3(blocks, splits), dim3(kReductionBlock)}, reduce_columns<Op, Source>, op, x, plan, y,
              parts);
    } else {
      const unsigned blocks = blocks_for(plan.result_count, kReductionBlock / plan.width);
      enqueue(context, {dim3(blocks, splits), dim3(kReductionBlock)}, reduce_rows<Op, Source>, op, x, plan, y, parts);
    }
  };
  if (plan.splits == 1) {
    run(nullptr);
    return;
  }
  const Scratch parts(context, static_cast<size_t>(plan.splits * plan.result_count) * sizeof(Acc));
  run(parts.data<Acc>());
  int width = 1;
  while (width < plan.result_count && width < kWarp) width *= 2;
  enqueue(context, {dim3(blocks_for(plan.result_count, width)), dim3(kReductionBlock)}, combine_parts<Op>, op,
          parts.data<Acc>(), plan, width, y);
}

}  // namespace kusari::cuda
