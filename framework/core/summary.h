#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/reporter.h"

namespace kusari {

class Serializer;

/// Mean and standard deviation of numbers that come one by one, in float64. What lies on a GPU is summed there: only
/// the results wait for it. chainer.reporter.Summary.
class KUSARI_API Summary {
 public:
  Summary() = default;
  Summary(const Summary& other);
  Summary(Summary&& other) noexcept = default;
  Summary& operator=(const Summary& other);
  Summary& operator=(Summary&& other) noexcept = default;

  void add(double value, double weight = 1) noexcept;
  /// A scalar with its weight.
  void add(const ObservedValue& value);
  /// NaN when nothing was added.
  double compute_mean() const;
  /// Of the whole population, weights counting as repetitions.
  double compute_std() const;
  /// Of the values times their weights.
  double compute_sum() const;
  /// The mean as a value to be reported, with the given share of the weight. It does not wait: the mean of what lies on
  /// a GPU is a float64 array there.
  ObservedValue mean_value(double share = 1) const;
  void serialize(Serializer& serializer);

 private:
  void gather() const;

  // Sums of weight * value and weight * value^2: these and those on a device, if any, which gather() adds to these.
  mutable double x_ = 0;
  mutable double x2_ = 0;
  mutable Array on_device_;
  double n_ = 0;  // sum of the weights
};

/// A Summary per name, in the order in which the names appeared. chainer.reporter.DictSummary.
class KUSARI_API DictSummary {
 public:
  using Values = std::vector<std::pair<std::string, double>>;

  /// Adds the scalars of an observation with their weights; passes over other arrays.
  void add(const Observation& observation);
  void add(const std::string& name, double value, double weight = 1) { summary(name).add(value, weight); }
  void add(const std::string& name, const ObservedValue& value) { summary(name).add(value); }
  bool contains(const std::string& name) const noexcept;
  void clear() noexcept { summaries_.clear(); }
  Values compute_mean() const;
  /// The means as values to be reported, as in Summary::mean_value.
  Observation mean_values(double share = 1) const;
  /// For each name the mean, and under "name.std" the standard deviation.
  Values make_statistics() const;
  void serialize(Serializer& serializer);

 private:
  Summary& summary(const std::string& name);

  std::vector<std::pair<std::string, Summary>> summaries_;
};

}  // namespace kusari
