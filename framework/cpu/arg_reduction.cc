#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::cpu {
namespace {

const ArgLoop& arg_loop(bool largest, Compute compute) {
  static const ArgLoops& loops = *KUSARI_LOOPS(isa(), arg_loops);
  switch (compute) {
    case Compute::float32:
      return largest ? loops.max_f32 : loops.min_f32;
    case Compute::float64:
      return largest ? loops.max_f64 : loops.min_f64;
    case Compute::int64:
      break;
  }
  return largest ? loops.max_i64 : loops.min_i64;
}

/// Along the last axis of a C-ordered x of the compute type: n elements a row.
void arg_rows(const ArgLoop& loop, const Array& x, int64_t n, int64_t* places) {
  const int64_t size = itemsize(x.dtype());
  parallel_for(x.size() / n, std::max<int64_t>(1, kThreadChunk / n), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) places[row] = loop.row(x.data<char>() + row * n * size, n);
  });
}

/// Along the middle axis of a C-ordered x (outer, n, inner).
void arg_columns(const ArgLoop& loop, const Array& x, int64_t n, int64_t inner, int64_t* places) {
  const int64_t size = itemsize(x.dtype()), outer = x.size() / (n * inner);
  const int64_t blocks = (inner + kBlock - 1) / kBlock;
  const int64_t chunk = std::max<int64_t>(1, kThreadChunk / (n * std::min(inner, kBlock)));
  parallel_for(outer * blocks, chunk, [&](int64_t begin, int64_t end) {
    alignas(64) char best[kBlockBytes];
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t index = unit / blocks, first = unit % blocks * kBlock, m = std::min(kBlock, inner - first);
      const char* const from = x.data<char>() + (index * n * inner + first) * size;
      int64_t* const to = places + index * inner + first;
      std::copy_n(from, m * size, best);
      std::fill_n(to, m, 0);
      for (int64_t row = 1; row < n; ++row) loop.columns(from + row * inner * size, m, row, best, to);
    }
  });
}

void arg_reduce(bool largest, int axis, const Array& x, const Array& y) {
  if (y.size() == 0) return;
  const Compute compute = compute_of(x.dtype());
  const Array values = x.astype(dtype_of_compute(compute)).contiguous();
  const ArgLoop& loop = arg_loop(largest, compute);
  const int64_t n = axis < 0 ? x.size() : x.shape()[axis];
  int64_t inner = 1;
  for (int i = axis < 0 ? x.ndim() : axis + 1; i < x.ndim(); ++i) inner *= x.shape()[i];
  const bool direct = y.dtype() == Dtype::int64 && y.is_contiguous();
  const Array places = direct ? y : empty(y.shape(), Dtype::int64);
  if (inner == 1) {
    arg_rows(loop, values, n, places.data<int64_t>());
  } else {
    arg_columns(loop, values, n, inner, places.data<int64_t>());
  }
  if (!direct) y.copy_from(places);
}

template <class T>
void top_k(const Array& x, const Array& indices) {
  const int64_t n = x.shape()[1], k = indices.shape()[1];
  parallel_for(x.shape()[0], std::max<int64_t>(1, kThreadChunk / n), [&](int64_t begin, int64_t end) {
    std::vector<int32_t> places(static_cast<size_t>(n));
    for (int64_t row = begin; row < end; ++row) {
      const T* const values = x.data<T>() + row * n;
      const auto is_before = [values](int32_t a, int32_t b) {
        const T p = values[a], q = values[b];
        const bool is_nan = p != p, other_is_nan = q != q;
        if (is_nan || other_is_nan) return is_nan != other_is_nan ? is_nan : a < b;
        return p != q ? p > q : a < b;
      };
      std::iota(places.begin(), places.end(), 0);
      std::partial_sort(places.begin(), places.begin() + k, places.end(), is_before);
      std::copy_n(places.begin(), k, indices.data<int32_t>() + row * k);
    }
  });
}

}  // namespace

void register_arg_reduction(Backend& backend) {
  backend.add<kernels::TopK>([](In x, Out indices) {
    const Compute compute = compute_of(x->dtype());
    const Array values = x->astype(dtype_of_compute(compute)).contiguous();
    if (compute == Compute::float32) return top_k<float>(values, *indices);
    if (compute == Compute::float64) return top_k<double>(values, *indices);
    top_k<int64_t>(values, *indices);
  });
  backend.add<kernels::Argmax>([](Params<int> axis, In x, Out y) { arg_reduce(true, *axis, *x, *y); });
  backend.add<kernels::Argmin>([](Params<int> axis, In x, Out y) { arg_reduce(false, *axis, *x, *y); });
}

}  // namespace kusari::cpu
