#include "kusari/framework/functions/loss/walker_alias.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/random.h"
#include "kusari/framework/kernels/rows.h"

namespace kusari::utils {
namespace {

void check(std::span<const double> probs) {
  double largest = 0;
  for (size_t i = 0; i < probs.size(); ++i) {
    if (!(probs[i] >= 0) || std::isinf(probs[i])) {
      throw ValueError("WalkerAlias: probs[" + std::to_string(i) + "] is " + general_text(probs[i]) +
                       ": it must be a number that is not negative");
    }
    largest = std::max(largest, probs[i]);
  }
  if (largest == 0) throw ValueError("WalkerAlias: probs sum to 0: at least one must be positive");
  if (probs.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max() / 2)) {
    throw ValueError("WalkerAlias: " + std::to_string(probs.size()) + " probs are too many for int32");
  }
}

// With the mean 1. Divided by the largest first, numbers near the ends of double's range neither overflow nor vanish.
std::vector<double> with_mean_1(std::span<const double> probs) {
  const double largest = *std::max_element(probs.begin(), probs.end());
  std::vector<double> result;
  double total = 0;
  for (const double p : probs) total += result.emplace_back(p / largest);
  for (double& p : result) p *= static_cast<double>(probs.size()) / total;
  return result;
}

Array take(const Array& table, const Array& index) {
  const Array result = empty({index.size(), 1}, table.dtype(), table.device());
  launch<kernels::TakeRows>(table.device(), kernels::RowLookup{"WalkerAlias"}, table, index, result);
  return result.reshape({index.size()});
}

}  // namespace

WalkerAlias::WalkerAlias(std::span<const double> probs, const Device& device) {
  check(probs);
  const size_t n = probs.size();
  const std::vector<double> shares = with_mean_1(probs);
  std::vector<int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return probs[static_cast<size_t>(a)] < probs[static_cast<size_t>(b)]; });
  // The smallest come first; each larger one fills up entries that are not full before it gets one for what is left.
  std::vector<float> threshold(n);
  std::vector<int32_t> values(2 * n);
  size_t full = 0;
  for (size_t entry = 0; entry < n; ++entry) {
    double p = shares[static_cast<size_t>(order[entry])];
    for (; p > 1 && full < entry; ++full) {
      values[2 * full + 1] = order[entry];
      p -= 1 - static_cast<double>(threshold[full]);
    }
    threshold[entry] = static_cast<float>(p);
    values[2 * entry] = order[entry];
  }
  for (; full < n; ++full) values[2 * full + 1] = values[2 * full];  // full but for rounding
  const int64_t rows = static_cast<int64_t>(n);
  threshold_ = array(threshold, {rows, 1}, device);
  values_ = array(values, {2 * rows, 1}, device);
}

Array WalkerAlias::sample(const Shape& shape) const {
  const int64_t n = threshold_.size(), count = checked_numel(shape, sizeof(double), "WalkerAlias::sample");
  const Array place = empty({count}, Dtype::float64, device());
  launch<kernels::Uniform>(device(), kernels::UniformRange{0, static_cast<double>(n)},
                           random::reserve(static_cast<uint64_t>(count)), place);
  const Array entry = place.astype(Dtype::int32);
  const Array part = pointwise(kernels::Sub{}, place, entry);
  const Array is_second = pointwise(kernels::GreaterEqual{}, part, take(threshold_, entry));
  const Array value = pointwise(kernels::Add{}, pointwise(kernels::Add{}, entry, entry), is_second);
  return take(values_, value).reshape(shape);
}

void WalkerAlias::to(const Device& device) {
  threshold_ = threshold_.to_device(device);
  values_ = values_.to_device(device);
}

}  // namespace kusari::utils
