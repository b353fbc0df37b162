#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/ref.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari {
class Serializer;
}

namespace kusari::iterators {

/// Examples of one step.
using Batch = std::vector<datasets::Example>;

/// A source of batches that keeps count of the sweeps over its data. chainer.dataset.Iterator.
class KUSARI_API Iterator {
 public:
  virtual ~Iterator();

  /// The next batch, valid until the next call. Throws StateError after the last one of an iterator that does not
  /// repeat.
  const Batch& next();
  /// The same, but null after the last one.
  virtual const Batch* try_next() = 0;
  /// The batch that next() gives after `ahead` others, without stepping there: 0 is the very next one. Waits until it
  /// is loaded, or, with `wait` false, gives null when it is not. Null too when there is none, or when an iterator
  /// cannot look ahead. Valid until next() steps to it. Throws ValueError for an `ahead` that is negative or above
  /// 65536.
  virtual const Batch* peek(int64_t ahead, bool wait = true);
  /// Where batches will go: an iterator with workers then loads them into page-locked memory of that device.
  virtual void prefer_device(const Device& device);
  /// The keys of the data set whose examples the batches hold; empty where they are tuples.
  virtual datasets::Keys keys() const;
  /// Completed sweeps.
  virtual int64_t epoch() const = 0;
  /// The same with the fraction of the sweep under way.
  virtual double epoch_detail() const = 0;
  /// epoch_detail() before the last next(); nothing before the first.
  virtual std::optional<double> previous_epoch_detail() const = 0;
  /// Whether the last batch completed a sweep.
  virtual bool is_new_epoch() const = 0;
  /// Whether batches never end.
  virtual bool repeat() const = 0;
  /// Back to the start of epoch 0, in a new order where there is shuffling.
  virtual void reset() = 0;
  /// Ends workers, if any, and drops the batches that they loaded ahead. Whoever goes on with the iterator gets the
  /// same batches: the next call starts workers again.
  virtual void finalize();
  virtual void serialize(Serializer& serializer) = 0;

  /// `for (const Batch& batch : iterator)` takes batches until there is none.
  class BatchCursor {
   public:
    explicit BatchCursor(Iterator* iterator) : iterator_{iterator}, batch_{iterator->try_next()} {}
    const Batch& operator*() const noexcept { return *batch_; }
    BatchCursor& operator++() {
      batch_ = iterator_->try_next();
      return *this;
    }
    friend bool operator==(const BatchCursor& cursor, std::nullptr_t) noexcept { return cursor.batch_ == nullptr; }

   private:
    Iterator* iterator_;
    const Batch* batch_;
  };
  BatchCursor begin() { return BatchCursor(this); }
  std::nullptr_t end() const noexcept { return nullptr; }

 protected:
  Iterator() = default;
  Iterator(const Iterator&) = default;
  Iterator& operator=(const Iterator&) = default;
};

/// An iterator, owned when given as an rvalue.
using IteratorRef = Ref<Iterator>;

}  // namespace kusari::iterators
