#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/iterators/iterator.h"

namespace kusari::updaters {

/// The batches of an iterator as arrays on a device, where they may be sent ahead of their turn. The batch of a turn is
/// the one that iterator.next() gives then: what was sent ahead is only used if it is the same, so that it makes no
/// difference to results, whoever steps or resets the iterator in between, and whenever a snapshot is taken.
class KUSARI_API BatchFeed {
 public:
  struct Options {
    datasets::Converter converter;
    Device device;
    int64_t prefetch = 0;  // batches sent ahead
    int64_t place = 0;     // tells the random numbers of converters from those of other feeds with their seed
  };
  /// `owner` and `name` are for errors.
  BatchFeed(std::string owner, std::string name, iterators::IteratorRef iterator, Options options);
  BatchFeed(BatchFeed&&) noexcept;
  BatchFeed& operator=(BatchFeed&&) noexcept;
  ~BatchFeed();

  /// Steps the iterator and returns its batch; nothing after the last one. Throws ValueError if batches should be sent
  /// ahead but the iterator cannot look ahead.
  std::optional<datasets::Example> try_next();
  /// The same, but throws StateError after the last one.
  datasets::Example next();
  /// The arrays of a batch that somebody else took from the iterator, or elsewhere.
  datasets::Example convert(const iterators::Batch& batch);
  /// Sends batches to come until there are `prefetch` of them, waiting for the very next one only. What goes wrong is
  /// tried again, and thrown, when it is that batch's turn.
  void look_ahead();
  /// Forgets what was sent ahead.
  void drop() noexcept;

  /// Converters draw their random numbers in an ExampleRandomScope of this seed and the number of the batch.
  void set_seed(uint64_t seed);
  int64_t batches() const noexcept { return batches_; }
  void set_batches(int64_t batches);

 private:
  struct Sent;

  datasets::Example upload(const iterators::Batch& batch, int64_t number) const;
  Sent send_ahead(const iterators::Batch& batch, int64_t number) const;
  datasets::Example finish(datasets::Example uploaded, int64_t number) const;
  datasets::Example take(const iterators::Batch& batch, int64_t number);

  std::string owner_, name_;
  iterators::IteratorRef iterator_;
  Options options_;
  uint64_t seed_ = 0;
  int64_t batches_ = 0;  // converted so far
  bool can_peek_ = false;
  std::vector<Sent> ahead_;
};

}  // namespace kusari::updaters
