#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = x, as a new variable of the graph.
/// x: any shape and dtype. Returns y with x's elements; several arguments give as many results. Differentiable to any
/// order. chainer.functions.identity.
KUSARI_API Variable identity(const Variable& x);
template <class... More>
Variables identity(const Variable& x, const Variable& second, const More&... more) {
  return {identity(x), identity(second), identity(more)...};
}

}  // namespace kusari::functions
