#include "kusari/framework/training/extensions/parameter_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kusari/framework/core/serializer.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/framework/training/extensions/sample_statistics.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {

NamedStatistics default_statistics() {
  return {{"mean", mean},
          {"std", standard_deviation},
          {"min", minimum},
          {"max", maximum},
          {"zeros", [](std::span<const double> x) { return std::count(x.begin(), x.end(), 0.0); }},
          {"percentile", [](std::span<const double> x) {
             return percentiles(x, std::vector<double>{0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87});
           }}};
}

ParameterStatistics::ParameterStatistics(Link& link, ParameterStatisticsOptions options)
    : links_{{"", link.home()}}, options_{std::move(options)} {}

ParameterStatistics::ParameterStatistics(const NamedLinks& links, ParameterStatisticsOptions options)
    : options_{std::move(options)} {
  for (const auto& [name, named] : links) links_.emplace_back(name.empty() ? "" : name + "/", named.link->home());
}

void ParameterStatistics::register_statistics(const std::string& name, Statistic function) {
  for (auto& [known, statistic] : options_.statistics) {
    if (known == name) {
      statistic = std::move(function);
      return;
    }
  }
  options_.statistics.emplace_back(name, std::move(function));
}

void ParameterStatistics::collect(const std::string& name, std::span<const double> values) {
  if (values.empty()) return;
  const bool skip =
      options_.skip_nan_params && std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
  for (const auto& [statistic, function] : options_.statistics) {
    const std::string key = name + "/" + statistic;
    const std::vector<double> numbers =
        skip ? std::vector<double>{std::numeric_limits<double>::quiet_NaN()} : function(values);
    if (numbers.size() == 1) {
      summary_.add(key, numbers[0]);
    } else {
      for (size_t i = 0; i < numbers.size(); ++i) summary_.add(key + "/" + std::to_string(i), numbers[i]);
    }
  }
}

void ParameterStatistics::operator()(Trainer& trainer) {
  const std::string prefix = options_.prefix.empty() ? "" : options_.prefix + "/";
  for (const auto& [name, home] : links_) {
    for (const auto& [path, parameter] : home->get().namedparams(false)) {
      const std::string key = prefix + name + path.substr(1);
      if (options_.report_params) collect(key + "/data", parameter->array().to_vector<double>());
      if (options_.report_grads) collect(key + "/grad", gradient_values(*parameter));
    }
  }
  if (!options_.trigger(trainer)) return;
  for (const auto& [key, value] : summary_.compute_mean()) trainer.observation().set(key, value);
  summary_.clear();
}

void ParameterStatistics::serialize(Serializer& serializer) {
  // Chainer saves nothing of it.
  if (!serializer.contains("_summary/_names")) return;
  options_.trigger.serialize(*serializer.child("_trigger"));
  summary_.serialize(*serializer.child("_summary"));
}

}  // namespace kusari::training::extensions
