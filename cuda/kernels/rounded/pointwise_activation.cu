#include "kusari/cuda/kernels/pointwise.cuh"
#include "kusari/cuda/kernels/pointwise_lists.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::cuda {

void register_activation_functors(Backend& backend) {
#define KUSARI_ADD(Op) add_pointwise<kernels::Op>(backend);
  KUSARI_ACTIVATION_OPS(KUSARI_ADD)
#undef KUSARI_ADD
}

}  // namespace kusari::cuda
