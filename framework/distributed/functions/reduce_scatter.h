#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"

namespace kusari::distributed::functions {

/// On rank r the sum of what all ranks give as xs[r]. xs: one variable for each rank, of any dtype but bool; xs[r] has
/// one shape and dtype on all ranks. 16-bit numbers are summed in float32. All ranks must go backward through the call.
/// Throws ValueError for another number of variables, TypeError for one that is not given and where a rank's shape or
/// dtype is another one, RemoteError as Communicator does. Differentiable to any order, if floating: backward is
/// allgather.
KUSARI_API Variable reduce_scatter(const Communicator& comm, std::span<const Variable> xs);
inline Variable reduce_scatter(const Communicator& comm, std::initializer_list<Variable> xs) {
  return reduce_scatter(comm, std::span<const Variable>(xs.begin(), xs.size()));
}

}  // namespace kusari::distributed::functions
