#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/reporter.h"

namespace kusari {

class Serializer;

/// Mean and standard deviation of numbers that come one by one, in float64. chainer.reporter.Summary.
class KUSARI_API Summary {
 public:
  void add(double value, double weight = 1) noexcept;
  /// NaN when nothing was added.
  double compute_mean() const noexcept;
  /// Of the whole population, weights counting as repetitions.
  double compute_std() const noexcept;
  void serialize(Serializer& serializer);

 private:
  double x_ = 0;   // sum of weight * value
  double x2_ = 0;  // sum of weight * value^2
  double n_ = 0;   // sum of the weights
};

/// A Summary per name, in the order in which the names appeared. chainer.reporter.DictSummary.
class KUSARI_API DictSummary {
 public:
  using Values = std::vector<std::pair<std::string, double>>;

  /// Adds the scalars of an observation with their weights; passes over other arrays.
  void add(const Observation& observation);
  void add(const std::string& name, double value, double weight = 1);
  bool contains(const std::string& name) const noexcept;
  void clear() noexcept { summaries_.clear(); }
  Values compute_mean() const;
  /// For each name the mean, and under "name.std" the standard deviation.
  Values make_statistics() const;
  void serialize(Serializer& serializer);

 private:
  std::vector<std::pair<std::string, Summary>> summaries_;
};

}  // namespace kusari
