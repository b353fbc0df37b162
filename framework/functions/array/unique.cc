#include "kusari/framework/functions/array/unique.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

/// Places of values, in all senses.
struct UniquePlaces {
  std::vector<int64_t> first, inverse, counts;
};

/// a < b, with NaN above all numbers and equal to itself.
template <class T>
bool comes_before(T a, T b) {
  return a < b || (b != b && a == a);
}

/// `values`: count parts of `size` elements each, one after the other.
template <class T>
UniquePlaces unique_places(const std::vector<T>& values, int64_t count, int64_t size, bool sorted) {
  const auto part = [&](int64_t i) { return std::span<const T>(values.data() + i * size, static_cast<size_t>(size)); };
  const auto is_less = [&](int64_t a, int64_t b) {
    const std::span<const T> x = part(a), y = part(b);
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(), comes_before<T>);
  };
  std::vector<int64_t> order = host_vector<int64_t>({count}, "F::unique");
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), is_less);

  UniquePlaces places;
  places.inverse = host_vector<int64_t>({count}, "F::unique");
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || is_less(order[i - 1], order[i])) {
      places.first.push_back(order[i]);  // of equal ones the first, as the order is stable
      places.counts.push_back(0);
    }
    ++places.counts.back();
    places.inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(places.first.size()) - 1;
  }
  if (sorted) return places;

  std::vector<int64_t> by_place(places.first.size()), rank(places.first.size());
  std::iota(by_place.begin(), by_place.end(), int64_t{0});
  const auto first_of = [&](int64_t value) { return places.first[static_cast<size_t>(value)]; };
  std::sort(by_place.begin(), by_place.end(), [&](int64_t a, int64_t b) { return first_of(a) < first_of(b); });
  UniquePlaces result;
  for (size_t i = 0; i < by_place.size(); ++i) {
    const auto value = static_cast<size_t>(by_place[i]);
    rank[value] = static_cast<int64_t>(i);
    result.first.push_back(places.first[value]);
    result.counts.push_back(places.counts[value]);
  }
  for (const int64_t value : places.inverse) result.inverse.push_back(rank[static_cast<size_t>(value)]);
  return result;
}

}  // namespace

UniqueResult unique(const Variable& x, const UniqueOptions& options) {
  expect_given(x, "F::unique", "x");
  const Variable along = options.axis ? x : flatten(x);
  const int axis = normalize_axis(options.axis.value_or(0), along.ndim(), "F::unique");
  const int64_t count = along.shape()[axis], size = count == 0 ? 0 : along.size() / count;
  std::vector<int64_t> axes{axis};
  for (int k = 0; k < along.ndim(); ++k) {
    if (k != axis) axes.push_back(k);
  }
  const Array parts = along.array().transpose(std::span<const int64_t>(axes));
  const UniquePlaces places = is_floating(x.dtype())
                                  ? unique_places(parts.to_vector<double>(), count, size, options.sorted)
                                  : unique_places(parts.to_vector<int64_t>(), count, size, options.sorted);

  const auto variable = [&](const std::vector<int64_t>& values) { return Variable(array(values, x.device()), false); };
  UniqueResult result;
  result.indices = variable(places.first);
  result.inverse = variable(places.inverse);
  result.counts = variable(places.counts);
  std::vector<Index> slices(static_cast<size_t>(axis), Index(Slice{}));
  slices.emplace_back(result.indices.array());
  result.values = get_item(along, std::span<const Index>(slices));
  return result;
}

}  // namespace kusari::functions
