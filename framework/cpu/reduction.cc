#include <algorithm>
#include <cstdlib>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::cpu {
namespace {

/// Rows that one set of column accumulators takes before their totals are combined in a tree.
constexpr int64_t kRowGroup = 256;
/// Columns that one thread works on at a time.
constexpr int64_t kStripe = 4096;

struct Axis {
  int64_t size;
  int64_t stride;  // bytes
  int logical;     // position in x's shape
  bool reduced;
};

/// Some axes as a counter over byte offsets.
struct AxisList {
  int count = 0;
  Axis axis[kMaxNdim];

  void push_back(const Axis& a) { axis[count++] = a; }
  int64_t total() const {
    int64_t n = 1;
    for (int i = 0; i < count; ++i) n *= axis[i].size;
    return n;
  }
  int64_t offset_of(int64_t index) const {
    int64_t offset = 0;
    for (int i = count - 1; i >= 0; --i) {
      offset += index % axis[i].size * axis[i].stride;
      index /= axis[i].size;
    }
    return offset;
  }
};

/// x's axes from the outermost in memory to the innermost, split into what is kept, what is reduced, and the innermost
/// axis. Neighbours of one kind that are one range are merged.
struct ReductionPlan {
  AxisList kept;     // without the inner axis
  AxisList reduced;  // without the inner axis
  Axis inner{1, 0, 0, true};
  bool keeps_order = true;  // the kept axes lie in memory in their logical order
  Shape kept_shape;         // in memory order, all kept axes
  Dims kept_logical;        // their positions among the kept axes
  int64_t count = 1;        // elements behind one result

  ReductionPlan(const Array& x, AxisMask mask) {
    Axis axes[kMaxNdim];
    int n = 0;
    for (int i = 0; i < x.ndim(); ++i) {
      if (mask.contains(i)) count *= x.shape()[i];
      if (x.shape()[i] == 1) continue;
      const Axis axis{x.shape()[i], x.strides()[i] * itemsize(x.dtype()), i, mask.contains(i)};
      int at = n++;
      for (; at > 0 && std::abs(axes[at - 1].stride) < std::abs(axis.stride); --at) axes[at] = axes[at - 1];
      axes[at] = axis;
    }
    int last = -1;
    for (int i = 0; i < n; ++i) {
      if (axes[i].reduced) continue;
      keeps_order = keeps_order && axes[i].logical > last;
      last = axes[i].logical;
      kept_shape.push_back(axes[i].size);
      kept_logical.push_back(axes[i].logical);
    }
    int merged = 0;
    for (int i = 1; i < n; ++i) {
      Axis& into = axes[merged];
      if (into.reduced == axes[i].reduced && into.stride == axes[i].stride * axes[i].size) {
        into.size *= axes[i].size;
        into.stride = axes[i].stride;
      } else {
        axes[++merged] = axes[i];
      }
    }
    if (n == 0) {
      inner.stride = itemsize(x.dtype());
      return;
    }
    inner = axes[merged];
    for (int i = 0; i < merged; ++i) (axes[i].reduced ? reduced : kept).push_back(axes[i]);
  }
};

/// One reduction of one array into `acc`, one element of the compute type for every kept element in memory order.
class Reducer {
 public:
  Reducer(const ReductionLoop& loop, const void* op, const Array& x, const ReductionPlan& plan, Compute compute)
      : loop_{loop},
        op_{op},
        x_{x.data<char>()},
        plan_{plan},
        itemsize_{itemsize(x.dtype())},
        size_{itemsize(dtype_of_compute(compute))},
        reader_{x.dtype(), plan.inner.stride, compute} {}

  void run(char* acc) const {
    if (plan_.inner.reduced) {
      run_rows(acc);
    } else {
      run_columns(acc);
    }
  }

 private:
  /// The tree over partial results [groups][n], left in the first.
  void combine_groups(char* parts, int64_t groups, int64_t n) const {
    for (int64_t step = 1; step < groups; step *= 2) {
      for (int64_t g = 0; g + step < groups; g += 2 * step) {
        loop_.combine(op_, parts + g * n * size_, parts + (g + step) * n * size_, n);
      }
    }
  }

  /// Runs body(parts, groups) with room for [groups][n] partial results whose first row ends up in acc.
  template <class Body>
  void with_parts(char* acc, int64_t groups, int64_t n, const Body& body) const {
    if (groups == 1) {
      body(acc);
      return;
    }
    const Array parts = empty({groups * n * size_}, Dtype::uint8);
    body(parts.data<char>());
    combine_groups(parts.data<char>(), groups, n);
    std::copy_n(parts.data<char>(), n * size_, acc);
  }

