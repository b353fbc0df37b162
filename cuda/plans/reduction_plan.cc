#include "kusari/cuda/plans/reduction_plan.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace kusari::cuda {
namespace {

/// Blocks that fill a large card twice.
constexpr int64_t kWantedBlocks = 1056;

struct Axis {
  int64_t size, x_stride, y_stride;
  bool reduced;
};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The smallest power of two that is at least n, at most `most`.
int power_of_two(int64_t n, int most) {
  int power = 1;
  while (power < n && power < most) power *= 2;
  return power;
}

/// Whether runs along the innermost axis can be read in packs, wherever they begin.
bool rows_can_pack(const ReductionPlan& plan, const Array& x, int pack) {
  const AxisList<1>& reduced = plan.reduced;
  if (reduced.count == 0 || reduced.stride[reduced.count - 1][0] != 1) return false;
  if (reduced.count == 1) return true;  // kernels peel off what is not aligned
  bool aligned = reinterpret_cast<uintptr_t>(x.raw_data()) % 16 == 0 && reduced.size[reduced.count - 1] % pack == 0;
  for (int i = 0; i + 1 < reduced.count; ++i) aligned = aligned && reduced.stride[i][0] % pack == 0;
  for (int i = 0; i < plan.results.count; ++i) aligned = aligned && plan.results.stride[i][0] % pack == 0;
  return aligned;
}

bool columns_can_pack(const ReductionPlan& plan, const Array& x, int pack) {
  const AxisList<2>& results = plan.results;
  bool aligned = reinterpret_cast<uintptr_t>(x.raw_data()) % 16 == 0 && plan.columns() % pack == 0 &&
                 results.stride[results.count - 1][0] == 1;
  for (int i = 0; i < plan.reduced.count; ++i) aligned = aligned && plan.reduced.stride[i][0] % pack == 0;
  for (int i = 0; i + 1 < results.count; ++i) aligned = aligned && results.stride[i][0] % pack == 0;
  return aligned;
}

void split(ReductionPlan& plan, int64_t blocks, int64_t at_least, int64_t multiple) {
  const int64_t n = plan.reduced.total;
  const int64_t wanted = std::min(n / at_least, ceil_div(kWantedBlocks, std::max<int64_t>(blocks, 1)));
  plan.per_split = wanted < 2 ? n : ceil_div(ceil_div(n, wanted), multiple) * multiple;
  plan.splits = n == 0 ? 1 : static_cast<int>(ceil_div(n, plan.per_split));
}

void plan_columns(ReductionPlan& plan, const Array& x, int pack, bool can_pack) {
  plan.packed = can_pack && columns_can_pack(plan, x, pack);
  const int64_t items = plan.packed ? plan.columns() / pack : plan.columns();
  plan.width = power_of_two(items, 32);
  plan.tiles = ceil_div(items, plan.width);
  const int64_t height = kReductionBlock / plan.width;
  split(plan, plan.result_count / plan.columns() * plan.tiles, 16 * height, height);
}

void plan_rows(ReductionPlan& plan, const Array& x, int pack, bool can_pack) {
  const int64_t n = plan.reduced.total;
  plan.packed = can_pack && n >= 16 * pack && rows_can_pack(plan, x, pack);
  // Threads with less than a few packs each do nothing but combine.
  const bool by_block = n > 4096 || (n > 1024 && plan.result_count < 4 * kWantedBlocks);
  plan.width = by_block ? kReductionBlock : power_of_two(ceil_div(n, plan.packed ? pack : 4), 32);
  plan.per_split = n;
  plan.splits = 1;
  if (by_block) split(plan, plan.result_count, int64_t{kReductionBlock} * pack * 4, int64_t{kReductionBlock} * pack);
}

}  // namespace

ReductionPlan plan_reduction(const Array& x, AxisMask mask, const Array& y, int pack, bool can_pack,
                             ReducedOrder order) {
  Axis axes[kMaxNdim];
  int n = 0, y_axis = 0;
  for (int i = 0; i < x.ndim(); ++i) {
    if (x.shape()[i] == 1) continue;
    Axis axis{x.shape()[i], x.strides()[i], 0, mask.contains(i)};
    if (!axis.reduced) {
      while (y.shape()[y_axis] == 1) ++y_axis;
      axis.y_stride = y.strides()[y_axis++];
    }
    axes[n++] = axis;
  }
  ReductionPlan plan{};
  if (order == ReducedOrder::memory) {
    sort_axes(axes, n, [](const Axis& a, const Axis& b) { return std::abs(a.x_stride) > std::abs(b.x_stride); });
  }
  for (int i = 0; i < n; ++i) {
    if (axes[i].reduced) {
      plan.reduced.merge_back(axes[i].size, {axes[i].x_stride});
    } else {
      plan.results.merge_back(axes[i].size, {axes[i].x_stride, axes[i].y_stride});
    }
  }
  plan.result_count = plan.results.total;
  const int64_t rows = plan.reduced.total;
  const bool inner_is_kept = n > 0 && !axes[n - 1].reduced;
  // Few elements under many results: a thread for each, neighbours side by side.
  const bool one_thread =
      inner_is_kept && plan.result_count >= 1 << 14 && std::min<int64_t>(plan.columns(), 128) * rows < 4096;
  plan.by_columns = inner_is_kept && !one_thread && rows > 1;
  if (plan.by_columns) {
    plan_columns(plan, x, pack, can_pack);
  } else if (one_thread || rows <= 1) {
    plan.width = 1;
    plan.splits = 1;
    plan.per_split = rows;
  } else {
    plan_rows(plan, x, pack, can_pack);
  }
  return plan;
}

}  // namespace kusari::cuda
