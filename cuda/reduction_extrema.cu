#include "kusari/cuda/reduction_family.cuh"

namespace kusari::cuda {

void register_reduction_extrema(Backend& backend) {
  backend.add<kernels::Reduction<kernels::Prod>>(reduction_kernel<kernels::Prod>);
  backend.add<kernels::Reduction<kernels::Max>>(reduction_kernel<kernels::Max>);
  backend.add<kernels::Reduction<kernels::Min>>(reduction_kernel<kernels::Min>);
  backend.add<kernels::Reduction<kernels::All>>(reduction_kernel<kernels::All>);
  backend.add<kernels::Reduction<kernels::Any>>(reduction_kernel<kernels::Any>);
}

}  // namespace kusari::cuda
