#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"

namespace kusari::distributed::functions {

/// Gives xs[r] to rank r, and returns what each rank gives to this one. xs: one variable for each rank, of any shapes
/// and dtypes. Returns one variable for each rank. All ranks must go backward through the call.
/// Throws ValueError for another number of variables, TypeError for one that is not given, RemoteError as Communicator
/// does. Differentiable to any order, where floating: gradients travel the same way back. chainermn.functions.alltoall.
KUSARI_API Variables alltoall(const Communicator& comm, std::span<const Variable> xs);
inline Variables alltoall(const Communicator& comm, std::initializer_list<Variable> xs) {
  return alltoall(comm, std::span<const Variable>(xs.begin(), xs.size()));
}

}  // namespace kusari::distributed::functions
