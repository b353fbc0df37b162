#include "kusari/framework/kernels/scan.h"

#include <algorithm>
#include <cmath>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/scan.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

/// Elements of a long line that are run through at once; eight pieces are computed side by side.
constexpr int64_t kPiece = 4096;
constexpr int64_t kPiecesAtOnce = 8;

const ScanLoop& loop_for(Dtype dtype) {
  static const ScanLoops& loops = *KUSARI_LOOPS(isa(), scan_loops);
  return dtype == Dtype::float64 ? loops.f64 : dtype == Dtype::int64 ? loops.i64 : loops.f32;
}

/// A C-ordered array as (outer, n, inner).
struct Extents {
  int64_t outer = 1, n, inner = 1;
  bool reverse;

  Extents(const Shape& shape, const kernels::ScanAxis& along) : n{shape[along.axis]}, reverse{along.reverse} {
    for (int i = 0; i < shape.ndim(); ++i) {
      if (i < along.axis) outer *= shape[i];
      if (i > along.axis) inner *= shape[i];
    }
  }
  int64_t step() const { return reverse ? -inner : inner; }
  /// Elements from a line's first place in memory to the one where the scan begins.
  int64_t start() const { return reverse ? (n - 1) * inner : 0; }
};

/// Runs body(place, lines, first) for groups of neighbouring lines: `place` is where the scan of the group's first line
/// begins, and `first` is the number of that line.
template <class Body>
void for_lines(const Extents& e, const Body& body) {
  if (e.inner == 1) {
    const int64_t chunk = std::max<int64_t>(kPiecesAtOnce, kThreadChunk / e.n);
    parallel_for(e.outer, chunk, [&](int64_t begin, int64_t end) {
      body(begin * e.n + e.start(), ScanLines{e.n, e.step(), end - begin, e.n}, begin);
    });
    return;
  }
  const int64_t blocks = (e.inner + kBlock - 1) / kBlock;
  const int64_t chunk = std::max<int64_t>(1, kThreadChunk / (e.n * std::min(e.inner, kBlock)));
  parallel_for(e.outer * blocks, chunk, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t row = unit / blocks, first = unit % blocks * kBlock;
      body(row * e.n * e.inner + e.start() + first, ScanLines{e.n, e.step(), std::min(kBlock, e.inner - first), 1},
           row * e.inner + first);
    }
  });
}

using Accumulate = void (*ScanLoop::*)(const void*, void*, const ScanLines&);

/// The sums of one line of n contiguous elements: pieces by themselves, then what lies before each is added to it.
void sum_pieces(const ScanLoop& loop, const char* x, char* y, int64_t n, bool reverse, int64_t size) {
  const int64_t pieces = (n + kPiece - 1) / kPiece, step = reverse ? -1 : 1, start = reverse ? n - 1 : 0;
  const auto length = [&](int64_t piece) { return std::min(kPiece, n - piece * kPiece); };
  const auto place = [&](int64_t piece) { return (start + step * piece * kPiece) * size; };
  parallel_for(pieces, kPiecesAtOnce, [&](int64_t begin, int64_t end) {
    const int64_t whole = length(end - 1) == kPiece ? end : end - 1;
    loop.sum(x + place(begin), y + place(begin), {kPiece, step, whole - begin, step * kPiece});
    if (whole < end) loop.sum(x + place(whole), y + place(whole), {length(whole), step, 1, 0});
  });
  const auto last = [&](int64_t piece) { return y + place(piece) + step * (length(piece) - 1) * size; };
  for (int64_t piece = 1; piece < pieces; ++piece) loop.add_to(last(piece - 1), last(piece), 1);
  parallel_for(pieces - 1, kPiecesAtOnce, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin + 1; piece <= end; ++piece) {  // all but the last element, which is right already
      char* const lowest = reverse ? last(piece) + size : y + place(piece);
      loop.add_to(last(piece - 1), lowest, length(piece) - 1);
    }
  });
}

/// Whether a floating element is finite; integers are.
bool is_finite(const char* element, Dtype dtype) {
  if (dtype == Dtype::float64) return std::isfinite(*reinterpret_cast<const double*>(element));
  return dtype == Dtype::int64 || std::isfinite(*reinterpret_cast<const float*>(element));
}

/// y itself where it can be written as it is, else a stand-in that is copied to it.
template <class Body>
void with_result(const Array& y, Dtype dtype, const Body& body) {
  const bool direct = y.dtype() == dtype && y.is_contiguous();
  const Array to = direct ? y : empty(y.shape(), dtype);
  body(to.data<char>());
  if (!direct) y.copy_from(to);
}

void accumulate(Accumulate accumulate, const kernels::ScanAxis& along, const Array& x, const Array& y) {
  if (y.size() == 0) return;
  const Dtype dtype = dtype_of_compute(compute_of(x.dtype()));
  const Array values = x.astype(dtype).contiguous();
  const ScanLoop& loop = loop_for(dtype);
  const Extents e(x.shape(), along);
  const int64_t size = itemsize(dtype);
  with_result(y, dtype, [&](char* to) {
    const char* const from = values.data<char>();
    // Not products: a later piece may overflow by itself where the product from the start is small or zero.
    if (accumulate == &ScanLoop::sum && e.inner == 1 && e.outer < kPiecesAtOnce && e.n >= 2 * kPiece) {
      for (int64_t row = 0; row < e.outer; ++row) {
        const int64_t offset = row * e.n * size;
        sum_pieces(loop, from + offset, to + offset, e.n, e.reverse, size);
        // A piece may have overflowed by itself where the sum from the start does not: what is no number stays so to
        // the end.
        const int64_t start = offset + e.start() * size, last = start + (e.n - 1) * e.step() * size;
        if (!is_finite(to + last, dtype)) loop.sum(from + start, to + start, {e.n, e.step(), 1, 0});
      }
      return;
    }
    for_lines(e, [&](int64_t place, const ScanLines& lines, int64_t) {
      (loop.*accumulate)(from + place * size, to + place * size, lines);
    });
  });
}

void cumulative_sum(Params<kernels::ScanAxis> along, In x, Out y) { accumulate(&ScanLoop::sum, *along, *x, *y); }

void cumulative_product(Params<kernels::ScanAxis> along, In x, Out y) {
  accumulate(&ScanLoop::product, *along, *x, *y);
}

void linear_recurrence(Params<kernels::ScanAxis> along, In a, In b, Out y) {
  if (y->size() == 0) return;
  const Dtype dtype = dtype_of_compute(compute_of(b->dtype()));
  const Array factors = a->astype(dtype).contiguous(), terms = b->astype(dtype).contiguous();
  const ScanLoop& loop = loop_for(dtype);
  const Extents e(b->shape(), *along);
  const int64_t size = itemsize(dtype);
  with_result(*y, dtype, [&](char* to) {
    for_lines(e, [&](int64_t place, const ScanLines& lines, int64_t line) {
      const int64_t row = line / e.inner, steps = e.n - 1;
      const int64_t first = (row * steps + (e.reverse ? steps - 1 : 0)) * e.inner + line % e.inner;
      const char* const factor = steps == 0 ? nullptr : factors.data<char>() + first * size;
      loop.recurrence(factor, e.inner == 1 ? steps : 1, terms.data<char>() + place * size, to + place * size, lines);
    });
  });
}

}  // namespace

void register_scan(Backend& backend) {
  backend.add<kernels::CumulativeSum>(&cumulative_sum);
  backend.add<kernels::CumulativeProduct>(&cumulative_product);
  backend.add<kernels::LinearRecurrence>(&linear_recurrence);
}

}  // namespace kusari::cpu
