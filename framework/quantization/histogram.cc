#include "kusari/framework/quantization/histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "kusari/framework/kernels/reduce.h"

namespace kusari::quantization {
namespace {

// Those of one sign, as many as TensorRT has.
constexpr size_t kHalf = 2048;

/// What is lost when the first `kept` of the counts of |x| are told by `levels` numbers, and those behind them by the
/// last one: the divergence of the observed distribution from the one that is left.
double divergence(std::span<const double> counts, size_t kept, size_t levels) {
  constexpr double kFloor = 1e-9;  // of a probability that is taken to be 0
  std::vector<double> left(kept, 0.0);
  double left_total = 0, total = 0;
  for (size_t level = 0; level < levels; ++level) {
    const size_t begin = level * kept / levels, end = (level + 1) * kept / levels;
    double sum = 0;
    size_t filled = 0;
    for (size_t i = begin; i < end; ++i) {
      sum += counts[i];
      filled += counts[i] > 0 ? 1 : 0;
    }
    for (size_t i = begin; i < end; ++i) {
      if (counts[i] > 0) left[i] = sum / static_cast<double>(filled);
    }
    left_total += sum;
  }
  for (const double count : counts) total += count;
  const double cut_off = total - left_total;
  double result = 0;
  for (size_t i = 0; i < kept; ++i) {
    const double p = (counts[i] + (i + 1 == kept ? cut_off : 0)) / total;
    if (p > 0) result += p * std::log(p / std::max(left_total > 0 ? left[i] / left_total : 0, kFloor));
  }
  return result;
}

}  // namespace

bool Histogram::add(const Array& x, const Method& method) {
  if (x.size() == 0) return true;
  const double low = reduce(kernels::Min{}, x).item<double>(), high = reduce(kernels::Max{}, x).item<double>();
  if (!std::isfinite(low) || !std::isfinite(high)) return false;
  extremes_ =
      is_empty_ ? ValueRange{low, high} : ValueRange{std::min(extremes_.low, low), std::max(extremes_.high, high)};
  is_empty_ = false;
  if (method.kind == Method::Kind::min_max) return true;
  widen(std::max(std::abs(low), std::abs(high)));
  const double per_bin = kHalf / limit_;
  for (const double value : x.to_vector<double>()) {
    const auto bin = static_cast<int64_t>(std::floor(value * per_bin)) + static_cast<int64_t>(kHalf);
    counts_[static_cast<size_t>(std::clamp<int64_t>(bin, 0, 2 * kHalf - 1))] += 1;
  }
  return true;
}

void Histogram::widen(double limit) {
  if (counts_.empty()) {
    counts_.resize(2 * kHalf);
    limit_ = std::max(limit, 1e-30);
  }
  for (; limit_ < limit; limit_ *= 2) {
    std::vector<double> wide(2 * kHalf);
    for (size_t i = 0; i < 2 * kHalf; ++i) wide[kHalf / 2 + i / 2] += counts_[i];
    counts_ = std::move(wide);
  }
}

ValueRange Histogram::range(const Method& method) const {
  if (is_empty_ || method.kind == Method::Kind::min_max) return extremes_;
  const ValueRange found = method.kind == Method::Kind::entropy ? entropy_range() : percentile_range(method.percent);
  return {std::max(found.low, extremes_.low), std::min(found.high, extremes_.high)};
}

ValueRange Histogram::percentile_range(double percent) const {
  double total = 0;
  for (const double count : counts_) total += count;
  const double tail = total * (100 - percent) / 200;
  const double width = limit_ / kHalf;
  size_t below = 0, above = 0;  // bins that are cut off as a whole
  for (double sum = counts_[0]; sum <= tail; sum += counts_[below]) ++below;
  for (double sum = counts_[2 * kHalf - 1]; sum <= tail; sum += counts_[2 * kHalf - 1 - above]) ++above;
  return {static_cast<double>(below) * width - limit_, limit_ - static_cast<double>(above) * width};
}

ValueRange Histogram::entropy_range() const {
  std::vector<double> folded(kHalf);
  for (size_t i = 0; i < kHalf; ++i) folded[i] = counts_[kHalf + i] + counts_[kHalf - 1 - i];
  folded[0] = folded[1];  // zeros, of which a ReLU makes many, are exact in any range
  // Both signs share the 8 bits.
  const size_t levels = extremes_.low < 0 ? 128 : 256;
  size_t best = kHalf;
  double least = std::numeric_limits<double>::infinity();
  for (size_t kept = levels; kept <= kHalf; ++kept) {
    const double found = divergence(folded, kept, levels);
    if (found < least) {
      least = found;
      best = kept;
    }
  }
  const double limit = limit_ * static_cast<double>(best) / kHalf;
  return {-limit, limit};
}

}  // namespace kusari::quantization
