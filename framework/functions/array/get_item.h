#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/array/index.h"

namespace kusari::functions {

/// Elements of x by NumPy's indexing: F::get_item(x, {Slice{1, 3}, 0, kNewAxis, kEllipsis}).
/// x: any shape and dtype. slices: one entry per axis from the first, later axes taken whole; integer arrays broadcast
/// together, bool arrays mean the places of their true elements. Returns a view of x unless an array is among the
/// indices. Throws IndexError for too many indices or one out of range, ValueError for a step of 0, TypeError for an
/// array of another dtype. Differentiable to any order; gradients of elements taken twice add up.
/// chainer.functions.get_item.
KUSARI_API Variable get_item(const Variable& x, std::span<const Index> slices);
KUSARI_API Variable get_item(const Variable& x, std::initializer_list<Index> slices);
KUSARI_API Variable get_item(const Variable& x, const Index& index);

}  // namespace kusari::functions
