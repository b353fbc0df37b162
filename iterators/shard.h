#pragma once

namespace kusari::iterators {

/// The part of each batch that one of several processes takes: examples rank, rank + size, rank + 2 size, ... of it.
struct Shard {
  int rank = 0;
  int size = 1;
};

}  // namespace kusari::iterators
