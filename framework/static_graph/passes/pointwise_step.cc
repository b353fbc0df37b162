#include "kusari/framework/static_graph/passes/pointwise_step.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/static_graph/passes/dependencies.h"

namespace kusari::graphs {
namespace {

using Kind = LaunchArgument::Kind;

struct Axis {
  int64_t size;
  int64_t stride;      // in elements
  int64_t own_stride;  // of the other view, 0 where that is broadcast
};

/// The axes of `reference` longer than 1, outermost first, with the strides that `view` has when broadcast to it.
std::vector<Axis> axes_of(const View& reference, const View& view) {
  std::vector<Axis> axes;
  const int missing = reference.shape.ndim() - view.shape.ndim();
  for (int axis = 0; axis < reference.shape.ndim(); ++axis) {
    if (reference.shape[axis] == 1) continue;
    const int own = axis - missing;
    const bool repeated = own < 0 || view.shape[own] == 1;
    axes.push_back({reference.shape[axis], reference.strides[axis], repeated ? 0 : view.strides[own]});
  }
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return std::abs(a.stride) > std::abs(b.stride); });
  return axes;
}

/// Some order of the axes without gaps, all strides positive.
bool is_dense(const View& view) {
  int64_t expected = 1;
  const std::vector<Axis> axes = axes_of(view, view);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (axis->stride != expected) return false;
    expected *= axis->size;
  }
  return true;
}

/// The bytes that the axes with strides below `limit` bytes reach, from the view's first element on.
struct Reach {
  int64_t low, high;
};
Reach reach_within(const View& view, int64_t limit) {
  const int64_t size = itemsize(view.dtype);
  Reach reach{view.offset, view.offset + size};
  for (int axis = 0; axis < view.shape.ndim(); ++axis) {
    const int64_t stride = view.strides[axis] * size;
    if (std::abs(stride) >= limit) continue;
    (stride < 0 ? reach.low : reach.high) += stride * (view.shape[axis] - 1);
  }
  return reach;
}

}  // namespace

bool has_order_of(const View& view, const View& reference) {
  int64_t outer = INT64_MAX;
  for (const Axis& axis : axes_of(reference, view)) {
    if (axis.own_stride == 0) continue;
    if (std::abs(axis.own_stride) > outer) return false;
    outer = std::abs(axis.own_stride);
  }
  return true;
}

bool is_same_view(const View& a, const View& b) {
  if (a.slot != b.slot || a.offset != b.offset || a.dtype != b.dtype) return false;
  int i = 0, j = 0;
  while (true) {
    while (i < a.shape.ndim() && a.shape[i] == 1) ++i;
    while (j < b.shape.ndim() && b.shape[j] == 1) ++j;
    if (i == a.shape.ndim() || j == b.shape.ndim()) return i == a.shape.ndim() && j == b.shape.ndim();
    if (a.shape[i] != b.shape[j] || a.strides[i] != b.strides[j]) return false;
    ++i, ++j;
  }
}

bool is_disjoint(const View& a, const View& b) {
  if (!may_overlap(a, b)) return true;
  // Both repeat with a period: the greatest common divisor of the longer strides. What the shorter strides reach is
  // compared within it.
  for (const View* view : {&a, &b}) {
    for (int axis = 0; axis < view->shape.ndim(); ++axis) {
      const int64_t limit = std::abs(view->strides[axis]) * itemsize(view->dtype);
      if (limit == 0 || view->shape[axis] == 1) continue;
      int64_t period = 0;
      for (const View* other : {&a, &b}) {
        for (int k = 0; k < other->shape.ndim(); ++k) {
          const int64_t stride = std::abs(other->strides[k]) * itemsize(other->dtype);
          if (stride >= limit && other->shape[k] > 1) period = std::gcd(period, stride);
        }
      }
      const Reach x = reach_within(a, limit), y = reach_within(b, limit);
      const int64_t gap = ((y.low - x.low) % period + period) % period;  // from x's begin to y's, forwards
      if (gap >= x.high - x.low && gap + (y.high - y.low) <= period) return true;
    }
  }
  return false;
}

View flattened(const View& view, int64_t n) {
  View flat = view;
  const int64_t elements = numel(view.shape) == 1 ? 1 : n;
  flat.shape = {elements};
  flat.strides = {1};
  return flat;
}

std::optional<PointwiseStep> pointwise_step(const Step& step) {
  if (step.is_code() || step.operands.empty()) return std::nullopt;
  PointwiseStep found;
  size_t first = 1;  // operand that is an array
  if (step.id.index == kernel_id<kernels::Copy>().index) {
    found.kind = PointwiseStep::Kind::copy;
    first = 0;
  } else if (step.id.index == kernel_id<kernels::Fill>().index) {
    found.kind = PointwiseStep::Kind::fill;
  } else {
    found.kind = PointwiseStep::Kind::functor;
    found.functor = find_pointwise_functor(step.id);
    if (found.functor == nullptr) return std::nullopt;
  }
  if (first == 1) found.bytes = step.operands[0].bytes.data();
  for (size_t k = first; k < step.operands.size(); ++k) {
    const Operand& operand = step.operands[k];
    if (operand.views.size() != 1 || !operand.views[0].is_defined()) return std::nullopt;
    if (operand.kind == Kind::out) {
      found.write = operand.views[0];
    } else {
      found.reads.push_back(operand.views[0]);
    }
  }
  found.elements = numel(found.write.shape);
  if (found.elements == 0) return std::nullopt;

  found.is_flat = is_dense(found.write);
  for (const View& view : found.reads) {
    if (!has_order_of(view, found.write)) return std::nullopt;
    if (numel(view.shape) == 1 && found.elements > 1) continue;
    found.is_flat = found.is_flat && numel(view.shape) == found.elements;
    for (const Axis& axis : axes_of(found.write, view)) {
      found.is_flat = found.is_flat && axis.stride == axis.own_stride;
    }
  }
  return found;
}

}  // namespace kusari::graphs
