#include "kusari/cuda/reduction_family.cuh"

namespace kusari::cuda {

void register_reduction_extrema(Backend& backend) {
  add_reductions<Reading::packs, kernels::Max, kernels::Min>(backend);
  add_reductions<Reading::elements, kernels::Prod, kernels::All, kernels::Any>(backend);
}

}  // namespace kusari::cuda
