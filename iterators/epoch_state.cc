#include "kusari/iterators/epoch_state.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <string>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/iterators/seed_mixing.h"

namespace kusari::iterators {
namespace {

// A batch of a data set that repeats may have more examples than the data set, which costs memory before the first is
// loaded: 24 bytes for each.
constexpr int64_t kMaxRepeatedBatch = int64_t{1} << 24;

}  // namespace

/// Where the orders of the sweeps come from. Those that the user's sampler drew are kept until every copy of the state
/// is past them, because it cannot be asked twice.
class EpochState::Orders {
 public:
  Orders(const OrderOptions& options)
      : sampler_{options.order_sampler}, shuffles_{!sampler_ && options.shuffle.value_or(true)} {}
  explicit Orders(const Orders& other, const std::vector<OrderPtr>& drawn, int64_t first)
      : sampler_{other.sampler_}, shuffles_{other.shuffles_}, drawn_(drawn.begin(), drawn.end()), first_{first} {}

  bool shuffles() const noexcept { return shuffles_; }
  OrderSampler* sampler() const noexcept { return sampler_ ? sampler_->get() : nullptr; }
  /// Null when it was not drawn yet, or was discarded.
  OrderPtr find(int64_t sweep) const {
    const int64_t i = sweep - first_;
    return i < 0 || i >= static_cast<int64_t>(drawn_.size()) ? nullptr : drawn_[static_cast<size_t>(i)];
  }
  void add(int64_t sweep, OrderPtr order) {
    if (sweep != first_ + static_cast<int64_t>(drawn_.size())) {
      drawn_.clear();
      first_ = sweep;
    }
    drawn_.push_back(std::move(order));
  }
  void discard_until(int64_t sweep) noexcept {
    while (!drawn_.empty() && first_ <= sweep) {
      drawn_.pop_front();
      ++first_;
    }
  }

