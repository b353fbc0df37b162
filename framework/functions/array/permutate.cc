#include "kusari/framework/functions/array/permutate.h"

#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/get_item.h"

namespace kusari::functions {
namespace {

/// The places of 0, 1, ..., n - 1 in `order`.
std::vector<int64_t> inverse(const std::vector<int64_t>& order) {
  const auto n = static_cast<int64_t>(order.size());
  std::vector<int64_t> places(order.size(), -1);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t index = order[static_cast<size_t>(i)];
    const bool is_inside = index >= 0 && index < n;
    if (!is_inside || places[static_cast<size_t>(index)] >= 0) {
      throw ValueError("F::permutate: indices holds " + std::to_string(index) + (is_inside ? " twice" : "") +
                       " but must be a permutation of 0 to " + std::to_string(n - 1));
    }
    places[static_cast<size_t>(index)] = i;
  }
  return places;
}

}  // namespace

Variable permutate(const Variable& x, const Array& indices, int64_t axis, bool inv) {
  const int along = normalize_axis(axis, x.ndim(), "F::permutate");
  if (!indices.is_defined() || !is_integral(indices.dtype()) || indices.shape() != Shape{x.shape()[along]}) {
    throw TypeError("F::permutate: indices " +
                    (indices.is_defined() ? std::string("has dtype ") + name(indices.dtype()) + " and shape " +
                                                to_string(indices.shape())
                                          : std::string("is not given")) +
                    " but must hold " + std::to_string(x.shape()[along]) + " integers, one for each element of axis " +
                    std::to_string(axis));
  }
  const std::vector<int64_t> places = inverse(indices.to_vector<int64_t>());
  SmallVector<Index, 4> slices(static_cast<size_t>(along), Index(Slice{}));
  slices.push_back(inv ? array(places, x.device()) : indices);
  return get_item(x, std::span<const Index>(slices.data(), slices.size()));
}

}  // namespace kusari::functions
