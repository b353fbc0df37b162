#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/iterators/order_samplers.h"

namespace kusari {
class Serializer;
}

namespace kusari::iterators {

/// Options that the iterators over a data set share.
struct OrderOptions {
  bool repeat = true;                                           ///< go on with the next sweep
  std::optional<bool> shuffle = std::nullopt;                   ///< true when not given
  std::optional<OrderSamplerRef> order_sampler = std::nullopt;  ///< in place of shuffle
};

/// Where an iterator stands in its sweeps: which examples come next, and what its epoch counters say. Iterators that
/// work ahead keep one for what they fetch and one for what was consumed: copies share the order sampler.
/// Source: chainer/iterators/_statemachine.py.
class KUSARI_API EpochState {
 public:
  /// Throws ValueError, naming `iterator`, for a batch size below 1, or shuffle together with an order sampler.
  EpochState(const char* iterator, int64_t dataset_size, int64_t batch_size, const OrderOptions& options);

  /// Steps over the next batch and writes the examples' indices to `indices`: batch_size of them, fewer in the last
  /// batch without repeat. False, and no indices, when there is none.
  /// Throws ValueError for an empty data set that should repeat, and for an order sampler that changes the length.
  bool advance(int64_t dataset_size, std::vector<int64_t>& indices);
  void reset(int64_t dataset_size);

  int64_t batch_size() const noexcept { return batch_size_; }
  bool repeat() const noexcept { return repeat_; }
  /// Examples of the sweep under way that were handed out.
  int64_t current_position() const noexcept { return position_; }
  int64_t epoch() const noexcept { return epoch_; }
  bool is_new_epoch() const noexcept { return is_new_epoch_; }
  double epoch_detail() const noexcept;
  std::optional<double> previous_epoch_detail() const noexcept;

  /// Under Chainer's names. Reading throws ValueError when the stored order does not fit the data set.
  void serialize(Serializer& serializer);

 private:
  using Order = std::vector<int64_t>;

  Order draw(const Order& current, int64_t position) const;
  void read_order(Serializer& serializer);
  int64_t epoch_size() const noexcept;

  const char* iterator_;
  int64_t dataset_size_;
  int64_t batch_size_;
  bool repeat_;
  std::optional<OrderSamplerRef> sampler_;
  std::shared_ptr<const Order> order_;  // null: 0, 1, 2, ...
  int64_t position_ = 0;
  int64_t epoch_ = 0;
  bool is_new_epoch_ = false;
  double previous_epoch_detail_ = -1;  // -1: there was no batch yet
};

}  // namespace kusari::iterators