 private:
  std::optional<OrderSamplerRef> sampler_;
  bool shuffles_;
  std::deque<OrderPtr> drawn_;
  int64_t first_ = 0;  // the sweep of drawn_.front()
};

EpochState::EpochState(const char* iterator, int64_t dataset_size, int64_t batch_size, const OrderOptions& options)
    : iterator_{iterator},
      dataset_size_{dataset_size},
      batch_size_{batch_size},
      repeat_{options.repeat},
      shard_{options.shard},
      seed_{random::bits()} {
  if (batch_size < 1) {
    throw ValueError(std::string(iterator) + ": batch_size is " + std::to_string(batch_size) + ": it must be positive");
  }
  if (options.repeat && batch_size > std::max(dataset_size, kMaxRepeatedBatch)) {
    throw ValueError(std::string(iterator) + ": batch_size is " + std::to_string(batch_size) +
                     ": where the data set repeats it must be at most " + std::to_string(kMaxRepeatedBatch) +
                     ", or the data set's " + std::to_string(dataset_size) + " examples");
  }
  if (options.shuffle && options.order_sampler) {
    throw ValueError(std::string(iterator) +
                     ": shuffle and order_sampler are both given: leave out shuffle to use an order sampler");
  }
  if (shard_.size < 1 || shard_.rank < 0 || shard_.rank >= shard_.size || (repeat_ && batch_size < shard_.size)) {
    throw ValueError(std::string(iterator) + ": shard is " + std::to_string(shard_.rank) + " of " +
                     std::to_string(shard_.size) + ": it must be one of at least 1, and of at most as many as the " +
                     std::to_string(batch_size) + " examples of a batch");
  }
  orders_ = std::make_shared<Orders>(options);
  order_ = first_order(0, dataset_size);
}

EpochState::OrderPtr EpochState::first_order(int64_t sweep, int64_t dataset_size) const {
  const int64_t size = orders_->sampler() == nullptr ? dataset_size : orders_->sampler()->sweep_size(dataset_size);
  OrderPtr drawn = orders_->find(sweep);
  if (drawn && static_cast<int64_t>(drawn->size()) == size) return drawn;
  if (orders_->shuffles()) return shuffled(sweep, dataset_size);
  if (orders_->sampler() == nullptr) return nullptr;
  Order ascending = host_vector<int64_t>({dataset_size}, iterator_);
  std::iota(ascending.begin(), ascending.end(), int64_t{0});
  return draw(sweep, ascending, 0, size);
}

EpochState::OrderPtr EpochState::next_order(int64_t sweep, const OrderPtr& current, int64_t position) const {
  if (!current) return nullptr;
  const OrderPtr drawn = orders_->find(sweep);
  if (drawn) return drawn;
  if (orders_->shuffles()) return shuffled(sweep, static_cast<int64_t>(current->size()));
  return orders_->sampler() == nullptr ? nullptr : draw(sweep, *current, position, epoch_size());
}

EpochState::OrderPtr EpochState::shuffled(int64_t sweep, int64_t n) const {
  return std::make_shared<const Order>(shuffled_order(n, seed_, sweep));
}

EpochState::OrderPtr EpochState::draw(int64_t sweep, const Order& current, int64_t position, int64_t size) const {
  auto order = std::make_shared<const Order>((*orders_->sampler())(current, position));
  if (static_cast<int64_t>(order->size()) != size) {
    throw ValueError(std::string(iterator_) + ": the order sampler returned " + std::to_string(order->size()) +
                     " indices for an order of " + std::to_string(size));
  }
  orders_->add(sweep, order);
  return order;
}

void EpochState::reset(int64_t dataset_size) {
  order_ = first_order(sweep_ + 1, dataset_size);
  ++sweep_;
  dataset_size_ = dataset_size;
  position_ = 0;
  epoch_ = 0;
  is_new_epoch_ = false;
  previous_epoch_detail_ = -1;
  discard_past();
}

void EpochState::discard_past() noexcept { orders_->discard_until(sweep_); }

void EpochState::join(const EpochState& left_out) noexcept {
  is_new_epoch_ = is_new_epoch_ || left_out.is_new_epoch_;
  previous_epoch_detail_ = left_out.previous_epoch_detail_;
}

int64_t EpochState::epoch_size() const noexcept {
  return order_ ? static_cast<int64_t>(order_->size()) : dataset_size_;
}

double EpochState::epoch_detail() const noexcept {
  // An empty data set has completed sweeps only.
  const double begun = position_ == 0 ? 0 : static_cast<double>(position_) / static_cast<double>(epoch_size());
  return static_cast<double>(epoch_) + begun;
}

std::optional<double> EpochState::previous_epoch_detail() const noexcept {
  return previous_epoch_detail_ < 0 ? std::nullopt : std::optional<double>(previous_epoch_detail_);
}

bool EpochState::advance(int64_t dataset_size, std::vector<ExampleKey>& keys) {
  keys.clear();
  const double detail = epoch_detail();
  if (!repeat_ && epoch_ > 0) {
    previous_epoch_detail_ = detail;
    return false;
  }
  const int64_t n = order_ ? epoch_size() : dataset_size;
  if (repeat_ && n == 0) {
    throw ValueError(std::string(iterator_) + ": the data set is empty: an iterator that repeats needs an example");
  }
  OrderPtr order = order_;
  int64_t sweep = sweep_;
  int64_t place = 0;  // in the batch
  const auto take = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (place++ % shard_.size != shard_.rank) continue;
      keys.push_back({order ? (*order)[static_cast<size_t>(i)] : i, sweep,
                      // A sampler of the user's may name an example twice in a sweep.
                      orders_->sampler() != nullptr ? mixed(seed_, i) : seed_});
    }
  };
  // A data set without an order may have shrunk.
  int64_t begin = std::min(position_, n), completed = 0;
  const int64_t count = repeat_ ? batch_size_ : std::min(batch_size_, n - begin);
  keys.reserve(static_cast<size_t>(count / shard_.size + 1));  // throws at once for more than there can be
  int64_t end = begin + count;
  while (end >= n) {
    take(begin, n);
    order = next_order(sweep + 1, order, begin);
    ++sweep;
    ++completed;
    begin = 0;
    end = repeat_ ? end - n : 0;
    if (!repeat_) break;
  }
  take(begin, end);

  dataset_size_ = dataset_size;
  order_ = std::move(order);
  sweep_ = sweep;
  position_ = end;
  epoch_ += completed;
  is_new_epoch_ = completed > 0;
  previous_epoch_detail_ = detail;
  return !keys.empty() || shard_.size == 1;  // of a last batch there may be nothing for this shard
}

