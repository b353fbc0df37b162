#include "kusari/cuda/kernels/pointwise.cuh"
#include "kusari/cuda/kernels/pointwise_lists.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::cuda {

void register_math_functors(Backend& backend) {
#define KUSARI_ADD(Op) add_pointwise<kernels::Op>(backend);
  KUSARI_MATH_FUNCTION_OPS(KUSARI_ADD)
#undef KUSARI_ADD
}

}  // namespace kusari::cuda
