#pragma once

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/source.cuh"
#include "kusari/cuda/plans/row_plan.h"
#include "kusari/framework/kernels/math.h"
#include "kusari/framework/kernels/softmax.h"

// Kernels that sum along rows: one warp with the row in its registers, or a block that reads the row twice.
namespace kusari::cuda {

/// Elements of the rows that a warp keeps in registers.
inline constexpr int kShortRow = 256, kWarpRow = 1024;
/// Threads of a block whose warps have a row each.
inline constexpr int kWarpRowBlock = 128;

/// The largest element, and the sum of exp(x - shift()).
template <class C>
struct ExpSum {
  C top, sum;

  /// inf - inf is not a number.
  __device__ __forceinline__ C shift() const { return km::isinf(top) ? C(0) : top; }
  /// What probabilities are divided by: nothing is left of them beside an infinite score.
  __device__ __forceinline__ C divisor() const { return top == km::Real<C>::kInfinity ? km::Real<C>::kNan : sum; }
  __device__ __forceinline__ static C larger(C a, C b) { return a < b ? b : a; }  // passes over NaN, which shows in sum
  /// What exp(x - from) is multiplied with to become exp(x - to).
  __device__ __forceinline__ static C rescale(C from, C to) {
    return from == to || km::isinf(from) || km::isinf(to) ? C(1) : km::exp(from - to);
  }
  __device__ __forceinline__ ExpSum operator()(const ExpSum& a, const ExpSum& b) const {
    const C most = larger(a.top, b.top);
    return {most, a.sum * rescale(a.top, most) + b.sum * rescale(b.top, most)};
  }
  template <int N>
  __device__ __forceinline__ void add(const C (&x)[N], int count) {
    C most = top;
#pragma unroll
    for (int k = 0; k < N; ++k) most = k < count ? larger(most, x[k]) : most;
    sum *= rescale(top, most);
    top = most;
    const C subtracted = shift();
#pragma unroll
    for (int k = 0; k < N; ++k) sum += k < count ? km::exp(x[k] - subtracted) : C(0);
  }
};

enum class RowResult : uint8_t { none, softmax, log_softmax };
enum class RowValue : uint8_t { none, logsumexp, cross_entropy };

/// What becomes of a row's ExpSum.
template <class C>
struct RowFinish {
  RowResult result = RowResult::none;
  RowValue value = RowValue::none;
  Target target{};  // of the value
  const void* labels = nullptr;
  Dtype label_dtype = Dtype::int32;
  int64_t ignored = 0;
  const void* weights = nullptr;
  Dtype weight_dtype = Dtype::float32;
  int64_t weight_stride = 0;

  /// What exponentials are multiplied with, or logarithms lessened by.
  __device__ __forceinline__ C second(const ExpSum<C>& total) const {
    return result == RowResult::softmax ? C(1) / total.divisor() : km::log(total.divisor());
  }
  __device__ __forceinline__ C apply(C x, C shift, C factor) const {
    return result == RowResult::softmax ? km::exp(x - shift) * factor : (x - shift) - factor;
  }
  __device__ __forceinline__ int64_t label(const int64_t (&at)[RowPlan::kOperands]) const {
    return value == RowValue::cross_entropy ? load_integer(labels, label_dtype, at[RowPlan::kLabel]) : 0;
  }
  /// `score` is x at the label, if the label is valid.
  __device__ __forceinline__ void store_value(const int64_t (&at)[RowPlan::kOperands], int64_t label, bool valid,
                                              C score, const ExpSum<C>& total) const {
    if (value == RowValue::logsumexp) {
      target.store(at[RowPlan::kValue], total.shift() + km::log(total.sum));
    } else if (value == RowValue::cross_entropy) {
      C loss = km::log(total.divisor()) - (score - total.shift());
      if (valid && weights != nullptr) loss *= load_as<C>(weights, weight_dtype, label * weight_stride);
      target.store(at[RowPlan::kValue], label == ignored ? C(0) : (valid ? loss : km::Real<C>::kNan));
    }
  }
};

/// The elements of a row that one lane of a warp has: packs, or single elements, `kPerLane` in all.
template <class T, int kPerLane>
struct LaneRow {
  using C = Compute<T>;
  static constexpr int kPack = kPackSize<T>, kPacks = kPerLane / kPack;
  C at[kPerLane];

