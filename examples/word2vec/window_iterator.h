#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

// Batches of words in the middle, (n), and the words around them, (n, 2 w), from all places of a text in random order.
// As in Chainer's example w is drawn for each batch from 1 .. window - 1. A batch comes as one example; see
// convert_window.
class WindowIterator final : public kusari::iterators::Iterator {
 public:
  WindowIterator(std::vector<int32_t> text, int64_t window, int64_t batch_size, bool repeat = true)
      : text_(std::move(text)), window_{window}, batch_size_{batch_size}, repeat_{repeat} {
    const int64_t places = static_cast<int64_t>(text_.size()) - 2 * window;
    if (places < 1) throw kusari::ValueError("WindowIterator: the text is shorter than its window");
    shuffle(places);
  }

  const kusari::iterators::Batch* try_next() override {
    if (!repeat_ && epoch_ > 0) return nullptr;
    previous_epoch_detail_ = epoch_detail();
    const int64_t begin = position_, end = std::min(begin + batch_size_, size());
    const int64_t reach = 1 + static_cast<int64_t>(kusari::random::bits() % static_cast<uint64_t>(window_ - 1));
    std::vector<int32_t> center, contexts;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t place = order_[static_cast<size_t>(i)];
      center.push_back(word_at(place));
      for (int64_t offset = -reach; offset <= reach; ++offset) {
        if (offset != 0) contexts.push_back(word_at(place + offset));
      }
    }
    is_new_epoch_ = end == size();
    position_ = is_new_epoch_ ? 0 : end;
    if (is_new_epoch_) {
      ++epoch_;
      shuffle(size());
    }
    const int64_t n = end - begin;
    batch_ = {{kusari::array(center), kusari::array(contexts, {n, 2 * reach})}};
    return &batch_;
  }

  int64_t epoch() const override { return epoch_; }
  double epoch_detail() const override {
    return static_cast<double>(epoch_) + static_cast<double>(position_) / static_cast<double>(size());
  }
  std::optional<double> previous_epoch_detail() const override { return previous_epoch_detail_; }
  bool is_new_epoch() const override { return is_new_epoch_; }
  bool repeat() const override { return repeat_; }
  void reset() override {
    position_ = epoch_ = 0;
    is_new_epoch_ = false;
    previous_epoch_detail_.reset();
  }
  void serialize(kusari::Serializer& serializer) override {
    const size_t places = order_.size();
    serializer("current_position", position_);
    serializer("epoch", epoch_);
    serializer("is_new_epoch", is_new_epoch_);
    serializer("order", order_);
    if (order_.size() != places) {
      throw kusari::ValueError("WindowIterator: the snapshot is of a text with " + std::to_string(order_.size()) +
                               " places, but this one has " + std::to_string(places) +
                               ": text and window must be the same");
    }
  }

 private:
  int64_t size() const noexcept { return static_cast<int64_t>(order_.size()); }
  int32_t word_at(int64_t place) const { return text_[static_cast<size_t>(place)]; }
  void shuffle(int64_t places) {
    order_ = kusari::random::permutation(places);
    for (int64_t& place : order_) place += window_;
  }

  std::vector<int32_t> text_;
  int64_t window_, batch_size_;
  bool repeat_;
  std::vector<int64_t> order_;  // places in the text
  int64_t position_ = 0, epoch_ = 0;
  bool is_new_epoch_ = false;
  std::optional<double> previous_epoch_detail_;
  kusari::iterators::Batch batch_;
};

// A batch of WindowIterator on a device.
inline kusari::datasets::Example convert_window(std::span<const kusari::datasets::Example> batch,
                                                const kusari::Device& device) {
  return kusari::datasets::to_device(device, batch[0]);
}