  /// *acc = the reduction of n elements along the inner axis.
  void reduce_run(const char* from, int64_t n, char* acc) const {
    if (reader_.is_direct()) {
      loop_.rows(op_, from, 1, 0, n, acc);
      return;
    }
    alignas(64) char buffer[kBlockBytes];
    alignas(8) char part[8];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t m = std::min(kBlock, n - begin);
      loop_.rows(op_, reader_.read(from + begin * plan_.inner.stride, m, buffer), 1, 0, m, begin == 0 ? acc : part);
      if (begin > 0) loop_.combine(op_, acc, part, 1);
    }
  }

  /// Every result is the reduction of one run of elements; there may be many short ones.
  void run_single_rows(char* acc) const {
    const AxisList& kept = plan_.kept;
    const Axis last = kept.count > 0 ? kept.axis[kept.count - 1] : Axis{1, 0, 0, false};
    const int64_t n = plan_.inner.size;
    parallel_for(kept.total(), std::max<int64_t>(1, kThreadChunk / n), [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t m = std::min(end - begin, last.size - begin % last.size);
        loop_.rows(op_, x_ + kept.offset_of(begin), m, last.stride / size_, n, acc + begin * size_);
        begin += m;
      }
    });
  }

  /// The inner axis is reduced. Each result is the tree over groups of about kThreadChunk elements.
  void run_rows(char* acc) const {
    const int64_t outputs = plan_.kept.total(), rows = plan_.reduced.total(), inner = plan_.inner.size;
    const int64_t pieces = (inner + kThreadChunk - 1) / kThreadChunk;  // of a row
    const int64_t per_group = std::max<int64_t>(1, kThreadChunk / inner);
    const int64_t runs = rows * pieces, groups = (runs + per_group - 1) / per_group;
    if (runs == 1 && reader_.is_direct()) {
      run_single_rows(acc);
      return;
    }
    with_parts(acc, groups, outputs, [&](char* parts) {
      const int64_t work = std::min(runs, per_group) * std::min(inner, kThreadChunk);  // elements in one unit
      parallel_for(outputs * groups, std::max<int64_t>(1, kThreadChunk / work), [&](int64_t begin, int64_t end) {
        for (int64_t unit = begin; unit < end; ++unit) {
          const int64_t output = unit / groups, group = unit % groups;
          const char* const from = x_ + plan_.kept.offset_of(output);
          char* const to = parts + (group * outputs + output) * size_;
          const int64_t last = std::min(runs, (group + 1) * per_group);
          for (int64_t run = group * per_group; run < last; ++run) {
            const int64_t first = run % pieces * kThreadChunk;
            alignas(8) char part[8];
            const bool is_first = run == group * per_group;
            reduce_run(from + plan_.reduced.offset_of(run / pieces) + first * plan_.inner.stride,
                       std::min(inner - first, kThreadChunk), is_first ? to : part);
            if (!is_first) loop_.combine(op_, to, part, 1);
          }
        }
      });
    });
  }

  /// acc[0..n) takes rows `first` .. `last` of the columns that start at `from`.
  void accumulate_columns(const char* from, int64_t first, int64_t last, int64_t n, char* acc) const {
    const AxisList& reduced = plan_.reduced;
    if (!reader_.is_direct()) {
      alignas(64) char buffer[kBlockBytes];
      const Axis rows = reduced.count > 0 ? reduced.axis[reduced.count - 1] : Axis{1, 0, 0, true};
      const bool is_dense = plan_.inner.stride == itemsize_ && rows.stride == n * itemsize_;
      const int64_t at_once = is_dense ? std::max<int64_t>(1, kBlock / n) : 1;
      for (int64_t row = first; row < last;) {
        const int64_t count = std::min({at_once, last - row, rows.size - row % rows.size});
        const char* const at = from + reduced.offset_of(row);
        for (int64_t begin = 0; begin < n; begin += kBlock) {
          const int64_t m = std::min(kBlock, n - begin);
          const void* const block = reader_.read(at + begin * plan_.inner.stride, count * m, buffer);
          loop_.columns(op_, block, count, m, m, acc + begin * size_);
        }
        row += count;
      }
      return;
    }
    if (reduced.count == 0) {
      loop_.columns(op_, from, 1, 0, n, acc);
      return;
    }
    const Axis& rows = reduced.axis[reduced.count - 1];
    for (int64_t row = first; row < last;) {
      const int64_t m = std::min(last - row, rows.size - row % rows.size);
      loop_.columns(op_, from + reduced.offset_of(row), m, rows.stride / size_, n, acc);
      row += m;
    }
  }

  /// The inner axis is kept: rows are added to accumulators side by side, kRowGroup of them at a time.
  void run_columns(char* acc) const {
    const int64_t outer = plan_.kept.total(), rows = plan_.reduced.total(), n = plan_.inner.size;
    const int64_t groups = (rows + kRowGroup - 1) / kRowGroup, stripes = (n + kStripe - 1) / kStripe;
    with_parts(acc, groups, outer * n, [&](char* parts) {
      const int64_t work = std::min(rows, kRowGroup) * std::min(n, kStripe);
      const int64_t chunk = std::max<int64_t>(1, kThreadChunk / work);
      parallel_for(outer * groups * stripes, chunk, [&](int64_t begin, int64_t end) {
        for (int64_t unit = begin; unit < end; ++unit) {
          const int64_t stripe = unit % stripes, group = unit / stripes % groups, index = unit / stripes / groups;
          const int64_t first = stripe * kStripe, m = std::min(kStripe, n - first);
          char* const to = parts + ((group * outer + index) * n + first) * size_;
          loop_.clear(op_, to, m);
          accumulate_columns(x_ + plan_.kept.offset_of(index) + first * plan_.inner.stride, group * kRowGroup,
                             std::min(rows, (group + 1) * kRowGroup), m, to);
        }
      });
    });
  }

  const ReductionLoop& loop_;
  const void* op_;
  const char* x_;
  const ReductionPlan& plan_;
  int64_t itemsize_;  // of x's elements
  int64_t size_;      // of the compute type's
  BlockReader reader_;
};

