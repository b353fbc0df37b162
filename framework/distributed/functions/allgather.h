#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"

namespace kusari::distributed::functions {

/// The x of all ranks, in their order, on each of them. x: any shape and dtype, which may differ between ranks. Returns
/// one variable for each rank, on the device of x. The gradient of x is the sum of the gradients that all ranks have
/// for it; so all ranks must go backward through the call.
/// Throws TypeError when x is not given, RemoteError as Communicator does. Differentiable to any order, if floating:
/// backward is reduce_scatter. chainermn.functions.allgather.
KUSARI_API Variables allgather(const Communicator& comm, const Variable& x);

}  // namespace kusari::distributed::functions
