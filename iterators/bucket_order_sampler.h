#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/iterators/order_samplers.h"

namespace kusari::iterators {

struct BucketOrderSamplerOptions {
  int64_t pool = 100;                           ///< batches among which examples of equal lengths are looked for
  std::optional<uint64_t> seed = std::nullopt;  ///< of a stream of its own; the process's when not given
};

/// Batches of examples of about equal lengths, in a random order: `pool` batches of a random permutation are sorted by
/// length and cut, then all batches are shuffled. For any iterator:
/// `SerialIterator(dataset, 64, {.order_sampler = BucketOrderSampler(lengths, 64)})`. A batch that goes over the end of
/// a sweep has examples of both.
class KUSARI_API BucketOrderSampler final : public OrderSampler {
 public:
  using Options = BucketOrderSamplerOptions;
  /// lengths: one for each example. Throws ValueError for a batch_size or a pool below 1.
  BucketOrderSampler(std::vector<int64_t> lengths, int64_t batch_size, const Options& options = {});

  /// Throws ValueError when there are not as many examples as lengths, and for a position outside the sweep.
  std::vector<int64_t> operator()(std::span<const int64_t> current_order, int64_t position) override;
  void serialize(Serializer& serializer) override;

 private:
  std::vector<int64_t> lengths_;
  int64_t batch_size_, pool_;
  std::optional<uint64_t> seed_;
  int64_t draws_ = 0;
};

}  // namespace kusari::iterators
