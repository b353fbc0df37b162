#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/array/index.h"

namespace kusari::functions {

/// y = a, with b added to the elements that get_item(a, slices) would take; elements taken twice get both.
/// a: any shape, floating. slices: as for get_item. b: of a's dtype; its shape broadcasts to that of get_item(a,
/// slices). Returns y like a. Throws what get_item throws, TypeError when b does not fit. Differentiable to any order
/// by a and b. chainer.functions.scatter_add.
KUSARI_API Variable scatter_add(const Variable& a, std::span<const Index> slices, const Variable& b);
KUSARI_API Variable scatter_add(const Variable& a, std::initializer_list<Index> slices, const Variable& b);

}  // namespace kusari::functions
