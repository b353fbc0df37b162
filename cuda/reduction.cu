#include "kusari/cuda/reduction_family.cuh"
#include "kusari/cuda/register.h"

namespace kusari::cuda {

void register_reduction(Backend& backend) {
  add_reductions<Reading::packs, kernels::Sum, kernels::Mean, kernels::SquareSum>(backend);
  add_reductions<Reading::elements, kernels::SumOfAbs, kernels::CountNonfinite>(backend);
  register_reduction_extrema(backend);
}

}  // namespace kusari::cuda
