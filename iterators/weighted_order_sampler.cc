#include "kusari/iterators/weighted_order_sampler.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/iterators/seed_mixing.h"

namespace kusari::iterators {
namespace {

constexpr const char* kWeightedSampler = "WeightedOrderSampler";

// Index i where a uniform number lies between the sums of the weights before i and up to i.
std::vector<int64_t> drawn_with_replacement(const std::vector<double>& weights, int64_t count,
                                            datasets::ExampleRandom& random) {
  std::vector<int64_t> order = host_vector<int64_t>({count}, kWeightedSampler);
  std::vector<double> sums = host_vector<double>({static_cast<int64_t>(weights.size())}, kWeightedSampler);
  const double largest = *std::max_element(weights.begin(), weights.end());  // by which sums are finite
  double sum = 0;
  int64_t last = 0;  // of positive weight
  for (size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i] / largest;
    sums[i] = sum;
    if (weights[i] > 0) last = static_cast<int64_t>(i);
  }
  for (int64_t& index : order) {  // a number that is rounded up to the sum is the last one's
    index = std::min(last, std::upper_bound(sums.begin(), sums.end(), random.uniform(0, sum)) - sums.begin());
  }
  return order;
}

// Exponentially distributed waiting times at rates that are the weights end in the order of draws in proportion to
// them.
std::vector<int64_t> drawn_without_replacement(const std::vector<double>& weights, int64_t count,
                                               datasets::ExampleRandom& random) {
  using Time = std::pair<double, int64_t>;  // its logarithm, and whose it is
  std::vector<Time> times = host_vector<Time>({static_cast<int64_t>(weights.size())}, kWeightedSampler);
  times.clear();
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    times.emplace_back(std::log(-std::log1p(-random.uniform())) - std::log(weights[i]), static_cast<int64_t>(i));
  }
  std::partial_sort(times.begin(), times.begin() + count, times.end());
  std::vector<int64_t> order = host_vector<int64_t>({count}, kWeightedSampler);
  std::transform(times.begin(), times.begin() + count, order.begin(), [](const Time& time) { return time.second; });
  return order;
}

}  // namespace

WeightedOrderSampler::WeightedOrderSampler(std::vector<double> weights, const Options& options)
    : weights_{std::move(weights)},
      num_samples_{options.num_samples.value_or(static_cast<int64_t>(weights_.size()))},
      replacement_{options.replacement},
      seed_{options.seed} {
  int64_t positive = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (!(weights_[i] >= 0 && std::isfinite(weights_[i]))) {
      throw ValueError(std::string(kWeightedSampler) + ": weights[" + std::to_string(i) + "] is " +
                       general_text(weights_[i]) + ": it must be finite and not negative");
    }
    if (weights_[i] > 0) ++positive;
  }
  if (positive == 0) {
    throw ValueError(std::string(kWeightedSampler) + ": none of the " + std::to_string(weights_.size()) +
                     " weights is positive: at least one must be");
  }
  argument::positive(kWeightedSampler, "num_samples", num_samples_);
  if (!replacement_ && num_samples_ > positive) {
    throw ValueError(std::string(kWeightedSampler) + ": num_samples is " + std::to_string(num_samples_) +
                     ": without replacement it must be at most the number of positive weights, " +
                     std::to_string(positive));
  }
}

std::vector<int64_t> WeightedOrderSampler::operator()(std::span<const int64_t>, int64_t) {
  datasets::ExampleRandom stream(seed_ ? mixed(*seed_, draws_++) : random::bits());
  return replacement_ ? drawn_with_replacement(weights_, num_samples_, stream)
                      : drawn_without_replacement(weights_, num_samples_, stream);
}

int64_t WeightedOrderSampler::sweep_size(int64_t examples) const {
  const auto n = static_cast<int64_t>(weights_.size());
  if (examples != n) {
    throw ValueError(std::string(kWeightedSampler) + ": there are " + std::to_string(examples) + " examples and " +
                     std::to_string(n) + " weights: it must be one for each");
  }
  return num_samples_;
}

void WeightedOrderSampler::serialize(Serializer& serializer) {
  if (seed_ && serializer.contains("draws")) serialize_count(serializer, "draws", draws_);
}

std::vector<double> balanced_weights(const Array& labels) {
  if (!labels.is_defined()) throw TypeError("balanced_weights: labels is an undefined array");
  if (labels.ndim() != 1 || !is_integral(labels.dtype())) {
    throw TypeError("balanced_weights: labels has shape " + to_string(labels.shape()) + " and dtype " +
                    name(labels.dtype()) + ": it must be (N), integers");
  }
  const std::vector<int64_t> of = labels.to_vector<int64_t>();
  std::unordered_map<int64_t, int64_t> counts;
  for (const int64_t label : of) ++counts[label];
  std::vector<double> weights = host_vector<double>({labels.size()}, "balanced_weights");
  std::transform(of.begin(), of.end(), weights.begin(),
                 [&](int64_t label) { return 1.0 / static_cast<double>(counts[label]); });
  return weights;
}

}  // namespace kusari::iterators
