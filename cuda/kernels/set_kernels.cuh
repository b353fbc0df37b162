#pragma once

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/pack_access.cuh"
#include "kusari/cuda/plans/set_plan.h"

// Kernels that take statistics of each set of elements and then rewrite the set.
namespace kusari::cuda {

/// The place of a thread, and its set's part that its block takes.
struct SetThread {
  int64_t set;
  int member;
  int64_t begin, end;  // elements; none where there is no such set
  int64_t at[SetPlan::kArrays] = {};

  __device__ __forceinline__ explicit SetThread(const SetPlan& plan) {
    const int t = static_cast<int>(threadIdx.x), sets = kSetBlock / plan.width;
    set = int64_t{blockIdx.x} * sets + (plan.by_columns ? t & (sets - 1) : t / plan.width);
    member = plan.by_columns ? t / sets : t & (plan.width - 1);
    begin = blockIdx.y * plan.per_split;
    end = begin + plan.per_split < plan.size ? begin + plan.per_split : plan.size;
    if (set < plan.count) {
      plan.sets.locate(set, at);
    } else {
      begin = end = 0;
    }
  }

  /// combine over the threads of a set, the result in each. All threads of the block call it.
  template <class S, class Combine>
  __device__ __forceinline__ S combine_members(const SetPlan& plan, S value, S identity, Combine combine) const {
    if (plan.width == 1) return value;
    if (!plan.by_columns) {
      if (plan.width > kWarp) return block_reduce(value, identity, combine);
      for (int distance = plan.width / 2; distance > 0; distance /= 2) {
        value = combine(value, shuffle_xor(value, distance));
      }
      return value;
    }
    __shared__ __align__(16) unsigned char shared_bytes[kSetBlock * sizeof(S)];
    S* const shared = reinterpret_cast<S*>(shared_bytes);
    const int sets = kSetBlock / plan.width;
    __syncthreads();  // the last combination has been read
    shared[threadIdx.x] = value;
    for (int members = plan.width / 2; members > 0; members /= 2) {
      __syncthreads();
      if (member < members) shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + members * sets]);
    }
    __syncthreads();
    return shared[static_cast<int>(threadIdx.x) & (sets - 1)];
  }

  /// Calls body.template operator()<N>(offsets) for this thread's packs of N elements, or single elements.
  template <int kPack, class Body>
  __device__ __forceinline__ void for_each(const SetPlan& plan, const Body& body) const {
    int64_t offset[SetPlan::kOperands];
    if (plan.packed) {
      for (int64_t i = begin + int64_t{member} * kPack; i < end; i += int64_t{plan.width} * kPack) {
        plan.elements.locate(i, offset);
        body.template operator()<kPack>(offset);
      }
    } else {
      for (int64_t i = begin + member; i < end; i += plan.width) {
        plan.elements.locate(i, offset);
        body.template operator()<1>(offset);
      }
    }
  }
};

enum class SetStage : uint8_t { all, measure, apply };

/// op: Statistics measure(plan, thread), merge(a, b), publish(set, statistics) and apply(plan, thread, statistics).
template <class Op>
__global__ void __launch_bounds__(kSetBlock)
    rewrite_sets(Op op, SetPlan plan, SetStage stage, typename Op::Statistics* parts) {
  using Statistics = typename Op::Statistics;
  const SetThread thread(plan);
  Statistics statistics;
  if (stage == SetStage::apply) {
    if (thread.set >= plan.count) return;
    statistics = parts[thread.set * plan.splits];
    for (int split = 1; split < plan.splits; ++split) {
      statistics = op.merge(statistics, parts[thread.set * plan.splits + split]);
    }
  } else {
    statistics = op.measure(plan, thread);
  }
  if (thread.set >= plan.count) return;
  if (stage == SetStage::measure) {
    if (thread.member == 0) parts[thread.set * plan.splits + blockIdx.y] = statistics;
    return;
  }
  if (thread.member == 0 && blockIdx.y == 0) op.publish(thread.set, statistics);
  op.apply(plan, thread, statistics);
}

template <class Op>
void enqueue_sets(Context& context, const SetPlan& plan, const Op& op) {
  const LaunchShape shape{dim3(blocks_for(plan.count, kSetBlock / plan.width), static_cast<unsigned>(plan.splits)),
                          dim3(kSetBlock)};
  if (plan.splits == 1) {
    enqueue(context, shape, rewrite_sets<Op>, op, plan, SetStage::all, nullptr);
    return;
  }
  const Scratch parts(context, static_cast<size_t>(plan.count * plan.splits) * sizeof(typename Op::Statistics));
  const auto data = parts.data<typename Op::Statistics>();
  enqueue(context, shape, rewrite_sets<Op>, op, plan, SetStage::measure, data);
  enqueue(context, shape, rewrite_sets<Op>, op, plan, SetStage::apply, data);
}

}  // namespace kusari::cuda