  __device__ __forceinline__ static int64_t place(int i, bool packed) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    return packed ? (i / kPack * kWarp + lane) * kPack + i % kPack : i * kWarp + lane;
  }
  __device__ __forceinline__ LaneRow(const T* row, int64_t n, bool packed, C missing) {
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) at[i] = missing;
    if (packed) {
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        if (place(p * kPack, true) < n) {
          const Pack<T, kPack> pack = load_pack<kPack>(row + place(p * kPack, true), 0);
#pragma unroll
          for (int k = 0; k < kPack; ++k) at[p * kPack + k] = widen(pack.at[k]);
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) {
        if (place(i, false) < n) at[i] = widen(row[place(i, false)]);
      }
    }
  }
  __device__ __forceinline__ void store(T* row, int64_t n, bool packed) const {
    if (packed) {
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        if (place(p * kPack, true) < n) {
          Pack<T, kPack> pack;
#pragma unroll
          for (int k = 0; k < kPack; ++k) pack.at[k] = narrow<T>(at[p * kPack + k]);
          store_pack<kPack>(row + place(p * kPack, true), 0, pack);
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) {
        if (place(i, false) < n) row[place(i, false)] = narrow<T>(at[i]);
      }
    }
  }
};

template <class C>
struct Larger {
  __device__ __forceinline__ C operator()(C a, C b) const { return ExpSum<C>::larger(a, b); }
};

/// A warp for each row of at most kWarp * kPerLane contiguous elements.
template <class T, int kPerLane>
__global__ void __launch_bounds__(kWarpRowBlock)
    softmax_warp(RowPlan plan, const T* x, T* y, RowFinish<Compute<T>> finish) {
  using C = Compute<T>;
  const int64_t row = int64_t{blockIdx.x} * (kWarpRowBlock / kWarp) + static_cast<int>(threadIdx.x) / kWarp;
  if (row >= plan.count) return;  // the whole warp
  int64_t at[RowPlan::kOperands];
  plan.rows.locate(row, at);
  const T* const from = x + at[RowPlan::kA];
  LaneRow<T, kPerLane> values(from, plan.n, plan.packed, -km::Real<C>::kInfinity);
  ExpSum<C> total{values.at[0], C(0)};
#pragma unroll
  for (int i = 1; i < kPerLane; ++i) total.top = ExpSum<C>::larger(total.top, values.at[i]);
  if (km::isnan(total.top)) total.top = -km::Real<C>::kInfinity;  // a NaN in front would hide the others
  total.top = warp_reduce(total.top, Larger<C>{});
  const C shift = total.shift();
  const bool exponentials = finish.result == RowResult::softmax;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const C e = km::exp(values.at[i] - shift);
    total.sum += e;
    values.at[i] = exponentials ? e : values.at[i] - shift;
  }
  total.sum = warp_reduce(total.sum, Plus<C>{});
  if (finish.value != RowValue::none && threadIdx.x % kWarp == 0) {
    const int64_t label = finish.label(at);
    const bool valid = label >= 0 && label < plan.n;
    finish.store_value(at, label, valid, valid ? widen(from[label]) : C(0), total);
  }
  if (finish.result == RowResult::none) return;
  const C factor = finish.second(total);
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) values.at[i] = exponentials ? values.at[i] * factor : values.at[i] - factor;
  values.store(y + at[RowPlan::kOut], plan.n, plan.packed);
}

/// gx of softmax or log_softmax, likewise.
template <class T, int kPerLane>
__global__ void __launch_bounds__(kWarpRowBlock)
    softmax_grad_warp(RowPlan plan, const T* y, const T* gy, T* gx, RowResult kind) {
  using C = Compute<T>;
  const int64_t row = int64_t{blockIdx.x} * (kWarpRowBlock / kWarp) + static_cast<int>(threadIdx.x) / kWarp;
  if (row >= plan.count) return;
  int64_t at[RowPlan::kOperands];
  plan.rows.locate(row, at);
  LaneRow<T, kPerLane> results(y + at[RowPlan::kA], plan.n, plan.packed, C(0));
  const LaneRow<T, kPerLane> gradients(gy + at[RowPlan::kB], plan.n, plan.packed, C(0));
  C sum = 0;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    sum += kind == RowResult::softmax ? results.at[i] * gradients.at[i] : gradients.at[i];
  }
  sum = warp_reduce(sum, Plus<C>{});
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    results.at[i] = kind == RowResult::softmax ? results.at[i] * (gradients.at[i] - sum)
                                               : gradients.at[i] - km::exp(results.at[i]) * sum;
  }
  results.store(gx + at[RowPlan::kOut], plan.n, plan.packed);
}

