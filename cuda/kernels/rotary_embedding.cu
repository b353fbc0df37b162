#include "kusari/framework/kernels/rotary_embedding.h"

#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/wide_pack.cuh"
#include "kusari/cuda/plans/axis_list.h"
#include "kusari/cuda/runtime/register.h"

namespace kusari::cuda {
namespace {

constexpr int kRotaryBlock = 128;

/// Where rows begin.
struct RotaryRows {
  enum Operand { kX, kTable, kY, kOperands };
  AxisList<kOperands> list;
  int64_t half;
  int64_t units;  // of a row: the pairs that a thread takes
  Divisor divisor;

  RotaryRows(const Array& x, const Array& table, const Array& y) : half{table.shape()[2]}, units{half} {
    const int axes = x.ndim() - 1;
    for (int i = 0; i < axes; ++i) {
      if (x.shape()[i] == 1) continue;
      list.merge_back(x.shape()[i], {x.strides()[i], i == axes - 1 ? 2 * half : 0, y.strides()[i]});
    }
  }
  /// Whether rows begin at multiples of `step` elements of x and y.
  bool are_multiples_of(int64_t step) const {
    for (int i = 0; i < list.count; ++i) {
      if (list.stride[i][kX] % step != 0 || list.stride[i][kY] % step != 0) return false;
    }
    return true;
  }
  void set_pairs(int64_t pairs) {
    units = half / pairs;
    divisor = Divisor(units <= kNarrow ? units : 1);
  }
  int64_t total() const { return list.total * units; }
};

/// N elements that are a pack, or N packs of one.
template <bool kPacked, class T, int N>
__device__ __forceinline__ void load_numbers(const T* from, Compute<T> (&values)[N]) {
  if constexpr (kPacked) {
    load_wide<T, N>(from, values);
  } else {
#pragma unroll
    for (int k = 0; k < N; ++k) values[k] = widen(from[k]);
  }
}
template <bool kPacked, class T, int N>
__device__ __forceinline__ void store_numbers(T* to, const Compute<T> (&values)[N]) {
  if constexpr (kPacked) {
    store_narrow<T, N>(to, values);
  } else {
#pragma unroll
    for (int k = 0; k < N; ++k) to[k] = narrow<T>(values[k]);
  }
}

/// Pairs that a thread takes: 16 bytes of numbers as they are computed.
template <class T, bool kNeighbours, bool kPacked>
constexpr int kPairs = kPacked ? (kNeighbours ? 8 : 16) / static_cast<int>(sizeof(Compute<T>)) : 1;

template <class T, bool kNeighbours, bool kPacked>
__global__ void __launch_bounds__(kRotaryBlock)
    turn_pairs(RotaryRows rows, Compute<T> sign, const T* x, const Compute<T>* table, T* y) {
  using C = Compute<T>;
  constexpr int N = kPairs<T, kNeighbours, kPacked>;
  const int64_t at = int64_t{blockIdx.x} * kRotaryBlock + threadIdx.x, total = rows.list.total * rows.units;
  if (at >= total) return;
  const int64_t row = total <= kNarrow ? rows.divisor.quotient(static_cast<uint32_t>(at)) : at / rows.units;
  const int64_t i = (at - row * rows.units) * N;
  int64_t offset[RotaryRows::kOperands];
  rows.list.locate(row, offset);
  const T* const from = x + offset[RotaryRows::kX];
  const C* const cosines = table + offset[RotaryRows::kTable] + i;
  T* const to = y + offset[RotaryRows::kY];
  C cosine[N], sine[N];
  load_numbers<kPacked, C, N>(cosines, cosine);
  load_numbers<kPacked, C, N>(cosines + rows.half, sine);
  if constexpr (kNeighbours) {
    C pairs[2 * N];
    load_numbers<kPacked, T, 2 * N>(from + 2 * i, pairs);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const C a = pairs[2 * k], b = pairs[2 * k + 1], s = sign * sine[k];
      pairs[2 * k] = a * cosine[k] - b * s;
      pairs[2 * k + 1] = a * s + b * cosine[k];
    }
    store_numbers<kPacked, T, 2 * N>(to + 2 * i, pairs);
  } else {
    C first[N], second[N];
    load_numbers<kPacked, T, N>(from + i, first);
    load_numbers<kPacked, T, N>(from + i + rows.half, second);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const C a = first[k], b = second[k], s = sign * sine[k];
      first[k] = a * cosine[k] - b * s;
      second[k] = a * s + b * cosine[k];
    }
    store_numbers<kPacked, T, N>(to + i, first);
    store_numbers<kPacked, T, N>(to + i + rows.half, second);
  }
}

template <class T, bool kNeighbours>
void turn_rows(bool inverse, const Array& x, const Array& table, const Array& y) {
  using C = Compute<T>;
  constexpr int kMany = kPairs<T, kNeighbours, true>;
  RotaryRows rows(x, table, y);
  const bool packed = rows.half % kMany == 0 && rows.are_multiples_of(kNeighbours ? 2 * kMany : kMany) &&
                      is_pack_aligned(x.raw_data()) && is_pack_aligned(table.raw_data()) &&
                      is_pack_aligned(y.raw_data());
  rows.set_pairs(packed ? kMany : 1);
  enqueue(Context::of(y), {dim3(blocks_for(rows.total(), kRotaryBlock)), dim3(kRotaryBlock)},
          packed ? turn_pairs<T, kNeighbours, true> : turn_pairs<T, kNeighbours, false>, rows, inverse ? C(-1) : C(1),
          x.data<T>(), table.data<C>(), y.data<T>());
}

void rotary_embedding(Params<kernels::RotaryForm> form, In x, In table, Out y) {
  if (y->size() == 0) return;
  const Array in = x->strides()[x->ndim() - 1] == 1 ? *x : x->contiguous();
  visit_floating(y->dtype(), [&]<class T>() {
    form->interleaved ? turn_rows<T, true>(form->inverse, in, table, y)
                      : turn_rows<T, false>(form->inverse, in, table, y);
  });
}

}  // namespace

void register_rotary_embedding(Backend& backend) { backend.add<kernels::RotaryEmbedding>(rotary_embedding); }

}  // namespace kusari::cuda
