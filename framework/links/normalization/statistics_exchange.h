#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::links {

/// The statistics of the channels of a batch, all of one shape.
struct BatchMoments {
  Variable mean;
  Variable var;      ///< biased: divided by `count`
  double count = 0;  ///< elements of each channel
};

/// What gives a batch normalization, while it trains, the statistics of more than its own batch: those of the batches
/// of several processes together.
class KUSARI_API StatisticsExchange {
 public:
  virtual ~StatisticsExchange();
  /// Of x, averaged over `axis` (never empty, no axis negative), in a dtype that is float32 or float64. Differentiable:
  /// what the graph sends to mean and var comes to x. Called by all processes for the same normalization.
  virtual BatchMoments moments(const Variable& x, const Dims& axis, Dtype dtype) const = 0;

 protected:
  StatisticsExchange() = default;
  StatisticsExchange(const StatisticsExchange&) = default;
  StatisticsExchange& operator=(const StatisticsExchange&) = default;
};

}  // namespace kusari::links
