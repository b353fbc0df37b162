#include "kusari/iterators/epoch_state.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/serializer.h"

namespace kusari::iterators {

EpochState::EpochState(const char* iterator, int64_t dataset_size, int64_t batch_size, const OrderOptions& options)
    : iterator_{iterator},
      dataset_size_{dataset_size},
      batch_size_{batch_size},
      repeat_{options.repeat},
      sampler_{options.order_sampler} {
  if (batch_size < 1) {
    throw ValueError(std::string(iterator) + ": batch_size is " + std::to_string(batch_size) + ": it must be positive");
  }
  if (options.shuffle && sampler_) {
    throw ValueError(std::string(iterator) +
                     ": shuffle and order_sampler are both given: leave out shuffle to use an order sampler");
  }
  if (!sampler_ && options.shuffle.value_or(true)) sampler_ = ShuffleOrderSampler();
  reset(dataset_size);
}

void EpochState::reset(int64_t dataset_size) {
  dataset_size_ = dataset_size;
  if (sampler_) {
    Order ascending(static_cast<size_t>(dataset_size));
    std::iota(ascending.begin(), ascending.end(), int64_t{0});
    order_ = std::make_shared<const Order>(draw(ascending, 0));
  }
  position_ = 0;
  epoch_ = 0;
  is_new_epoch_ = false;
  previous_epoch_detail_ = -1;
}

EpochState::Order EpochState::draw(const Order& current, int64_t position) const {
  Order order = (**sampler_)(current, position);
  if (order.size() != current.size()) {
    throw ValueError(std::string(iterator_) + ": the order sampler returned " + std::to_string(order.size()) +
                     " indices for an order of " + std::to_string(current.size()));
  }
  return order;
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

bool EpochState::advance(int64_t dataset_size, std::vector<int64_t>& indices) {
  indices.clear();
  previous_epoch_detail_ = epoch_detail();
  if (!repeat_ && epoch_ > 0) return false;
  dataset_size_ = dataset_size;
  const int64_t n = epoch_size();
  if (repeat_ && n == 0) {
    throw ValueError(std::string(iterator_) + ": the data set is empty: an iterator that repeats needs an example");
  }
  const auto take = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) indices.push_back(order_ ? (*order_)[static_cast<size_t>(i)] : i);
  };
  int64_t begin = position_;
  int64_t end = begin + batch_size_;
  is_new_epoch_ = false;
  while (end >= n) {
    take(begin, n);
    if (sampler_) order_ = std::make_shared<const Order>(draw(*order_, begin));
    ++epoch_;
    is_new_epoch_ = true;
    begin = 0;
    end = repeat_ ? end - n : 0;
    if (!repeat_) break;
  }
  take(begin, end);
  position_ = end;
  return true;
}

void EpochState::serialize(Serializer& serializer) {
  serializer("current_position", position_);
  serializer("epoch", epoch_);
  serializer("is_new_epoch", is_new_epoch_);
  if (order_) {
    if (serializer.is_writer()) {
      Order order = *order_;
      serializer("order", order);
    } else {
      read_order(serializer);
    }
  }
  if (serializer.is_writer() || serializer.contains("previous_epoch_detail")) {
    serializer("previous_epoch_detail", previous_epoch_detail_);
  } else {  // files of Chainer before version 2
    const double guess = epoch_detail() - static_cast<double>(batch_size_) / static_cast<double>(epoch_size());
    previous_epoch_detail_ = epoch_detail() > 0 ? std::max(guess, 0.0) : -1;
  }
  if (!serializer.is_writer() && (position_ < 0 || position_ > epoch_size() || epoch_ < 0)) {
    throw ValueError(std::string(iterator_) + "::serialize: current_position is " + std::to_string(position_) +
                     " and epoch " + std::to_string(epoch_) + " for a data set of " + std::to_string(epoch_size()));
  }
  if (sampler_) (*sampler_)->serialize(*serializer.child("order_sampler"));
}

void EpochState::read_order(Serializer& serializer) {
  Order order;
  // Chainer's MultithreadIterator writes the other name.
  serializer(!serializer.contains("order") && serializer.contains("_order") ? "_order" : "order", order);
  const int64_t n = epoch_size();
  if (static_cast<int64_t>(order.size()) != n) {
    throw ValueError(std::string(iterator_) + "::serialize: the stored order has " + std::to_string(order.size()) +
                     " examples but the data set has " + std::to_string(n));
  }
  for (const int64_t i : order) {
    if (i < 0 || i >= n) {
      throw ValueError(std::string(iterator_) + "::serialize: the stored order names example " + std::to_string(i) +
                       " but the data set has " + std::to_string(n));
    }
  }
  order_ = std::make_shared<const Order>(std::move(order));
}

}  // namespace kusari::iterators
