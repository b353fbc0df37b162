#include "kusari/framework/distributed/iterators/multi_node_iterator.h"

#include <memory>
#include <string>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/distributed/byte_messages.h"

namespace kusari::distributed {
namespace {

constexpr const char* kCall = "MultiNodeIterator";

}  // namespace

MultiNodeIterator::MultiNodeIterator(std::optional<iterators::IteratorRef> iterator, const Communicator& communicator,
                                     int rank_master)
    : comm_{communicator}, master_{rank_master} {
  if (rank_master < 0 || rank_master >= comm_.size()) {
    throw ValueError("MultiNodeIterator: rank_master is " + std::to_string(rank_master) + ": it must be in [0, " +
                     std::to_string(comm_.size()) + "), the ranks of the communicator");
  }
  MessageWriter writer;
  if (comm_.rank() == master_) {
    if (!iterator) throw TypeError("MultiNodeIterator: iterator is not given: it is required on the master");
    iterator_ = std::move(iterator);
    const datasets::Keys keys = (*iterator_)->keys();
    writer.number((*iterator_)->repeat() ? 1 : 0);
    writer.number(static_cast<int64_t>(keys.size()));
    for (const std::string& key : keys) writer.text(key);
    state_ = state_of_master();
  }
  const std::string bytes = comm_.bcast_obj(writer.bytes(), master_);
  MessageReader reader(kCall, bytes);
  repeat_ = reader.number() != 0;
  for (int64_t left = reader.number(); left > 0; --left) keys_.push_back(reader.text());
}

MultiNodeIterator::State MultiNodeIterator::state_of_master() const {
  const iterators::Iterator& iterator = **iterator_;
  return {iterator.epoch(), iterator.epoch_detail(), iterator.previous_epoch_detail().value_or(-1),
          iterator.is_new_epoch()};
}

const iterators::Batch* MultiNodeIterator::try_next() {
  if (iterator_) {
    const iterators::Batch* batch = (*iterator_)->try_next();
    state_ = state_of_master();
    MessageWriter writer;
    writer.number(state_.epoch);
    writer.real(state_.epoch_detail);
    writer.real(state_.previous_epoch_detail);
    writer.number(state_.is_new_epoch ? 1 : 0);
    writer.number(batch == nullptr ? -1 : static_cast<int64_t>(batch->size()));
    if (batch != nullptr && comm_.size() > 1) {
      for (const datasets::Example& example : *batch) writer.example(example);
    }
    comm_.bcast_obj(writer.bytes(), master_);
    return batch;
  }
  const std::string bytes = comm_.bcast_obj({}, master_);
  MessageReader reader(kCall, bytes);
  state_.epoch = reader.number();
  state_.epoch_detail = reader.real();
  state_.previous_epoch_detail = reader.real();
  state_.is_new_epoch = reader.number() != 0;
  const int64_t size = reader.number();
  if (size < 0) return nullptr;
  batch_.clear();
  for (int64_t i = 0; i < size; ++i) batch_.push_back(reader.example());
  return &batch_;
}

void MultiNodeIterator::prefer_device(const Device& device) {
  if (iterator_) (*iterator_)->prefer_device(device);
}

void MultiNodeIterator::reset() {
  if (iterator_) (*iterator_)->reset();
  state_ = State();
}

void MultiNodeIterator::finalize() {
  if (iterator_) (*iterator_)->finalize();
}

void MultiNodeIterator::serialize(Serializer& serializer) {
  if (iterator_) (*iterator_)->serialize(serializer);
  const std::unique_ptr<Serializer> child = serializer.child("multi_node");
  Serializer& own = *child;
  serialize_count(own, "epoch", state_.epoch);
  serialize_number(own, "epoch_detail", state_.epoch_detail, EntryRange::not_negative);
  serialize_number(own, "previous_epoch_detail", state_.previous_epoch_detail, EntryRange::finite);
  own("is_new_epoch", state_.is_new_epoch);
}

}  // namespace kusari::distributed
