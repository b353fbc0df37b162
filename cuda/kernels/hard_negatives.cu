#include "kusari/framework/kernels/hard_negatives.h"

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/runtime/register.h"

namespace kusari::cuda {
namespace {

constexpr int kThreads = 512;

/// How many of n places a block's threads find to hold, by all of them.
template <class Holds>
__device__ __forceinline__ int64_t count_places(int64_t n, const Holds& holds) {
  int64_t count = 0;
  for (int64_t k = threadIdx.x; k < n; k += kThreads) count += holds(k) ? 1 : 0;
  return block_reduce(count, int64_t{0}, Plus<int64_t>());
}

/// A block for each image. The loss of the last background anchor that counts is found bit by bit, and where it has
/// equals, the place of the last by halving.
__global__ __launch_bounds__(kThreads) void hard_negatives_kernel(double ratio, int64_t anchors, const float* loss,
                                                                  const int32_t* t, float* counts) {
  const int64_t base = int64_t{blockIdx.x} * anchors;
  // In the order of the losses; a NaN's bits are above all.
  const auto bits = [&](int64_t k) { return km::bit_cast<km::u32>(loss[base + k]) & 0x7fffffffu; };
  const auto is_negative = [&](int64_t k) { return t[base + k] == -1; };
  const int64_t positives = count_places(anchors, [&](int64_t k) { return t[base + k] >= 0; });
  const int64_t negatives = count_places(anchors, is_negative);
  const double wanted = ratio * static_cast<double>(positives);
  const int64_t chosen = wanted < static_cast<double>(negatives) ? static_cast<int64_t>(wanted) : negatives;
  // The highest number that at least `chosen` reach.
  km::u32 lowest = 0;
  for (int bit = 30; bit >= 0; --bit) {
    const km::u32 attempt = lowest | 1u << bit;
    const int64_t reached = count_places(anchors, [&](int64_t k) { return is_negative(k) && bits(k) >= attempt; });
    if (reached >= chosen) lowest = attempt;
  }
  const int64_t above = count_places(anchors, [&](int64_t k) { return is_negative(k) && bits(k) > lowest; });
  int64_t begin = 0, end = anchors;  // the first `end` places hold as many equals as are wanted, or all
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    const int64_t equal = count_places(middle, [&](int64_t k) { return is_negative(k) && bits(k) == lowest; });
    if (above + equal >= chosen) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  for (int64_t k = threadIdx.x; k < anchors; k += kThreads) {
    const bool hard = chosen > 0 && is_negative(k) && (bits(k) > lowest || (bits(k) == lowest && k < end));
    counts[base + k] = t[base + k] >= 0 || hard ? 1.0f : 0.0f;
  }
}

void hard_negatives(Params<double> ratio, In loss, In t, Out counts) {
  if (t->size() == 0) return;
  const LaunchShape shape{dim3(static_cast<unsigned>(t->shape(0))), dim3(kThreads)};
  enqueue(Context::of(*t), shape, hard_negatives_kernel, *ratio, t->shape(1), loss->data<float>(), t->data<int32_t>(),
          counts->data<float>());
}

}  // namespace

void register_hard_negatives(Backend& backend) { backend.add<kernels::HardNegatives>(hard_negatives); }

}  // namespace kusari::cuda
