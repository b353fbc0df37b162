#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/iterators/iterator.h"

namespace kusari::distributed {

/// Gives the iterator the state of rank 0's: the order of this and all later sweeps, and the seeds of the examples'
/// random numbers. Then the ranks, which have equal data sets and batch sizes, have equal batches, and nothing travels
/// any more. An order sampler of the user's must serialize what determines its orders.
/// Collective. Throws what serialize of the iterator throws where it does not fit rank 0's, such as ValueError for a
/// data set of another size, and RemoteError as Communicator does.
KUSARI_API void synchronize_iterator(iterators::Iterator& iterator, const Communicator& communicator);

/// The iterator with the state of rank 0's: for models that are spread over ranks which can read the data. An lvalue is
/// given back as a reference to itself. chainermn.iterators.create_synchronized_iterator.
template <std::derived_from<iterators::Iterator> I>
I& create_synchronized_iterator(I& actual_iterator, const Communicator& communicator) {
  synchronize_iterator(actual_iterator, communicator);
  return actual_iterator;
}
template <std::derived_from<iterators::Iterator> I>
requires(!std::is_lvalue_reference_v<I>) I
    create_synchronized_iterator(I&& actual_iterator, const Communicator& communicator) {
  synchronize_iterator(actual_iterator, communicator);
  return std::move(actual_iterator);
}

}  // namespace kusari::distributed
