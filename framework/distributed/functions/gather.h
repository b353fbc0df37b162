#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"

namespace kusari::distributed::functions {

/// The x of all ranks, in their order, on the root; on the others one delegate variable (see send), from which they
/// must go backward when the root does. x: any shape and dtype, which may differ between ranks. Returns one variable
/// for each rank on the root, the delegate alone elsewhere. Throws ValueError for a root that is no rank, TypeError
/// when x is not given, RemoteError as Communicator does. Differentiable to any order, if floating: backward is
/// scatter. chainermn.functions.gather.
KUSARI_API Variables gather(const Communicator& comm, const Variable& x, int root = 0);

}  // namespace kusari::distributed::functions
