#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"

namespace kusari::distributed::functions {

/// Options of recv and recv_all.
struct RecvOptions {
  /// What this rank computed before and is not connected with what comes, such as a send(): backward goes on there when
  /// the gradient has been sent. Its gradient is zeros.
  Variable delegate_variable = {};
  int tag = 0;         ///< of the message, 0 <= tag < 32768
  Device device = {};  ///< where the arrays go
};

/// What another rank gives by send(). Backward sends the gradient back, and that rank's backward waits for it; of a
/// message of integers alone none is sent.
/// rank: another than this one. Returns a variable of the shape and dtype that were sent.
/// Throws ValueError for a rank or tag that cannot be, and when several variables were sent as one message; RemoteError
/// as Communicator does. Differentiable to any order, if floating. chainermn.functions.recv.
KUSARI_API Variable recv(const Communicator& communicator, int rank, const RecvOptions& options = {});
/// All variables of a message: chainermn.functions.recv(.., force_tuple=True).
KUSARI_API Variables recv_all(const Communicator& communicator, int rank, const RecvOptions& options = {});

}  // namespace kusari::distributed::functions
