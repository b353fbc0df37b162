#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shared.h"
#include "kusari/iterators/order_samplers.h"
#include "kusari/iterators/shard.h"

namespace kusari {
class Serializer;
}

namespace kusari::iterators {

/// Options that the iterators over a data set share.
struct OrderOptions {
  bool repeat = true;                                           ///< go on with the next sweep
  std::optional<bool> shuffle = std::nullopt;                   ///< true when not given
  std::optional<OrderSamplerRef> order_sampler = std::nullopt;  ///< in place of shuffle
  Shard shard = {};                                             ///< the part of each batch that this process takes
};

/// An example of a batch, and what determines its random numbers: ExampleRandomScope(seed, epoch, index).
struct ExampleKey {
  int64_t index;
  int64_t epoch;  // the sweep's number, which goes on after reset()
  uint64_t seed;
};

/// Where an iterator stands in its sweeps: which examples come next, and what its epoch counters say. An iterator that
/// works ahead copies it to plan the batches to come: the copies share the order sampler and the orders that it drew,
/// so that each sweep's order is drawn once, and all of those ahead of a copy go into a snapshot with it.
/// Source: chainer/iterators/_statemachine.py.
class KUSARI_API EpochState {
 public:
  /// Takes the iterator's seed from the process's random stream.
  /// Throws ValueError, naming `iterator`, for a batch size below 1, one above the data set's and 2^24 with repeat,
  /// shuffle together with an order sampler, or a shard that is none or would be empty.
  EpochState(const char* iterator, int64_t dataset_size, int64_t batch_size, const OrderOptions& options);

  /// Steps over the next batch and writes its examples to `keys`: batch_size of them, fewer in the last batch without
  /// repeat; of a shard, those of this process. False, and no keys, when there is none.
  /// Throws ValueError for an empty data set that should repeat, and for an order sampler that changes the length; the
  /// state is then what it was.
  bool advance(int64_t dataset_size, std::vector<ExampleKey>& keys);
  /// Back to epoch 0, in the next order.
  void reset(int64_t dataset_size);
  /// Counts a batch of which nothing was left as part of this one, the next: `left_out` is the state after it.
  void join(const EpochState& left_out) noexcept;
  /// Forgets the orders of sweeps before this one, for all copies.
  void discard_past() noexcept;

  /// Of all shards together.
  int64_t batch_size() const noexcept { return batch_size_; }
  const Shard& shard() const noexcept { return shard_; }
  bool repeat() const noexcept { return repeat_; }
  /// Examples of the sweep under way.
  int64_t epoch_size() const noexcept;
  /// Those of them that were handed out.
  int64_t current_position() const noexcept { return position_; }
  int64_t epoch() const noexcept { return epoch_; }
  bool is_new_epoch() const noexcept { return is_new_epoch_; }
  double epoch_detail() const noexcept;
  std::optional<double> previous_epoch_detail() const noexcept;

  /// Under Chainer's names, and those of what Chainer does not keep: "seed", "sweep" and "pending_orders".
  /// Reading throws ValueError when the stored order does not fit the data set, and then changes nothing but perhaps
  /// the order sampler.
  void serialize(Serializer& serializer);

 private:
  class Orders;
  using Order = std::vector<int64_t>;
  using OrderPtr = std::shared_ptr<const Order>;

  void read(Serializer& serializer);
  std::vector<OrderPtr> read_orders(Serializer& serializer, const char* name) const;
  OrderPtr first_order(int64_t sweep, int64_t dataset_size) const;
  OrderPtr next_order(int64_t sweep, const OrderPtr& current, int64_t position) const;
  OrderPtr shuffled(int64_t sweep, int64_t n) const;
  /// Asks the order sampler, which there is, for an order of `size`.
  OrderPtr draw(int64_t sweep, const Order& current, int64_t position, int64_t size) const;

  const char* iterator_;
  int64_t dataset_size_;
  int64_t batch_size_;
  bool repeat_;
  Shard shard_;
  uint64_t seed_;
  Shared<Orders> orders_;
  OrderPtr order_;     // of this sweep; null: 0, 1, 2, ...
  int64_t sweep_ = 0;  // counts the orders; unlike epoch_ it goes on after reset()
  int64_t position_ = 0;
  int64_t epoch_ = 0;
  bool is_new_epoch_ = false;
  double previous_epoch_detail_ = -1;  // -1: there was no batch yet
};

}  // namespace kusari::iterators
