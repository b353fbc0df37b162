#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/iterators/iterator.h"

namespace kusari::distributed {

/// The batches of one rank's iterator, on all ranks: each next() sends one, with its counters of epochs. What
/// create_multi_node_iterator makes.
class KUSARI_API MultiNodeIterator final : public iterators::Iterator {
 public:
  /// `iterator`: of the master; what others give is ignored.
  MultiNodeIterator(std::optional<iterators::IteratorRef> iterator, const Communicator& communicator,
                    int rank_master = 0);

  const iterators::Batch* try_next() override;
  void prefer_device(const Device& device) override;
  datasets::Keys keys() const override { return keys_; }
  int64_t epoch() const override { return state_.epoch; }
  double epoch_detail() const override { return state_.epoch_detail; }
  std::optional<double> previous_epoch_detail() const override {
    return state_.previous_epoch_detail < 0 ? std::nullopt : std::optional<double>(state_.previous_epoch_detail);
  }
  bool is_new_epoch() const override { return state_.is_new_epoch; }
  bool repeat() const override { return repeat_; }
  void reset() override;
  void finalize() override;
  /// The master's iterator, and the counters on all ranks: any rank may read what another has written, so a snapshot
  /// by the master, which the others read, is enough. No rank waits for another.
  void serialize(Serializer& serializer) override;

 private:
  struct State {
    int64_t epoch = 0;
    double epoch_detail = 0;
    double previous_epoch_detail = -1;  // -1: there was no batch yet
    bool is_new_epoch = false;
  };
  State state_of_master() const;

  std::optional<iterators::IteratorRef> iterator_;  // on the master alone
  Communicator comm_;
  int master_;
  datasets::Keys keys_;
  bool repeat_ = true;
  State state_;
  iterators::Batch batch_;
};

/// Lets all ranks have the batches of the master's iterator: for models that are spread over ranks. Arrays of any dtype
/// and shape travel as they are. `actual_iterator`: of the master; what others give is ignored: `std::nullopt`.
/// All ranks call it, and next(), at the same time. An exception of the master's data set leaves next() there, and the
/// others get a RemoteError when the master fails with it. Throws ValueError for a master that is no rank, TypeError on
/// the master without an iterator. chainermn.iterators.create_multi_node_iterator.
inline MultiNodeIterator create_multi_node_iterator(std::optional<iterators::IteratorRef> actual_iterator,
                                                    const Communicator& communicator, int rank_master = 0) {
  return MultiNodeIterator(std::move(actual_iterator), communicator, rank_master);
}

}  // namespace kusari::distributed