void EpochState::serialize(Serializer& serializer) {
  if (!serializer.is_writer()) {
    EpochState stored = *this;
    stored.read(serializer);
    *this = std::move(stored);
  } else {
    serializer("current_position", position_);
    serializer("epoch", epoch_);
    serializer("is_new_epoch", is_new_epoch_);
    serializer("previous_epoch_detail", previous_epoch_detail_);
    serializer("seed", seed_);
    serializer("sweep", sweep_);
    if (order_) {
      Order order = *order_;
      serializer("order", order);
    }
    Order pending;
    for (int64_t sweep = sweep_ + 1; const OrderPtr drawn = orders_->find(sweep); ++sweep) {
      pending.insert(pending.end(), drawn->begin(), drawn->end());
    }
    if (!pending.empty()) serializer("pending_orders", pending);
  }
  if (orders_->sampler() != nullptr) orders_->sampler()->serialize(*serializer.child("order_sampler"));
}

void EpochState::read(Serializer& serializer) {
  serialize_count(serializer, "current_position", position_);
  serialize_count(serializer, "epoch", epoch_);
  serializer("is_new_epoch", is_new_epoch_);
  std::vector<OrderPtr> pending;
  if (order_) {
    // Chainer's MultithreadIterator writes the other name.
    const bool is_of_threads = !serializer.contains("order") && serializer.contains("_order");
    order_ = read_orders(serializer, is_of_threads ? "_order" : "order").front();
    if (orders_->sampler() != nullptr && serializer.contains("pending_orders")) {
      pending = read_orders(serializer, "pending_orders");
    }
  }
  if (serializer.contains("previous_epoch_detail")) {
    serializer("previous_epoch_detail", previous_epoch_detail_);
  } else {  // files of Chainer before version 2
    const double guess = epoch_detail() - static_cast<double>(batch_size_) / static_cast<double>(epoch_size());
    previous_epoch_detail_ = epoch_detail() > 0 ? std::max(guess, 0.0) : -1;
  }
  const bool is_before = previous_epoch_detail_ <= epoch_detail();  // false for NaN
  if (!is_before && !serializer.restores()) {
    throw ValueError(serializer.place("previous_epoch_detail") + "is " + std::to_string(previous_epoch_detail_) +
                     ": it must be before " + std::to_string(epoch_detail()) + ", where the iterator is");
  }
  if (position_ > epoch_size()) {
    throw ValueError(std::string(iterator_) + "::serialize: current_position is " + std::to_string(position_) +
                     " and epoch " + std::to_string(epoch_) + " for a data set of " + std::to_string(epoch_size()));
  }
  sweep_ = epoch_;  // Chainer's files have neither this nor the seed
  if (serializer.contains("sweep")) serialize_count(serializer, "sweep", sweep_);
  if (serializer.contains("seed")) serializer("seed", seed_);
  orders_ = std::make_shared<Orders>(*orders_, std::move(pending), sweep_ + 1);
}

std::vector<EpochState::OrderPtr> EpochState::read_orders(Serializer& serializer, const char* name) const {
  Order stored;
  serializer(name, stored);
  const int64_t n = epoch_size(), length = static_cast<int64_t>(stored.size());
  const bool is_one = std::string(name) != "pending_orders";
  if (is_one ? length != n : n == 0 || length % n != 0) {
    throw ValueError(std::string(iterator_) + "::serialize: the stored " + name + " has " + std::to_string(length) +
                     " examples but " + (orders_->sampler() != nullptr ? "a sweep" : "the data set") + " has " +
                     std::to_string(n));
  }
  // A sampler of the user's may have sweeps of another length than the data set.
  const int64_t examples = orders_->sampler() != nullptr ? dataset_size_ : n;
  std::vector<bool> is_named(static_cast<size_t>(examples));
  for (const int64_t i : stored) {
    if (i < 0 || i >= examples) {
      throw ValueError(std::string(iterator_) + "::serialize: the stored " + name + " names example " +
                       std::to_string(i) + " but the data set has " + std::to_string(examples));
    }
    const auto named = is_named[static_cast<size_t>(i)];
    if (named && orders_->shuffles()) {
      throw ValueError(std::string(iterator_) + "::serialize: the stored " + name + " names example " +
                       std::to_string(i) + " twice: it must be a permutation");
    }
    is_named[static_cast<size_t>(i)] = true;
  }
  if (is_one) return {std::make_shared<const Order>(std::move(stored))};
  std::vector<OrderPtr> orders;
  for (auto begin = stored.begin(); begin != stored.end(); begin += n) {
    orders.push_back(std::make_shared<const Order>(begin, begin + n));
  }
  return orders;
}

}  // namespace kusari::iterators
