#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/rows.h"

namespace kusari::functions {

/// y[i] = x[index[i]]: the core of embed_id, get_item and select_item.
/// x: (rows, n). index: (indices), int32 or int64. lookup: how to read them. Returns (indices, n) of x's dtype. Throws
/// IndexError for an index out of range. Differentiable to any order by x.
KUSARI_API Variable take_rows(const Variable& x, const Array& index, const kernels::RowLookup& lookup);

/// y[index[i]] = the sum of the rows x[i] with that index: the adjoint of take_rows.
/// x: (indices, n). rows: number of rows of y. Differentiable to any order by x.
KUSARI_API Variable add_rows(const Variable& x, const Array& index, int64_t rows, const kernels::RowLookup& lookup);

}  // namespace kusari::functions
