#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"

namespace kusari::distributed::functions {

/// The sum of the x of all ranks, on each of them: the same bits. x: any dtype but bool, of one shape and dtype on all
/// ranks; 16-bit numbers are summed in float32. Returns shape, dtype and device of x. The gradient of x is the sum of
/// the gradients of all ranks; so all must go backward through the call.
/// Throws TypeError when x is not given and where a rank's shape or dtype is another one, RemoteError as Communicator
/// does. Differentiable to any order, if floating.
KUSARI_API Variable allreduce(const Communicator& comm, const Variable& x);

}  // namespace kusari::distributed::functions
