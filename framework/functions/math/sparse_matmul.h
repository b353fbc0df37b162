#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/math/coo_matrix.h"

namespace kusari::functions {

/// Options of sparse_matmul.
struct SparseMatmulOptions {
  bool transa = false;  ///< read each matrix of a transposed
  bool transb = false;  ///< the same for b
};

/// Product of a sparse and a dense matrix, or of several pairs of them: y = a b.
/// a: (m, k), or (n, m, k) for several. b: (k, l) or (n, k, l). One of them is a utils::CooMatrix, the other a dense
/// floating array. Returns the dense (m, l) or (n, m, l) in NumPy's promotion of their dtypes; half types are summed in
/// float32. Throws TypeError when shapes or dtypes do not go together. Differentiable to any order by the dense
/// operand and by the data of the sparse one, with memory for l numbers per entry.
/// chainer.functions.sparse_matmul.
KUSARI_API Variable sparse_matmul(const utils::CooMatrix& a, const Variable& b,
                                  const SparseMatmulOptions& options = {});
KUSARI_API Variable sparse_matmul(const Variable& a, const utils::CooMatrix& b,
                                  const SparseMatmulOptions& options = {});

}  // namespace kusari::functions
