#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/fused_pointwise.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// A step that computes each element from the elements at the same place: a pointwise kernel, Copy or Fill.
struct PointwiseStep {
  enum class Kind : uint8_t { functor, copy, fill };
  Kind kind;
  const PointwiseFunctor* functor = nullptr;
  const std::byte* bytes = nullptr;  ///< the functor or the Scalar, in the step
  std::vector<View> reads;
  View write;
  int64_t elements = 0;  ///< of `write`, at least one
  /// Whether the elements are one range of memory, in the same order in every array that is not a single number.
  bool is_flat = false;
};

/// Nothing where the step is not such, or its arrays lie in memory in orders so different that it is better left alone.
KUSARI_API std::optional<PointwiseStep> pointwise_step(const Step& step);

/// Whether walking through `reference`, elements next to each other first, goes through the view in its own order.
KUSARI_API bool has_order_of(const View& view, const View& reference);
/// Whether two views are the same elements in the same order; axes of size 1 do not count.
KUSARI_API bool is_same_view(const View& a, const View& b);
/// Whether two views certainly have no byte in common: also where one lies in the gaps of the other.
KUSARI_API bool is_disjoint(const View& a, const View& b);
/// The view as one axis of n elements, or a single one.
KUSARI_API View flattened(const View& view, int64_t n);

/// Whether the step launches the pointwise kernel of this functor.
template <class Op>
bool computes(const Step& step) {
  return !step.is_code() && step.id.index == kernel_id<kernels::Pointwise<Op>>().index;
}

}  // namespace kusari::graphs
