#pragma once

#include <span>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/iterators/epoch_state.h"
#include "kusari/iterators/iterator.h"

namespace kusari::iterators {

/// Loads the examples of batches in the order in which they were submitted: what a DatasetIterator is made of beside
/// its counters. Its calls come from one thread at a time.
class KUSARI_API BatchLoader {
 public:
  virtual ~BatchLoader();

  /// Begins to load one more batch, behind those submitted before.
  virtual void submit(std::span<const ExampleKey> keys) = 0;
  /// Whether take() need not wait.
  virtual bool is_ready() = 0;
  /// The oldest batch that was submitted and not taken; waits for it. Throws what its examples threw: it then stays the
  /// oldest, and the next take() tries its missing examples again.
  virtual Batch take() = 0;
  /// Drops all that was submitted and not taken.
  virtual void cancel() noexcept = 0;
  /// Batches submitted from now on go into page-locked memory of that device, where the loader can choose.
  virtual void prefer_device(const Device& device);
  /// Ends the workers and drops all that was submitted; the next submit() starts workers again.
  virtual void finish() noexcept;

 protected:
  BatchLoader() = default;
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;
};

}  // namespace kusari::iterators
