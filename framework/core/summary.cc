#include "kusari/framework/core/summary.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/core/summary_kernels.h"

namespace kusari {

void Summary::add(double value, double weight) noexcept {
  x_ += weight * value;
  x2_ += weight * value * value;
  n_ += weight;
}

void Summary::add(const ObservedValue& value) {
  const Array& array = value.array();
  if (!array.is_defined() || array.ndim() != 0 || array.device().is_cpu()) return add(value.value(), value.weight());
  const Device& device = array.device();
  if (on_device_.is_defined() && on_device_.device() != device) gather();
  if (!on_device_.is_defined()) on_device_ = zeros({2}, Dtype::float64, device);
  launch<kernels::AccumulateMoments>(device, array, value.weight(), on_device_);
  n_ += value.weight();
}

Summary::Summary(const Summary& other) { *this = other; }

// Two summaries must not add to one array.
Summary& Summary::operator=(const Summary& other) {
  other.gather();
  x_ = other.x_;
  x2_ = other.x2_;
  n_ = other.n_;
  on_device_ = Array();
  return *this;
}

void Summary::gather() const {
  if (!on_device_.is_defined()) return;
  const std::vector<double> sums = on_device_.to_vector<double>();
  x_ += sums[0];
  x2_ += sums[1];
  on_device_ = Array();
}

double Summary::compute_mean() const {
  gather();
  return x_ / n_;
}

double Summary::compute_std() const {
  const double mean = compute_mean();
  return std::sqrt(x2_ / n_ - mean * mean);
}

double Summary::compute_sum() const {
  gather();
  return x_;
}

ObservedValue Summary::mean_value(double share) const {
  if (!on_device_.is_defined()) return ObservedValue(x_ / n_, share * n_);
  const Device& device = on_device_.device();
  const Array mean = zeros({2}, Dtype::float64, device);
  launch<kernels::AccumulateMoments>(device, on_device_.at(0), 1 / n_, mean);
  if (x_ != 0) launch<kernels::AccumulateMoments>(device, full({}, x_, Dtype::float64, device), 1 / n_, mean);
  return ObservedValue(mean.at(0), share * n_);
}

void Summary::serialize(Serializer& serializer) {
  gather();
  serializer("_x", x_);
  serializer("_x2", x2_);
  int64_t count = static_cast<int64_t>(n_);
  if (serializer.is_writer() && static_cast<double>(count) == n_) {
    serializer("_n", count);  // an integer where all weights are, as in Chainer's files
  } else {
    serialize_number(serializer, "_n", n_, EntryRange::not_negative);
  }
}

void DictSummary::add(const Observation& observation) {
  size_t expected = 0;  // names come in the same order as last time
  for (const auto& [name, value] : observation) {
    if (!value.is_scalar()) continue;
    const bool known = expected < summaries_.size() && summaries_[expected].first == name;
    (known ? summaries_[expected].second : summary(name)).add(value);
    ++expected;
  }
}

Summary& DictSummary::summary(const std::string& name) {
  auto found =
      std::find_if(summaries_.begin(), summaries_.end(), [&](const auto& entry) { return entry.first == name; });
  if (found == summaries_.end()) found = summaries_.insert(found, {name, Summary()});
  return found->second;
}

bool DictSummary::contains(const std::string& name) const noexcept {
  return std::any_of(summaries_.begin(), summaries_.end(), [&](const auto& entry) { return entry.first == name; });
}

DictSummary::Values DictSummary::compute_mean() const {
  Values means;
  for (const auto& [name, summary] : summaries_) means.emplace_back(name, summary.compute_mean());
  return means;
}

Observation DictSummary::mean_values(double share) const {
  Observation means;
  for (const auto& [name, summary] : summaries_) means.set(name, summary.mean_value(share));
  return means;
}

DictSummary::Values DictSummary::make_statistics() const {
  Values statistics;
  for (const auto& [name, summary] : summaries_) {
    statistics.emplace_back(name, summary.compute_mean());
    statistics.emplace_back(name + ".std", summary.compute_std());
  }
  return statistics;
}

void DictSummary::serialize(Serializer& serializer) {
  nlohmann::json names = nlohmann::json::array();
  for (const auto& entry : summaries_) names.push_back(entry.first);
  std::string text = names.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);  // names may be no UTF-8
  serializer("_names", text);
  if (!serializer.is_writer()) {
    names = nlohmann::json::parse(text, nullptr, false);
    const bool valid =
        names.is_array() && std::all_of(names.begin(), names.end(), [](const auto& name) { return name.is_string(); });
    if (!valid) throw ValueError(serializer.place("_names") + "is not a JSON list of strings: " + text);
    summaries_.clear();
    for (const auto& name : names) summaries_.emplace_back(name.get<std::string>(), Summary());
  }
  const auto children = serializer.child("_summaries");
  for (size_t i = 0; i < summaries_.size(); ++i) {
    summaries_[i].second.serialize(*children->child(std::to_string(i)));
  }
}

}  // namespace kusari
