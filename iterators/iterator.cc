#include "kusari/iterators/iterator.h"

#include "kusari/framework/core/error.h"

namespace kusari::iterators {

Iterator::~Iterator() = default;

const Batch* Iterator::peek(int64_t, bool) { return nullptr; }

void Iterator::prefer_device(const Device&) {}

datasets::Keys Iterator::keys() const { return {}; }

void Iterator::finalize() {}

const Batch& Iterator::next() {
  const Batch* batch = try_next();
  if (batch == nullptr) {
    throw StateError("Iterator::next: the sweep is over and the iterator does not repeat; reset() starts again");
  }
  return *batch;
}

}  // namespace kusari::iterators
