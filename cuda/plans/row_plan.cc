#include "kusari/cuda/plans/row_plan.h"

#include <cstdint>
#include <cstdlib>

namespace kusari::cuda {

RowPlan plan_rows(const RowOperands& operands, int axis, int pack) {
  const Array* const arrays[] = {&operands.out, &operands.a, &operands.b, &operands.value, &operands.label};
  const Shape& shape = operands.a.shape();
  struct Axis {
    int64_t size, stride[RowPlan::kOperands];
  } axes[kMaxNdim];
  RowPlan plan{};
  plan.n = shape[axis];
  plan.contiguous = true;
  plan.packed = plan.n % pack == 0;
  for (int k = 0; k <= RowPlan::kB; ++k) {
    if (!arrays[k]->is_defined()) continue;
    plan.stride[k] = arrays[k]->strides()[axis];
    plan.contiguous = plan.contiguous && (plan.n == 1 || plan.stride[k] == 1);
    plan.packed = plan.packed && reinterpret_cast<uintptr_t>(arrays[k]->raw_data()) % 16 == 0;
  }
  int count = 0;
  for (int i = 0; i < shape.ndim(); ++i) {
    if (i == axis || shape[i] == 1) continue;
    Axis& added = axes[count++];
    added.size = shape[i];
    for (int k = 0; k < RowPlan::kOperands; ++k) {
      const Array& x = *arrays[k];
      const bool is_row = k <= RowPlan::kB;
      const int own = is_row || i < axis ? i : i - 1;
      // A single value stands for all rows.
      added.stride[k] = !x.is_defined() || (!is_row && x.size() == 1) ? 0 : x.strides()[own];
      if (is_row) plan.packed = plan.packed && added.stride[k] % pack == 0;
    }
  }
  plan.packed = plan.packed && plan.contiguous;
  sort_axes(axes, count, [](const Axis& a, const Axis& b) {
    return std::abs(a.stride[RowPlan::kA]) > std::abs(b.stride[RowPlan::kA]);
  });
  for (int i = 0; i < count; ++i) plan.rows.merge_back(axes[i].size, axes[i].stride);
  plan.count = plan.rows.total;
  // A long row has a whole large block, so that few rows keep a card's memory busy too.
  plan.threads = plan.contiguous && plan.n >= kLongRow ? kLongRowBlock : kRowBlock;
  if (!plan.contiguous) {
    // A thread for each row as long as rows are short or plenty.
    plan.columns = plan.n <= 64 || plan.count >= 1 << 17 ? kRowBlock : 32;
  }
  return plan;
}

}  // namespace kusari::cuda
