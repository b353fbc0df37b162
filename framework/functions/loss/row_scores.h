#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/rows.h"

namespace kusari::functions {

/// Scores of a few rows of a matrix for each example: y[i, k] = sum_d x[i, d] W[rows[i, k], d].
/// x: (N, D), W: (V, D), floating. rows: (N, K), integers, read as `lookup` says; the score of an ignored one is 0.
/// Returns (N, K), of the wider dtype of x and W, at least float32. Throws IndexError for a row out of range.
/// Differentiable to any order by x and W.
KUSARI_API Variable row_scores(const Variable& x, const Variable& W, const Array& rows,
                               const kernels::RowLookup& lookup);

/// Throws TypeError unless x is (N, D) and W (V, D), both floating, and t (N) of integers.
KUSARI_API void check_row_scores(const char* call, const Variable& x, const Variable& t, const Variable& W);

}  // namespace kusari::functions
