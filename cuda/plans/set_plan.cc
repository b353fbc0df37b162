#include "kusari/cuda/plans/set_plan.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace kusari::cuda {
namespace {

constexpr int64_t kWantedBlocks = 1056;

struct Axis {
  int64_t size;
  int64_t stride[SetPlan::kOperands];
  bool in_set;
};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

SetPlan plan(const SetArrays& arrays, Axis* axes, int n, int pack, bool sort_sets) {
  const auto closer = [](const Axis& a, const Axis& b) {
    return std::abs(a.stride[SetPlan::kA]) > std::abs(b.stride[SetPlan::kA]);
  };
  sort_axes(axes, n, [](const Axis& a, const Axis& b) { return !a.in_set && b.in_set; });
  Axis* elements = axes;
  while (elements != axes + n && !elements->in_set) ++elements;
  if (sort_sets) sort_axes(axes, static_cast<int>(elements - axes), closer);
  sort_axes(elements, static_cast<int>(axes + n - elements), closer);
  SetPlan plan{};
  for (const Axis* axis = axes; axis != elements; ++axis) {
    plan.sets.merge_back(axis->size, {axis->stride[0], axis->stride[1], axis->stride[2]});
  }
  for (const Axis* axis = elements; axis != axes + n; ++axis) plan.elements.merge_back(axis->size, axis->stride);
  plan.count = plan.sets.total;
  plan.size = plan.elements.total;
  const int last = plan.elements.count - 1;
  plan.packed = last >= 0 && plan.elements.size[last] % pack == 0;
  const Array* const operands[] = {&arrays.out, &arrays.a, &arrays.b};
  for (int k = 0; k < SetPlan::kArrays && plan.packed; ++k) {
    if (!operands[k]->is_defined()) continue;
    plan.packed = reinterpret_cast<uintptr_t>(operands[k]->raw_data()) % 16 == 0 && plan.elements.stride[last][k] == 1;
    for (int i = 0; i < last; ++i) plan.packed = plan.packed && plan.elements.stride[i][k] % pack == 0;
    for (int i = 0; i < plan.sets.count; ++i) plan.packed = plan.packed && plan.sets.stride[i][k] % pack == 0;
  }
  plan.channel_step = last >= 0 ? static_cast<int>(plan.elements.stride[last][SetPlan::kChannel]) : 0;
  const int last_set = plan.sets.count - 1;
  plan.by_columns =
      sort_sets && last_set >= 0 && last >= 0 &&
      std::abs(plan.sets.stride[last_set][SetPlan::kA]) < std::abs(plan.elements.stride[last][SetPlan::kA]);
  plan.splits = 1;
  plan.per_split = plan.size;
  if (plan.by_columns) {
    plan.width = plan.size <= 64 || plan.count >= 1 << 17 ? 1 : kSetBlock / 32;
    return plan;
  }
  if (plan.size > 1024 || (plan.size >= 512 && plan.count < kWantedBlocks)) {
    plan.width = kSetBlock;
    const int64_t at_least = int64_t{kSetBlock} * pack * 8;
    const int64_t wanted = std::min(plan.size / at_least, ceil_div(kWantedBlocks, std::max<int64_t>(plan.count, 1)));
    // A set that is read again from the cache needs one kernel, not two.
    if (wanted >= 4) {
      const int64_t multiple = int64_t{kSetBlock} * pack;
      plan.per_split = ceil_div(ceil_div(plan.size, wanted), multiple) * multiple;
      plan.splits = static_cast<int>(ceil_div(plan.size, plan.per_split));
    }
    return plan;
  }
  plan.width = 1;
  while (plan.width < 32 && plan.width * (plan.packed ? pack : 2) < plan.size) plan.width *= 2;
  return plan;
}

int64_t stride_of(const Array& x, int axis) { return x.is_defined() ? x.strides()[axis] : 0; }

}  // namespace

SetPlan plan_sets(const SetArrays& arrays, AxisMask mask, int pack) {
  Axis axes[kMaxNdim];
  int n = 0;
  for (int i = 0; i < arrays.a.ndim(); ++i) {
    if (arrays.a.shape()[i] == 1) continue;
    axes[n++] = {arrays.a.shape()[i],
                 {stride_of(arrays.out, i), stride_of(arrays.a, i), stride_of(arrays.b, i), 0},
                 mask.contains(i)};
  }
  return plan(arrays, axes, n, pack, true);
}

SetPlan plan_groups(const SetArrays& arrays, int64_t groups, int pack) {
  const Array& x = arrays.a;
  const int64_t size = x.shape()[1] / groups;
  Axis axes[kMaxNdim + 1];
  int n = 0;
  for (int i = 0; i < x.ndim(); ++i) {
    const int64_t strides[] = {stride_of(arrays.out, i), stride_of(x, i), stride_of(arrays.b, i)};
    if (i == 1) {
      if (groups > 1) axes[n++] = {groups, {strides[0] * size, strides[1] * size, strides[2] * size, 0}, false};
      if (size > 1) axes[n++] = {size, {strides[0], strides[1], strides[2], 1}, true};
    } else if (x.shape()[i] != 1) {
      axes[n++] = {x.shape()[i], {strides[0], strides[1], strides[2], 0}, i > 1};
    }
  }
  return plan(arrays, axes, n, pack, false);
}

}  // namespace kusari::cuda
