#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/iterators/order_samplers.h"

namespace kusari::iterators {

struct WeightedOrderSamplerOptions {
  std::optional<int64_t> num_samples = std::nullopt;  ///< indices of a sweep; as many as weights when not given
  bool replacement = true;                            ///< a sweep may name an example several times
  std::optional<uint64_t> seed = std::nullopt;        ///< of a stream of its own; the process's when not given
};

/// Examples drawn in proportion to weights, such as rare classes as often as frequent ones:
/// `SerialIterator(dataset, 64, {.order_sampler = WeightedOrderSampler(balanced_weights(labels))})`. With replacement
/// each index of a sweep is drawn by itself; without, among those that the sweep does not name yet. A weight of 0: the
/// example is never drawn. Source: Efraimidis and Spirakis 2006, for draws without replacement.
/// torch.utils.data.WeightedRandomSampler.
class KUSARI_API WeightedOrderSampler final : public OrderSampler {
 public:
  using Options = WeightedOrderSamplerOptions;
  /// weights: one for each example, in any unit. Throws ValueError for a weight that is negative, infinite or NaN, when
  /// none is positive, for num_samples below 1, and without replacement above the number of positive weights.
  explicit WeightedOrderSampler(std::vector<double> weights, const Options& options = {});

  /// Throws OutOfMemoryError for a num_samples that does not fit into memory.
  std::vector<int64_t> operator()(std::span<const int64_t> current_order, int64_t position) override;
  /// num_samples. Throws ValueError when there are not as many examples as weights.
  int64_t sweep_size(int64_t examples) const override;
  void serialize(Serializer& serializer) override;

 private:
  std::vector<double> weights_;
  int64_t num_samples_;
  bool replacement_;
  std::optional<uint64_t> seed_;
  int64_t draws_ = 0;
};

/// Weights with which each class is drawn equally often: for each example 1 / (the number of examples with its label).
/// labels: (N), integers. Throws TypeError for another shape or dtype.
KUSARI_API std::vector<double> balanced_weights(const Array& labels);

}  // namespace kusari::iterators
