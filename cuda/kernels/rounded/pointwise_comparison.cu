#include "kusari/cuda/kernels/pointwise.cuh"
#include "kusari/cuda/kernels/pointwise_lists.h"
#include "kusari/framework/kernels/comparison.h"

namespace kusari::cuda {

void register_comparison_functors(Backend& backend) {
#define KUSARI_ADD(Op) add_pointwise<kernels::Op>(backend);
  KUSARI_COMPARISON_OPS(KUSARI_ADD)
#undef KUSARI_ADD
}

}  // namespace kusari::cuda