/// Where a thread of a block of `plan.columns` rows stands.
struct RowThread {
  int64_t row;
  int member, width;  // among the threads of a row

  __device__ __forceinline__ explicit RowThread(const RowPlan& plan)
      : row{int64_t{blockIdx.x} * plan.columns + (static_cast<int>(threadIdx.x) & (plan.columns - 1))},
        member{static_cast<int>(threadIdx.x) / plan.columns},
        width{plan.threads / plan.columns} {}

  /// combine over the threads of each row, the result in each.
  template <class S, class Combine>
  __device__ __forceinline__ S combine_members(const RowPlan& plan, S value, Combine combine) const {
    alignas(16) __shared__ unsigned char shared_bytes[kLongRowBlock * sizeof(S)];
    S* const shared = reinterpret_cast<S*>(shared_bytes);
    if (width == 1) return value;
    shared[threadIdx.x] = value;
    for (int members = width / 2; members > 0; members /= 2) {
      __syncthreads();
      if (member < members)
        shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + members * plan.columns]);
    }
    __syncthreads();
    return shared[static_cast<int>(threadIdx.x) & (plan.columns - 1)];
  }
};

/// Calls body(place, count, values...) for a thread's share of a row: packs of all arrays where they can be read so,
/// else as many single elements, `width` apart. Values beyond `count` are not set.
template <class T, class Body>
__device__ __forceinline__ void for_each_pack(const RowPlan& plan, const RowThread& thread, const T* a,
                                              int64_t a_stride, int64_t begin, int64_t end, const Body& body) {
  using C = Compute<T>;
  constexpr int kPack = kPackSize<T>;
  C values[kPack];
  if (plan.packed) {
    for (int64_t i = begin + int64_t{thread.member} * kPack; i < end; i += int64_t{thread.width} * kPack) {
      const Pack<T, kPack> pack = load_pack<kPack>(a + i, 0);
#pragma unroll
      for (int k = 0; k < kPack; ++k) values[k] = widen(pack.at[k]);
      body(i, 1, kPack, values);
    }
    return;
  }
  for (int64_t i = begin + thread.member; i < end; i += int64_t{thread.width} * kPack) {
    int count = 0;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const int64_t place = i + k * thread.width;
      if (place < end) {
        values[k] = widen(a[place * a_stride]);
        count = k + 1;
      } else {
        values[k] = C(0);
      }
    }
    body(i, thread.width, count, values);
  }
}

/// The whole row.
template <class T, class Body>
__device__ __forceinline__ void for_each_pack(const RowPlan& plan, const RowThread& thread, const T* a,
                                              int64_t a_stride, const Body& body) {
  for_each_pack(plan, thread, a, a_stride, 0, plan.n, body);
}

/// Writes what for_each_pack's body made of its values.
template <class T>
__device__ __forceinline__ void store_values(const RowPlan& plan, T* to, int64_t place, int step, int count,
                                             const Compute<T> (&values)[kPackSize<T>]) {
  constexpr int kPack = kPackSize<T>;
  if (plan.packed) {
    Pack<T, kPack> pack;
#pragma unroll
    for (int k = 0; k < kPack; ++k) pack.at[k] = narrow<T>(values[k]);
    store_pack<kPack>(to + place, 0, pack);
  } else {
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      if (k < count) to[(place + k * step) * plan.stride[RowPlan::kOut]] = narrow<T>(values[k]);
    }
  }
}

/// The same place of a second array.
template <class T>
__device__ __forceinline__ void load_values(const RowPlan& plan, const T* from, int64_t stride, int64_t place, int step,
                                            int count, Compute<T> (&values)[kPackSize<T>]) {
  constexpr int kPack = kPackSize<T>;
  if (plan.packed) {
    const Pack<T, kPack> pack = load_pack<kPack>(from + place, 0);
#pragma unroll
    for (int k = 0; k < kPack; ++k) values[k] = widen(pack.at[k]);
  } else {
#pragma unroll
    for (int k = 0; k < kPack; ++k) values[k] = k < count ? widen(from[(place + k * step) * stride]) : Compute<T>(0);
  }
}

