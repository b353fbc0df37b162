#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

using namespace iterators;

using namespace datasets;

TEST_CASE("misuse: iterators") {
  check_misuses({
      {[] { SerialIterator(ten_examples(), 0); }, is<ValueError>,
       "SerialIterator: batch_size is 0: it must be positive"},
      {[] { SerialIterator(ten_examples(), -1); }, is<ValueError>,
       "SerialIterator: batch_size is -1: it must be positive"},
      {[] {
         SerialIterator it(ten_examples(), 3, {.repeat = false});
         for (int i = 0; i < 5; ++i) it.next();
       },
       is<StateError>, "Iterator::next: the sweep is over and the iterator does not repeat; reset() starts again"},
      {[] { MultithreadIterator(ten_examples(), 0); }, is<ValueError>,
       "MultithreadIterator: batch_size is 0: it must be positive"},
      {[] { MultithreadIterator(ten_examples(), 2, {.n_threads = -1}); }, is<ValueError>,
       "MultithreadIterator: n_threads is -1: it must be positive and at most 4096, or 0 for all cores"},
      {[] { MultithreadIterator(ten_examples(), 2, {.n_prefetch = -1}); }, is<ValueError>,
       "MultithreadIterator: n_prefetch is -1: it must not be negative"},
      {[] { MultithreadIterator(ten_examples(), 2, {.dataset_timeout = -1}); }, is<ValueError>,
       "MultithreadIterator: dataset_timeout is -1: it must be positive"},
      {[] { MultithreadIterator(ten_examples(), 2, {.dataset_timeout = kNaN}); }, is<ValueError>,
       "MultithreadIterator: dataset_timeout is nan: it must be positive"},
      {[] { MultithreadIterator(ten_examples(), 2, {.max_retries = -1}); }, is<ValueError>,
       "MultithreadIterator: max_retries is -1: it must not be negative"},
      {[] { MultiprocessIterator(ten_examples(), 0); }, is<ValueError>,
       "MultiprocessIterator: batch_size is 0: it must be positive"},
      {[] { MultiprocessIterator(ten_examples(), 2, {.n_processes = -1}); }, is<ValueError>,
       "MultiprocessIterator: n_processes is -1: it must be positive and at most 65536, or 0 for all cores"},
      {[] { SerialIterator(ten_examples(), 2).peek(-1); }, is<ValueError>,
       "SerialIterator::peek: ahead is -1: it must not be negative"},
      {[] { SerialIterator(ten_examples(), 2).peek(65537); }, is<ValueError>,
       "SerialIterator::peek: ahead is 65537: it must be at most 65536"},
      {[] {
         const std::vector<int64_t> order = {0, 1, 2};
         BucketOrderSampler({4, 5, 6}, 2)(order, 4);
       },
       is<ValueError>, "BucketOrderSampler: position is 4: it must be 0 .. 3"},
      {[] {
         SerialIterator it(TupleDataset(ones({0, 3})), 2);
         it.next();
       },
       is<ValueError>, "SerialIterator: the data set is empty: an iterator that repeats needs an example"},
      {[] {
         MultithreadIterator it(TupleDataset(ones({0, 3})), 2);
         it.next();
       },
       is<ValueError>, "MultithreadIterator: the data set is empty: an iterator that repeats needs an example"},
  });
}

}  // namespace
}  // namespace kusari::misuse
