#include "kusari/framework/functions/array/permutate.h"

#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/index_plan.h"

namespace kusari::functions {
namespace {

void check_permutation(const std::vector<int64_t>& order) {
  const auto n = static_cast<int64_t>(order.size());
  std::vector<bool> seen(order.size(), false);
  for (const int64_t index : order) {
    const bool is_inside = index >= 0 && index < n;
    if (!is_inside || seen[static_cast<size_t>(index)]) {
      throw ValueError("F::permutate: indices holds " + std::to_string(index) + (is_inside ? " twice" : "") +
                       " but must be a permutation of 0 to " + std::to_string(n - 1));
    }
    seen[static_cast<size_t>(index)] = true;
  }
}

}  // namespace

Variable permutate(const Variable& x, const Array& indices, int64_t axis, bool inv) {
  if (!x.is_defined()) throw TypeError("F::permutate: x is not given: it is required");
  const int along = normalize_axis(axis, x.ndim(), "F::permutate");
  if (!indices.is_defined() || !is_integral(indices.dtype()) || indices.shape() != Shape{x.shape()[along]}) {
    throw TypeError("F::permutate: indices " +
                    (indices.is_defined() ? std::string("has dtype ") + name(indices.dtype()) + " and shape " +
                                                to_string(indices.shape())
                                          : std::string("is not given")) +
                    " but must hold " + std::to_string(x.shape()[along]) + " integers, one for each element of axis " +
                    std::to_string(axis));
  }
  // A static graph reads the indices when it is replayed, and those of a device would have to be waited for.
  if (GraphCapture::current() == nullptr && indices.device().is_cpu()) {
    check_permutation(indices.to_vector<int64_t>());
  }
  SmallVector<Index, 4> slices(static_cast<size_t>(along), Index(Slice{}));
  slices.push_back(indices);
  const IndexPlan plan("F::permutate", x.shape(), std::span<const Index>(slices.data(), slices.size()));
  return inv ? plan.put(x) : plan.take(x);
}

}  // namespace kusari::functions