/// Rows of any length and strides.
template <class T>
__global__ void __launch_bounds__(kLongRowBlock)
    softmax_block(RowPlan plan, const T* x, T* y, RowFinish<Compute<T>> finish) {
  using C = Compute<T>;
  const RowThread thread(plan);
  const bool active = thread.row < plan.count;
  int64_t at[RowPlan::kOperands] = {};
  ExpSum<C> total{-km::Real<C>::kInfinity, C(0)};
  C score = 0;
  int64_t label = 0;
  bool valid = false;
  if (active) {
    plan.rows.locate(thread.row, at);
    for_each_pack(plan, thread, x + at[RowPlan::kA], plan.stride[RowPlan::kA],
                  [&](int64_t, int, int count, const C(&values)[kPackSize<T>]) { total.add(values, count); });
    if (thread.member == 0 && finish.value == RowValue::cross_entropy) {
      label = finish.label(at);
      valid = label >= 0 && label < plan.n;
      if (valid) score = widen(x[at[RowPlan::kA] + label * plan.stride[RowPlan::kA]]);
    }
  }
  total = thread.combine_members(plan, total, ExpSum<C>{});
  if (!active) return;
  if (thread.member == 0) finish.store_value(at, label, valid, score, total);
  if (finish.result == RowResult::none) return;
  const C shift = total.shift(), factor = finish.second(total);
  T* const to = y + at[RowPlan::kOut];
  for_each_pack(plan, thread, x + at[RowPlan::kA], plan.stride[RowPlan::kA],
                [&](int64_t place, int step, int count, C(&values)[kPackSize<T>]) {
#pragma unroll
                  for (int k = 0; k < kPackSize<T>; ++k) values[k] = finish.apply(values[k], shift, factor);
                  store_values(plan, to, place, step, count, values);
                });
}

template <class T>
__global__ void __launch_bounds__(kLongRowBlock)
    softmax_grad_block(RowPlan plan, const T* y, const T* gy, T* gx, RowResult kind) {
  using C = Compute<T>;
  constexpr int kPack = kPackSize<T>;
  const RowThread thread(plan);
  const bool active = thread.row < plan.count;
  int64_t at[RowPlan::kOperands] = {};
  C sum = 0;
  if (active) {
    plan.rows.locate(thread.row, at);
    for_each_pack(plan, thread, gy + at[RowPlan::kB], plan.stride[RowPlan::kB],
                  [&](int64_t place, int step, int count, const C(&gradients)[kPack]) {
                    C results[kPack];
                    if (kind == RowResult::softmax) {
                      load_values(plan, y + at[RowPlan::kA], plan.stride[RowPlan::kA], place, step, count, results);
                    }
#pragma unroll
                    for (int k = 0; k < kPack; ++k) {
                      sum += kind == RowResult::softmax ? results[k] * gradients[k] : gradients[k];
                    }
                  });
  }
  sum = thread.combine_members(plan, sum, Plus<C>{});
  if (!active) return;
  T* const to = gx + at[RowPlan::kOut];
  for_each_pack(plan, thread, gy + at[RowPlan::kB], plan.stride[RowPlan::kB],
                [&](int64_t place, int step, int count, C(&gradients)[kPack]) {
                  C results[kPack];
                  load_values(plan, y + at[RowPlan::kA], plan.stride[RowPlan::kA], place, step, count, results);
#pragma unroll
                  for (int k = 0; k < kPack; ++k) {
                    gradients[k] = kind == RowResult::softmax ? results[k] * (gradients[k] - sum)
                                                              : gradients[k] - km::exp(results[k]) * sum;
                  }
                  store_values(plan, to, place, step, count, gradients);
                });
}

inline constexpr int kMeanBlock = 1024;

/// mean = sum(loss) / divisor in one block; divisor = `count`, or the labels that are not ignored.
template <class T>
__global__ void __launch_bounds__(kMeanBlock)
    mean_loss_block(int64_t n, const T* loss, const void* labels, Dtype label_dtype, kernels::MeanLossOptions options,
                    Target mean, T* divisor) {
  double sum = 0;
  int64_t counted = 0;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    sum += static_cast<double>(loss[i]);
    if (options.count == 0 && load_integer(labels, label_dtype, i) != options.ignore_label) ++counted;
  }
  sum = block_reduce(sum, 0.0, Plus<double>{});
  counted = block_reduce(counted, int64_t{0}, Plus<int64_t>{});
  if (threadIdx.x > 0) return;
  const int64_t given = options.count > 0 ? options.count : counted > 0 ? counted : 1;
  *divisor = static_cast<T>(given);
  mean.store(0, static_cast<T>(sum / static_cast<double>(given)));
}