/// y = results, whose kept axes lie in memory order and still have to be put in the order of x's.
void store_in_order(const Array& results, const ReductionPlan& plan, const Array& y) {
  Dims order = Dims::filled(results.ndim(), 0);  // order[i]: which axis of results is the i-th kept one
  for (int i = 0; i < results.ndim(); ++i) {
    int rank = 0;
    for (const int64_t other : plan.kept_logical) rank += other < plan.kept_logical[i] ? 1 : 0;
    order[rank] = i;
  }
  y.copy_from(results.transpose({order.begin(), order.end()}).reshape(y.shape()));
}

void reduce(const ReductionLoops& loops, const char* call, const void* op, AxisMask axes, const Array& x,
            const Array& y) {
  if (y.size() == 0) return;
  const Compute compute = compute_of(x.dtype());
  const ReductionLoop& loop = loop_of(loops, compute);
  if (loop.rows == nullptr) {
    throw TypeError(std::string(call) + ": x has dtype " + name(x.dtype()) + " but must be floating");
  }
  const ReductionPlan plan(x, axes);
  const bool direct = plan.keeps_order && y.is_contiguous() && y.dtype() == dtype_of_compute(compute);
  const Array results = direct ? y : empty(plan.kept_shape, dtype_of_compute(compute));
  if (x.size() == 0) {
    loop.clear(op, results.raw_data(), results.size());
  } else {
    Reducer(loop, op, x, plan, compute).run(results.data<char>());
  }
  loop.finish(op, results.raw_data(), results.size(), plan.count);
  if (!direct) store_in_order(results, plan, y);
}

/// The loops of one reducer, set when it is registered.
template <class R>
ReductionLoops loops_of_reducer{};

template <class R>
void reduction_kernel(Params<R> op, Params<AxisMask> axes, In x, Out y) {
  reduce(loops_of_reducer<R>, R::kName, &*op, *axes, *x, *y);
}

template <class R>
void add_reduction(Backend& backend, const ReductionLoops& loops) {
  loops_of_reducer<R> = loops;
  backend.add<kernels::Reduction<R>>(&reduction_kernel<R>);
}

}  // namespace

void register_reduction(Backend& backend) {
  const ReductionLoops* loops = KUSARI_LOOPS(isa(), reduction_loops);
#define KUSARI_ADD(R) add_reduction<kernels::R>(backend, *loops++);
  KUSARI_REDUCTIONS(KUSARI_ADD)
#undef KUSARI_ADD
}

}  // namespace kusari::cpu
