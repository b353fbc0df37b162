#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"

namespace kusari::distributed::functions {

/// Gives x to another rank, which must call recv(). Returns a delegate variable, 0 of shape () and dtype float32, which
/// stands for what happens with x there: backward from it waits for the gradient that comes back from that rank's
/// backward. Hand it on, to a later recv() or to pseudo_connect(), or go backward from it, or add it to the loss.
/// x: any shape and dtype. rank: another than this one. 0 <= tag < 32768.
/// Throws ValueError for a rank or tag that cannot be, TypeError when x is not given, RemoteError as Communicator does.
/// Differentiable to any order, if floating. chainermn.functions.send.
KUSARI_API Variable send(const Variable& x, const Communicator& communicator, int rank, int tag = 0);
/// Several variables as one message, which the other rank takes by recv_all(): at least one.
KUSARI_API Variable send(std::span<const Variable> xs, const Communicator& communicator, int rank, int tag = 0);
inline Variable send(std::initializer_list<Variable> xs, const Communicator& communicator, int rank, int tag = 0) {
  return send(std::span<const Variable>(xs.begin(), xs.size()), communicator, rank, tag);
}

}  // namespace kusari::distributed::functions