/// The labels of a cross entropy's gradient, and what each row is multiplied with.
struct CrossEntropyFactors {
  const void *labels, *factors, *weights, *divisor;  // the last two may be null
  Dtype label_dtype, factor_dtype, weight_dtype, divisor_dtype;
  int64_t ignored, weight_stride;
};

/// The sum of a row without its label for each lane that asks for one: the row begins at `row` of p. All lanes of a
/// warp call it, and add up each row together.
template <class T>
__device__ __forceinline__ Compute<T> sum_of_others(const RowPlan& plan, bool asks, const T* p, int64_t row,
                                                    int64_t label) {
  using C = Compute<T>;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  RowThread thread(plan);
  thread.member = lane;
  thread.width = kWarp;
  C result = 0;
  for (unsigned asking = __ballot_sync(kAllLanes, asks); asking != 0; asking &= asking - 1) {
    const int owner = __ffs(static_cast<int>(asking)) - 1;
    const T* const from = p + __shfl_sync(kAllLanes, row, owner);
    const int64_t without = __shfl_sync(kAllLanes, label, owner);
    C sum = 0;
    for_each_pack(plan, thread, from, plan.stride[RowPlan::kA],
                  [&](int64_t place, int step, int count, const C(&values)[kPackSize<T>]) {
#pragma unroll
                    for (int k = 0; k < kPackSize<T>; ++k) {
                      if (k < count && place + k * step != without) sum += values[k];
                    }
                  });
    sum = warp_reduce(sum, Plus<C>{});
    if (lane == owner) result = sum;
  }
  return result;
}

/// gx = factor (p - onehot(label)); a block takes `chunk` elements of each of its rows.
template <class T>
__global__ void __launch_bounds__(kLongRowBlock)
    cross_entropy_grad(RowPlan plan, int64_t chunk, const T* p, T* gx, CrossEntropyFactors given) {
  using C = Compute<T>;
  RowThread thread(plan);
  if (plan.contiguous) {  // here plan.columns rows lie one behind the other
    thread.member = static_cast<int>(threadIdx.x) & (thread.width - 1);
    thread.row = int64_t{blockIdx.x} * plan.columns + static_cast<int>(threadIdx.x) / thread.width;
  }
  const bool active = thread.row < plan.count;
  int64_t at[RowPlan::kOperands] = {};
  if (active) plan.rows.locate(thread.row, at);
  const int64_t label = active ? load_integer(given.labels, given.label_dtype, at[RowPlan::kLabel]) : -1;
  const bool counts = active && label != given.ignored && label >= 0 && label < plan.n;
  const int64_t begin = blockIdx.y * chunk, end = begin + chunk < plan.n ? begin + chunk : plan.n;
  const T* const row = p + at[RowPlan::kA];
  C rest = 0;  // 1 - p at the label
  if (counts) rest = C(1) - widen(row[label * plan.stride[RowPlan::kA]]);
  if constexpr (sizeof(T) == 2) {
    // Few digits are left of 1 - p there, or none. The thread that comes to the label asks.
    const int64_t packs = (label - begin) / (plan.packed ? kPackSize<T> : 1);
    const bool asks = counts && rest < C(0.5) && label >= begin && label < end && packs % thread.width == thread.member;
    const C others = sum_of_others(plan, asks, p, at[RowPlan::kA], label);
    if (asks) rest = others;
  }
  if (!active) return;
  C factor = 0;
  if (counts) {
    factor = load_as<C>(given.factors, given.factor_dtype, at[RowPlan::kValue]);
    if (given.divisor != nullptr) factor /= load_as<C>(given.divisor, given.divisor_dtype, 0);
    if (given.weights != nullptr) factor *= load_as<C>(given.weights, given.weight_dtype, label * given.weight_stride);
  }
  T* const to = gx + at[RowPlan::kOut];
  for_each_pack(plan, thread, row, plan.stride[RowPlan::kA], begin, end,
                [&](int64_t place, int step, int count, C(&values)[kPackSize<T>]) {
#pragma unroll
                  for (int k = 0; k < kPackSize<T>; ++k) {
                    const C difference = place + k * step == label ? -rest : values[k];
                    values[k] = counts ? factor * difference : C(0);
                  }
                  store_values(plan, to, place, step, count, values);
                });
}

}  // namespace kusari::cuda
