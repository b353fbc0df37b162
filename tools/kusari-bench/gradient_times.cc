#include "kusari/tools/kusari-bench/gradient_times.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "kusari/framework/core/device.h"
#include "kusari/framework/links/parameter.h"

namespace bench {

GradientTimes::GradientTimes(const Settings& settings, kusari::Link& model) : settings_{settings}, model_{model} {}

double GradientTimes::moment() const {
  if (!settings_.device.is_cpu()) kusari::synchronize(settings_.device);
  return now();
}

void GradientTimes::begin_step() {
  if (entries_.empty()) {
    for (const auto& [path, parameter] : model_.namedparams(false)) {
      places_.emplace(parameter->node(), entries_.size());
      const kusari::Array& array = parameter->array();
      entries_.push_back({path, array.size(), static_cast<int64_t>(array.nbytes()), -1, {}});
    }
  }
  for (Entry& entry : entries_) entry.final_time = -1;
  begun_ = backward_begun_ = last_ = moment();
}

void GradientTimes::begin_backward() { backward_begun_ = last_ = moment(); }

void GradientTimes::backward_postprocess(const kusari::FunctionNode& function, const kusari::Variables&,
                                         const kusari::Variables& gx) {
  last_ = moment();
  for (size_t i = 0; i < gx.size(); ++i) {
    if (!gx[i].is_defined()) continue;
    const auto place = places_.find(function.input_node(i));
    if (place != places_.end()) entries_[place->second].final_time = last_;  // the last function that takes it decides
  }
}

void GradientTimes::end_step() {
  const double end = moment();
  forward_.push_back(backward_begun_ - begun_);
  backward_.push_back(last_ - backward_begun_);
  update_.push_back(end - last_);
  for (Entry& entry : entries_) {
    if (entry.final_time >= 0) entry.times.push_back(entry.final_time - backward_begun_);
  }
}

void GradientTimes::print(const char* name, int64_t batch) const {
  constexpr double kMs = 1e3;
  std::vector<std::pair<double, const Entry*>> in_order;
  for (const Entry& entry : entries_) {
    if (!entry.times.empty()) in_order.emplace_back(median(entry.times), &entry);
  }
  std::stable_sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::printf(
      "{\"gradient_times\":\"%s\",\"mode\":\"%s\",\"device\":\"%s\",\"threads\":%d,\"batch\":%lld,\"steps\":%zu,"
      "\"forward_ms\":%.4f,\"backward_ms\":%.4f,\"update_ms\":%.4f,\"parameters\":[",
      name, settings_.mode.c_str(), settings_.device.name().c_str(), settings_.threads, static_cast<long long>(batch),
      forward_.size(), median(forward_) * kMs, median(backward_) * kMs, median(update_) * kMs);
  const char* comma = "";
  for (const auto& [time, entry] : in_order) {
    std::printf("%s[\"%s\",%lld,%lld,%.4f]", comma, entry->path.c_str(), static_cast<long long>(entry->elements),
                static_cast<long long>(entry->bytes), time * kMs);
    comma = ",";
  }
  std::printf("]}\n");
}

}  // namespace bench
