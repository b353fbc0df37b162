#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"

namespace kusari::distributed::functions {

/// The root's x, on all ranks. x: any shape and dtype on the root; elsewhere undefined, or a variable of any shape that
/// connects the graph, as a delegate variable does, and gets a gradient of zeros. Returns shape and dtype of the root's
/// x. Its gradient is the sum of the gradients of all ranks; so all must go backward through the call.
/// Throws ValueError for a root that is no rank, TypeError when x is not given on the root, RemoteError as Communicator
/// does. Differentiable to any order, if floating: backward is reduce. chainermn.functions.bcast.
KUSARI_API Variable bcast(const Communicator& comm, const Variable& x, int root = 0);

}  // namespace kusari::distributed::functions
