#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/iterators/iterator.h"
#include "kusari/iterators/shard.h"

namespace kusari::iterators {

struct ParallelSequentialOptions {
  bool repeat = true;  ///< go on with the next sweep
  /// Times of a batch, at least 0. 0: a batch is one time, and an example one word with the next, as in Chainer.
  /// Otherwise an example is all words of a time with the next ones, so that batches become (window, batch_size).
  int64_t window = 0;
  /// Of several processes, this one takes the places rank, rank + size, ... of the batch_size ones. Epochs, counters
  /// and snapshots are those of the whole.
  Shard shard = {};
};

/// Goes through a long text at batch_size places at the same time, which lie evenly in it: for language models that
/// carry their state from one batch to the next. Row b of every batch follows row b of the batch before; at the end of
/// the text a row goes on at its beginning. Examples are pairs: what comes, and what comes next. A sweep is as many
/// times as all places together need for the text; without `repeat` its last batch may have fewer times.
/// Source: chainer/examples/ptb/train_ptb.py.
class KUSARI_API ParallelSequentialIterator final : public Iterator {
 public:
  using Options = ParallelSequentialOptions;
  /// words: (n), n >= 1, of any dtype, on the host. Throws ValueError for no words, a batch size below 1 or a negative
  /// window, and a batch size below that of the shard; TypeError for an array that is no vector on the host.
  ParallelSequentialIterator(Array words, int64_t batch_size, const Options& options = {});

  const Batch* try_next() override;
  int64_t epoch() const override { return epoch_; }
  double epoch_detail() const override { return detail_at(time_); }
  std::optional<double> previous_epoch_detail() const override;
  bool is_new_epoch() const override { return is_new_epoch_; }
  bool repeat() const override { return options_.repeat; }
  void reset() override;
  /// Under Chainer's names.
  void serialize(Serializer& serializer) override;

  /// Of all processes together.
  int64_t batch_size() const noexcept { return batch_size_; }

 private:
  double detail_at(int64_t time) const noexcept;
  Array words_at(int64_t time) const;

  Array words_;
  int64_t batch_size_;
  Options options_;
  int64_t time_ = 0;  // Chainer's iteration
  int64_t epoch_ = 0;
  int64_t previous_time_ = -1;  // -1: there was no batch yet
  bool is_new_epoch_ = false;
  Batch batch_;
};

}  // namespace kusari::iterators
