#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"

namespace kusari::distributed::functions {

/// The root's xs[r], on rank r. xs: one variable for each rank on the root, of any shapes and dtypes; elsewhere none,
/// or one that connects the graph, as a delegate variable does, and gets a gradient of zeros. All ranks must go
/// backward through the call. Throws ValueError for a root that is no rank and for another number of variables,
/// TypeError for one that is not given, RemoteError as Communicator does. Differentiable to any order, where floating:
/// backward is gather. chainermn.functions.scatter.
KUSARI_API Variable scatter(const Communicator& comm, std::span<const Variable> xs, int root = 0);
inline Variable scatter(const Communicator& comm, std::initializer_list<Variable> xs, int root = 0) {
  return scatter(comm, std::span<const Variable>(xs.begin(), xs.size()), root);
}

}  // namespace kusari::distributed::functions
