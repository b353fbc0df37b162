#pragma once

namespace kusari::iterators {

/// The part of each batch that one of several processes takes: examples rank, rank + size, rank + 2 size, ... of it.
/// All plan the same batches, if their iterators are made with the same seed, which a communicator that is made before
/// them sees to; epochs, counters and snapshots are those of the whole. An example's random numbers follow from its
/// place in the sweep, so it looks the same whatever process prepares it. Without `repeat`, the last batch may be too
/// small to have something for each.
struct Shard {
  int rank = 0;
  int size = 1;
};

}  // namespace kusari::iterators
