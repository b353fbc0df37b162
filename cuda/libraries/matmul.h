#pragma once

#include "kusari/cuda/libraries/matmul_problem.h"
#include "kusari/cuda/runtime/context.h"

namespace kusari::cuda {

/// Enqueues the product. a and b are of one dtype and any strides, c is of the same dtype or, where they are of a half
/// type, of float32; a batch has any number of axes. float32 products are of TF32 if config.use_tf32. Deterministic.
/// cuBLASLt computes what it can, which wants a and b to be is_library_matrix.
void multiply(Context& context, MatrixProduct product);

/// c = a b and sums[i] = the sum of row i of a, of c's dtype: a weight's and a bias' gradient at once. False, with
/// nothing enqueued, where cuBLASLt does not know that; all matrices as in multiply.
bool multiply_with_sums(Context& context, MatrixProduct product, void* sums);

/// The same as multiply by tiles in shared memory: integers, and whatever cuBLASLt does not take. Integers wrap around.
void multiply_with_tiles(Context& context, const MatrixProduct& product);

/// c = bias in each row.
void write_bias(Context& context, const MatrixProduct& product);

}  // namespace kusari::cuda
