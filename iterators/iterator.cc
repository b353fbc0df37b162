#include "kusari/iterators/iterator.h"

#include "kusari/framework/core/error.h"

namespace kusari::iterators {

Iterator::~Iterator() = default;

void Iterator::finalize() {}

const Batch& Iterator::next() {
  const Batch* batch = try_next();
  if (batch == nullptr) {
    throw StateError("Iterator::next: the sweep is over and the iterator does not repeat; reset() starts again");
  }
  return *batch;
}

}  // namespace kusari::iterators
