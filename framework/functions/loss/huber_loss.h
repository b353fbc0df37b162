#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// What huber_loss does with its terms: their sums over axis 1, or one loss per element.
enum class HuberReduce : uint8_t { sum_along_second_axis, no };

/// Squared error near zero, absolute error elsewhere: d^2 / 2 for |d| <= delta, delta (|d| - delta / 2) otherwise, with
/// d = x - t.
/// x, t: one shape and floating dtype. delta: positive. Returns the sums over axis 1, or with HuberReduce::no y like x.
/// Throws TypeError when shapes or dtypes differ, IndexError without an axis 1 to sum over. Differentiable to any
/// order. Huber 1964; chainer.functions.huber_loss.
KUSARI_API Variable huber_loss(const Variable& x, const Variable& t, double delta,
                               HuberReduce reduce = HuberReduce::sum_along_second_axis);

}  // namespace kusari::functions
