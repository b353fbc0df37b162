#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/axes.h"

namespace kusari::functions {

struct LogsumexpOptions {
  Axes axis = std::nullopt;
};

/// y = ln(sum(exp(x))) along axes, safe from overflow.
/// x: any shape, floating, no reduced axis empty. axis: one axis, several or all. Returns y in x's dtype without those
/// axes. Throws TypeError if x is not floating, IndexError for an axis that x does not have. Differentiable to any
/// order. chainer.functions.logsumexp.
KUSARI_API Variable logsumexp(const Variable& x, const LogsumexpOptions& options);
template <int = 0>
Variable logsumexp(const Variable& x, const Axes& axis = std::nullopt) {
  return logsumexp(x, LogsumexpOptions{axis});
}
template <int = 0>
Variable logsumexp(const Variable& x, std::initializer_list<int64_t> axis) {
  return logsumexp(x, LogsumexpOptions{Axes(axis)});
}

}  // namespace kusari::functions
