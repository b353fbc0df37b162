#include "kusari/cuda/kernels/pointwise.cuh"
#include "kusari/cuda/kernels/pointwise_lists.h"
#include "kusari/framework/kernels/arithmetic.h"

namespace kusari::cuda {

void register_arithmetic_functors(Backend& backend) {
#define KUSARI_ADD(Op) add_pointwise<kernels::Op>(backend);
  KUSARI_ARITHMETIC_OPS(KUSARI_ADD)
#undef KUSARI_ADD
}

}  // namespace kusari::cuda
