#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"

namespace kusari::distributed::functions {

/// The sum of the x of all ranks, on the root; on the others a delegate variable (see send), from which they must go
/// backward when the root does. x: any dtype but bool, of one shape and dtype on all ranks; 16-bit numbers are summed
/// in float32. Returns shape, dtype and device of x on the root. Throws ValueError for a root that is no rank,
/// TypeError when x is not given and where a rank's shape or dtype is another one, RemoteError as Communicator does.
/// Differentiable to any order, if floating: backward is bcast.
KUSARI_API Variable reduce(const Communicator& comm, const Variable& x, int root = 0);

}  // namespace kusari::distributed::functions
